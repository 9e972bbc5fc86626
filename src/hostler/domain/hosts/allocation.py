"""Tenancies: what is special about a machine that ends on a host which outlives it.

The host goes back to its pool, or is given up; where no pool is known it is left as it is, told,
and kept in the ledger.
"""

from dataclasses import replace

from hostler.domain.model.host import OTHERS, TENANT, Host
from hostler.domain.model.machine import RETIRE, Fate, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, event, move
from hostler.domain.observation.effects import came_late

FAULT = "host_failed"
"""The fact that a machine failed by its host: that counts as a strike against the host."""

ALONE = "host_alone"
"""The fact that the host is to be left alone for a while after this machine."""

CLAIMED_TWICE = "claimed_twice"
"""The fact that the host's name says that somebody else has it too, since when."""

LISTED = "fault_of_list"
"""How the fact begins that what the host failed at was a command: of the list of this digest."""

HAD = "host_had"
"""The fact that the host's name told of another installation's machine while this one was in use.

Whatever the name is later, unless it is this machine's again: the disk may be the other's.
"""

STRANGER = "host_stranger"
"""The fact that the host shows a key that is not its own: it is not wiped either."""


def blamed(step: Step, seen: Seen) -> Step:
    """Write down that the host failed, where it is known that it did, and not what asks for it."""
    if not seen.traits.hosts:
        return step
    return replace(step, machine=step.machine.with_fact(FAULT, seen.now))


def lists_of(machine: Machine) -> tuple[str, ...]:
    """Return the digest of the list that a machine's host failed at, if it did."""
    names = (fact.name.partition(" ") for fact in machine.facts)
    return tuple(digest for name, _, digest in names if name == LISTED)


def watched(step: Step, seen: Seen) -> Step:
    """Raise an alarm, once, where the host bears another's name, or a claim of ours came too late.

    Nothing is done about it: beyond settle nobody can prove whose it is, so all sides hold.
    """
    part = step.main(seen)
    if part is None or part.status == "promised":
        return step
    step = _had(step, part, seen)
    machine = step.machine
    late = came_late(machine, part.note("stage"))
    usurped = machine.host in seen.usurped
    if not late and not usurped and not _is_others(part, seen):
        calm = machine.fact(CLAIMED_TWICE) is None
        return step if calm else replace(step, machine=machine.without_fact(CLAIMED_TWICE))
    why = "a claim of ours took effect too late" if late else f"its host is called {part.name!r}"
    said = f"{why}: somebody else may use it, and nothing is done to it"
    known = machine.fact(CLAIMED_TWICE) is not None
    told = () if known else (event("alarm", machine, seen, str(Reason.HOST_TAKEN), said),)
    noted = machine if known else machine.with_fact(CLAIMED_TWICE, seen.now)
    return replace(step, machine=noted, events=(*step.events, *told), blocker=step.blocker or said)


def _had(step: Step, part: Part, seen: Seen) -> Step:
    """Write down that another installation's machine has the host, by its name, or had it."""
    machine, stage = step.machine, part.note("stage")
    others = stage == "foreign" and part.note("named") in TENANT and _is_others(part, seen)
    if machine.fact(HAD) is None and machine.was_ready is not None and others:
        return replace(step, machine=machine.with_fact(HAD, seen.now))
    if machine.fact(HAD) is not None and part.mark is not None and stage == "claimed":
        return replace(step, machine=machine.without_fact(HAD))
    return step


def stopping(step: Step, seen: Seen) -> Step:
    """Write down whether the host is given up; end at once where it can go nowhere."""
    machine = step.machine
    host = seen.hosts.get(machine.host) if machine.host else None
    if host is not None and host.retires and machine.fact(RETIRE) is None:
        step = replace(step, machine=machine.with_fact(RETIRE, seen.now))
    reason = _left_alone(step, host, seen)
    if reason is None:
        return step
    told = event(str(reason), step.machine, seen, str(reason), str(machine.host))
    skipped = replace(step, events=(*step.events, told))
    return move(skipped, Phase.GONE, reason, seen)


def _left_alone(step: Step, host: Host | None, seen: Seen) -> Reason | None:
    """Return why the host is left as it is: it is somebody else's, a stranger, or has no pool."""
    machine, part = step.machine, step.main(seen)
    if part is None or part.status == "promised" or any(a.fate is Fate.OPEN for a in machine.asked):
        return None
    if came_late(machine, part.note("stage")):
        return Reason.HOST_TAKEN
    if machine.host in seen.usurped or _is_others(part, seen):
        return Reason.HOST_TAKEN
    if machine.fact(STRANGER) is not None and machine.fact(RETIRE) is None:
        return Reason.NOT_PREPARED
    if machine.fact(RETIRE) is not None or part.note("pool") or (host is not None and host.pool):
        return None
    return Reason.RELEASE_SKIPPED


def _is_others(part: Part, seen: Seen) -> bool:
    """Tell whether a host's name was given by nobody whose marks are ours by now."""
    adopted = part.mark is not None and part.mark.installation in seen.ours
    return part.note("stage") in OTHERS and not adopted
