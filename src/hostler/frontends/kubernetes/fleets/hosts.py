"""Hosts: what a Host's object asks for, and how the host stands, as it is written there. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import AccountName
from hostler.domain.machines.probing import Reachability, reachability
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.kubernetes.nodes.standing import Standing
from hostler.frontends.kubernetes.objects.assembly import Verdict
from hostler.frontends.kubernetes.objects.models import Fields, Written
from hostler.queries.hosts import next_step
from hostler.queries.machines import open_moves
from hostler.queries.power_states import PowerStatus
from hostler.requests import holds
from hostler.requests.recording import Accepted, Author

from .locks import foreign_lock
from .requests import RENEWED
from .status import Condition, accepted

NOT_RUN = "nothing: its Provider is not in force, and nobody looks after it until it is"
_BY_POWER = {"on": HoldKind.ON, "off": HoldKind.OFF}


class Known(Struct, frozen=True, kw_only=True):
    """One host as its records have it, with its machine, its power and its Node."""

    host: HostStatus
    machine: Machine | None = None
    power: PowerStatus | None = None
    node: Standing | None = None


class Wanted(Struct, frozen=True, kw_only=True):
    """How a host is to be held, for how long (None: as long as may be), and why."""

    kind: HoldKind
    why: str
    lasts: timedelta | None = None


def wanted(one: Written, now: datetime) -> Wanted | None:
    """Return how an object asks for its host to be held: maintenance first, then a foreign lock."""
    maintenance = one.wanted.get("maintenance")
    if isinstance(maintenance, Mapping):
        reason = cast("Fields", maintenance).get("reason", "")
        return Wanted(kind=HoldKind.MAINTENANCE, why=str(reason))
    lock = foreign_lock(one.metadata.annotations, now)
    if lock is not None:
        why = f"locked by {lock.owner or 'somebody'} for {lock.operation}"
        return Wanted(kind=HoldKind.RESERVED, why=why, lasts=lock.until - now)
    kind = _BY_POWER.get(str(one.wanted.get("desiredPowerState", "")))
    return Wanted(kind=kind, why="spec.desiredPowerState") if kind is not None else None


class Around(Struct, frozen=True, kw_only=True):
    """The fleets that there are, the requests that nobody granted yet, and the time.

    `accounts` are those that are in force, `waiting` those that are not, though a Fleet names their
    Provider: once that is right again, an engine switches their hosts.
    """

    fleets: tuple[Fleet, ...]
    accounts: frozenset[AccountName] = frozenset()
    waiting: frozenset[AccountName] = frozenset()
    requests: tuple[Request, ...] = ()
    now: datetime


def about_hold(one: Written, aim: Wanted | None, known: Known, around: Around) -> Accepted | None:
    """Return the request that brings the hold on a host to what its object says, if one does.

    What a person holds otherwise is left alone, and so is what is retired, and what observations
    lack: no hold is granted there. Raises RequestRefused where no fleet has the host's account.
    """
    host, record, now = known.host, known.host.record, around.now
    if record is None or record.goal is HostGoal.RETIRED or is_absent(record):
        return None
    held = record.held(now)
    actor = f"{one.metadata.namespace}/{one.metadata.name} (Host)"
    if held is not None and held.actor != actor:
        return None
    kind = RequestKind.LIFT if aim is None else RequestKind.HOLD
    if any((r.kind, r.host, r.actor) == (kind, host.id, actor) for r in around.requests):
        return None
    fleet = holds.fleet_of(host, around.fleets)
    if aim is None:
        author = Author(name=actor, at=now, why="its object says so no longer")
        return holds.lift(author, fleet, host) if held is not None else None
    if held is not None and not _is_to_change(held, aim, now):
        return None
    author = Author(name=actor, at=now, why=aim.why)
    lasts = None if aim.lasts is None else min(aim.lasts, fleet.timers.longest_protection)
    return holds.hold(author, fleet, host, aim.kind, lasts)


def is_absent(record: Host) -> bool:
    """Tell whether complete observations lack a host: it is not in force, or just came to be."""
    return record.condition is HostCondition.ABSENT


def _is_to_change(held: Hold, aim: Wanted, now: datetime) -> bool:
    """Tell whether a hold is another one than is wanted, or ends soon."""
    if held.kind is not aim.kind or held.why != aim.why:
        return True
    return aim.lasts is None and held.until - now < RENEWED


def host_fields(known: Known | None, now: datetime, *, run: bool = True) -> dict[str, object]:
    """Return how a host stands; nothing where no record has it yet.

    Where its account is not `run`, nobody looks: what is on record, without what was seen last.
    """
    if known is None:
        return {}
    host, machine, power = known.host, known.machine, known.power
    texts = {
        "machine": str(host.binding or ""),
        "fleet": str(machine.fleet) if machine is not None else "",
        "phase": str(machine.phase) if machine is not None else "",
        "condition": host.state,
        "next": next_step(host, now).detail if run else NOT_RUN,
    }
    found: dict[str, object] = {name: text for name, text in texts.items() if text}
    if host.record is not None and host.record.since is not None:
        found["lastTransitionTime"] = _date(host.record.since)
    if not run:
        return found
    if machine is not None:
        found["moves"] = [str(phase) for phase in open_moves(machine, now)]
    found |= _reached(reachability(machine))
    if known.node is not None:
        found["node"] = _node(known.node)
    return found | (_power(power) if power is not None else {})


def _reached(reachability: Reachability) -> dict[str, object]:
    at = {"reachedAt": _date(reachability.at)} if reachability.at is not None else {}
    return {"reachability": str(reachability.reached), **at}


def _node(node: Standing) -> dict[str, str]:
    found = {"name": node.name, "readiness": str(node.readiness)}
    return found | ({"since": _date(node.since)} if node.since is not None else {})


def _power(power: PowerStatus) -> dict[str, object]:
    found: dict[str, object] = {"power": str(power.power), "progress": str(power.progress)}
    if power.operation is not None:
        dates = {"since": power.operation.since, "until": power.operation.until}
        found["operation"] = {
            "kind": str(power.operation.kind),
            "owner": power.operation.owner,
            **{name: _date(date) for name, date in dates.items() if date is not None},
        }
        found["tries"] = power.tries
    if power.retry_at is not None:
        found["retryAt"] = _date(power.retry_at)
    return found | ({"lastFailure": power.last_failure} if power.last_failure else {})


def _date(date: datetime) -> str:
    return f"{date.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def not_held(condition: Condition, refused: str) -> Condition:
    """Return what is told of a host whose engine `refused` to hold it as its object says."""
    if not refused or not condition.holds:
        return condition
    return replace(condition, message=f"{condition.message}; but it is not held so: {refused}")


def host_condition(
    verdict: Verdict | None, provider: Condition | None, *, used: bool = True
) -> Condition:
    """Return whether a host's spec is in force; `used` says that a fleet takes such hosts."""
    if verdict is not None and not verdict.accepted:
        return accepted(verdict)
    if verdict is None or provider is None:
        message = "no Provider of this name has a list of hosts"
        return Condition(type="Accepted", holds=False, reason="NoProvider", message=message)
    if not provider.holds:
        message = f"its Provider is not in force: {provider.message}"
        return Condition(type="Accepted", holds=False, reason="ProviderRefused", message=message)
    if not used:
        message = "in force once a Fleet names its Provider: it is neither asked nor switched yet"
        return Condition(type="Accepted", holds=True, reason="NoFleet", message=message)
    return Condition(type="Accepted", holds=True, reason="Accepted", message="in force")
