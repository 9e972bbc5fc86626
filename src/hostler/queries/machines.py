"""Machines: what comes next for a machine, what is wrong with it, and why it stands as it does."""

from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.decide import verdict_of
from hostler.domain.errors import ProviderError
from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import ResourceId
from hostler.domain.machines.bootstrap import start_due
from hostler.domain.machines.drift import noticed
from hostler.domain.machines.rollout import with_revision
from hostler.domain.model.commands import Next
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import PHASES, Phase, sentence
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import protected_until
from hostler.domain.reporting.hosts import HostStatus, host_statuses

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

_LONG = 80


def next_step(
    machine: Machine, fleet: Fleet, now: datetime, held_until: datetime | None = None
) -> str:
    """Return what comes next as far as the record says; `explain_machine` asks decide().

    `held_until` is until when it is kept because its setup script is at fault.
    """
    if machine.protection is not None and machine.is_protected(now):
        protection = machine.protection
        then = "; deleted then" if machine.deletion is not None else ""
        return f"protected by {protection.actor} until {clock_time(protection.until, now)}{then}"
    if machine.retry_at is not None and machine.retry_at > now:
        return f"tried again {until(machine.retry_at, now)}"
    if machine.health.doubt is not None:
        return f"to be confirmed: {machine.health.doubt.what}"
    if words := noticed(machine):
        return f"differs from its record: {words}"
    if held_until is not None:
        return f"its setup script is at fault; released {until(held_until, now)}"
    return _at_its_limit(machine, fleet, now)


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
    happens = _AT_THE_LIMIT.get(PHASES[machine.phase].bound or "", "")
    return f"{happens} {until(machine.since + limit, now)}".strip()


def time_limit(machine: Machine, fleet: Fleet) -> timedelta | None:
    """Return how long the machine may stay in its phase, or None where that is not limited."""
    name = PHASES[machine.phase].bound
    value: object = getattr(fleet.timers, name) if name else None
    return value if isinstance(value, timedelta) else None


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
    return MachineExplanation(
        machine=current,
        at=now,
        reason=verdict.reason,
        blocker=verdict.blocker,
        next=verdict.next,
        time_limit=time_limit(current, fleet),
        deadline=_deadline(current, snapshot),
        deletion=deletion(current, now),
        protection=protected_until(current, now),
        alarm=_alarm(current, now),
        outdated=outdated(current, fleet),
        moves=_moves(current, verdict.blocker, now),
        host=host_of_machine(current, snapshot),
        condition=explained.condition,
    )


def _deadline(machine: Machine, snapshot: Snapshot) -> datetime | None:
    """Return when a machine has been in its phase for too long, or None where it never has."""
    limit = time_limit(machine, snapshot.fleet)
    if limit is not None and machine.phase is Phase.STARTING:
        return start_due(machine, with_revision(snapshot))
    return machine.since + limit if limit else None


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
