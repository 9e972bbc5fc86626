"""Machines: what comes next for a machine, what is wrong with it, and why it stands as it does."""

from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.decide import Explained, verdict_of
from hostler.domain.errors import ProviderError
from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import ResourceId
from hostler.domain.machines.drift import noticed
from hostler.domain.machines.lifecycle import overdue_at, time_limit
from hostler.domain.machines.rollout import with_revision
from hostler.domain.model.commands import Next
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import PHASES, Phase, sentence
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import protected_until
from hostler.domain.observation.ready import is_paused
from hostler.domain.reporting.hosts import HostStatus, host_statuses

from .delays import deletion_delay, failed_delay, left_alone
from .providers import Providers
from .wording import clock_time, until

_AT_THE_LIMIT = {
    "admit": "abandoned",
    "start": "times out",
    "stop": "times out",
    "drain": "stops in any case",
    "max_age": "replaced",
    "keep_failed": "deleted",
}
"""What happens to a machine that has been in its phase for as long as a timer allows."""

_OVERDUE = {"max_age": "to be replaced", "keep_failed": "to be deleted"}
"""What is said of it once that time is over, where a cap may keep it for longer."""

_LONG = 80


def next_step(
    machine: Machine,
    fleet: Fleet,
    now: datetime,
    held_until: datetime | None = None,
    row: FleetRow | None = None,
) -> str:
    """Return what comes next as far as the record says; `explain_machine` asks decide().

    `held_until` is until when it is kept because its setup script is at fault; `row` is its
    fleet's, where that is known.
    """
    failed = failed_delay(machine, fleet, row, now) if row is not None else ""
    if words := left_alone(machine, row, now) or failed:
        return words
    if (retry_at := _tried_again(machine, fleet, now)) is not None:
        return f"tried again {until(retry_at, now)}"
    if machine.health.doubt is not None:
        return f"to be confirmed: {machine.health.doubt.what}"
    if words := noticed(machine):
        return f"differs from its record: {words}"
    if held_until is not None:
        return f"its setup script is at fault; released {until(held_until, now)}"
    return _at_its_limit(machine, fleet, now)


def _tried_again(machine: Machine, fleet: Fleet, now: datetime) -> datetime | None:
    """Return when the machine is tried again; None where that is over, or its start is by then."""
    at, limit = machine.retry_at, time_limit(machine, fleet)
    if at is None or not is_paused(machine, now):
        return None
    if machine.phase is not Phase.STARTING or limit is None:
        return at
    return at if at <= machine.since + limit else None


def outdated(machine: Machine, fleet: Fleet) -> str:
    """Return how a machine differs from what would be made now, and whether that replaces it.

    Empty where it does not, is not in use, or is going to be deleted anyway.
    """
    used = machine.phase in {Phase.READY, Phase.STANDBY} and machine.deletion is None
    if not used or fleet.removed or not fleet.outdates(machine):
        return ""
    image = f" with {machine.offer.image}" if machine.offer.image else ""
    other = f"its fleet no longer asks for {machine.offer}{image}"
    why = "made from another template" if machine.outdated(fleet.template) else other
    return f"outdated: {why}; {_whether_replaced(fleet)}"


def _whether_replaced(fleet: Fleet) -> str:
    if not fleet.replace_outdated:
        return f"not replaced for that ({KEEPS_OUTDATED})"
    return "not replaced: the fleet is protected" if fleet.protected else "to be replaced"


KEEPS_OUTDATED = "replace_outdated = false"
"""The setting by which machines stay that are outdated."""


def _at_its_limit(machine: Machine, fleet: Fleet, now: datetime) -> str:
    limit = time_limit(machine, fleet)
    if limit is None:
        return ""
    bound = PHASES[machine.phase].bound or ""
    if bound in _OVERDUE and machine.since + limit <= now:
        return _OVERDUE[bound]
    happens = _AT_THE_LIMIT.get(bound, "")
    return f"{happens} {until(machine.since + limit, now)}".strip()


def deletion(machine: Machine, now: datetime) -> str:
    """Return who asked for the machine's deletion, when and why; empty where nobody did."""
    asked = machine.deletion
    if asked is None:
        return ""
    why = f": {sentence(asked.why)}" if asked.why else ""
    return f"requested by {asked.actor} at {clock_time(asked.at, now)}{why}"


def problem(machine: Machine) -> str:
    """Return what is wrong with a machine, or an empty string."""
    if machine.fact(CLAIMED_TWICE) is not None:
        return "somebody else may have claimed its host too"
    if machine.health.stuck:
        return f"stuck: {machine.error}".removesuffix(": ")
    if machine.error:
        return machine.error
    return sentence(machine.reason) if machine.phase in {Phase.FAILED, Phase.STOPPING} else ""


# ---------------------------------------------------------------- explained


class MachineExplanation(Struct, frozen=True, kw_only=True):
    """Why a machine stands as it does, what blocks it, and what comes next, by decide().

    `outdated` says how it differs from what would be made now, and whether that replaces it.
    `moves` has every phase with whether the machine may move there, and why not; `condition` is
    the fleet's.
    """

    machine: Machine
    at: datetime
    reason: str
    blocker: str
    next: Next
    time_limit: timedelta | None
    deadline: datetime | None
    deletion: str
    protection: str
    alarm: str
    outdated: str
    moves: tuple[tuple[Phase, str], ...]
    host: HostStatus | None
    condition: str


async def explain_machine(
    providers: Providers, fleet: Fleet, machine: Machine
) -> MachineExplanation:
    """Observe once, and return what decide() says of one machine.

    Raises ProviderError where the machine's record changed meanwhile.
    """
    snapshot = await providers.snapshot(fleet)
    explained = verdict_of(machine, snapshot, providers.account(fleet).provider)
    if explained is None:
        raise ProviderError(f"{machine.id} changed while it was observed; ask again")
    current, verdict, now = explained.machine, explained.verdict, snapshot.now
    deadline = overdue_at(current, with_revision(snapshot))
    return MachineExplanation(
        machine=current,
        at=now,
        reason=current.reason if explained.moves else verdict.reason,
        blocker=verdict.blocker,
        next=_next(explained, snapshot, deadline),
        time_limit=time_limit(current, fleet),
        deadline=deadline,
        deletion=deletion(current, now),
        protection=protected_until(current, now),
        alarm=_alarm(current, now),
        outdated=outdated(current, fleet),
        moves=_moves(current, verdict.blocker, now),
        host=host_of_machine(current, snapshot),
        condition=explained.condition,
    )


def _next(explained: Explained, snapshot: Snapshot, deadline: datetime | None) -> Next:
    """Return what comes next: what decide() names, unless time alone brings something before.

    Where the machine comes to another phase at once, that comes first.
    """
    if explained.moves:
        return Next(kind="move", detail="; then ".join(explained.moves))
    machine, verdict = explained.machine, explained.verdict
    step = verdict.next
    if verdict.blocker:
        delay = deletion_delay(machine, snapshot.row, snapshot.now)
        only = step.kind == "nothing" or step.detail == verdict.blocker
        if delay is None or not only or snapshot.fleet.protected:
            return step
        return Next(kind="wait", detail=f"{delay.what}; it is deleted then", at=delay.until)
    waits = step.kind == "wait" and machine.phase is Phase.STARTING
    if waits and step.at is not None and deadline is not None and deadline < step.at:
        return Next(kind="move", detail="failed: its start takes too long", at=deadline)
    return step


def open_moves(machine: Machine, now: datetime) -> tuple[Phase, ...]:
    """Return the phases that a machine may come to now, as far as its record tells.

    None while it is protected; what else may block a move is only known to `explain_machine`.
    """
    return () if protected_until(machine, now) else PHASES[machine.phase].moves


def _moves(machine: Machine, blocker: str, now: datetime) -> tuple[tuple[Phase, str], ...]:
    blocked_by = blocker or protected_until(machine, now)
    if len(blocked_by) > _LONG:  # it is said in full beside
        blocked_by = blocked_by.partition(": ")[0]
    allowed = f"allowed; not now: {blocked_by}" if blocked_by else "allowed"
    legal = PHASES[machine.phase].moves
    barred = f"not allowed from {machine.phase}"
    return tuple(
        (phase, "current" if phase is machine.phase else allowed if phase in legal else barred)
        for phase in Phase
    )


def _alarm(machine: Machine, now: datetime) -> str:
    """Return what a person must look at: who else may have its host, or that nobody wants it."""
    since = machine.fact(CLAIMED_TWICE)
    if since is None:
        return _abandoned(machine, now)
    at = clock_time(since, now)
    return f"somebody else may have claimed its host too, since {at}: nothing is done to it"


def _abandoned(machine: Machine, now: datetime) -> str:
    """Return since when nobody asks for the machine; empty where somebody does."""
    since, requester = machine.health.abandoned, machine.spec.requester
    if since is None or machine.deletion is not None:
        return ""
    asked = f", since {requester} is gone" if requester is not None else ""
    return f"nobody asks for it any more{asked} (seen at {clock_time(since, now)})"


def host_of_machine(machine: Machine, snapshot: Snapshot) -> HostStatus | None:
    """Return the host of a machine, or None where it has none that outlives it."""
    if machine.host is None:
        return None
    resource = snapshot.inventory.resource(ResourceId(machine.host))
    record = {machine.host: snapshot.hosts[machine.host]} if machine.host in snapshot.hosts else {}
    bindings = {host: holder for holder, host in snapshot.bindings.items()}
    resources = (resource,) if resource else ()
    return next(iter(host_statuses(snapshot.fleet.account, record, bindings, resources)), None)
