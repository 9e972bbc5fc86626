"""Parking: machines whose hosts are paid for anyway rest instead of ending, and come back first.

A host that was ordered is paid until its window ends, whether it is used or not. Who parks it keeps
it by its name, wiped; ordering.py says when it is given up.
"""

from dataclasses import replace
from datetime import timedelta

from hostler.domain.model.host import Host, HostOrigin
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step

WORTH = timedelta(minutes=45)
"""How much paid time must be left for a rest: a wipe and a claim take the best part of it."""

_POOL = 1.0
"""What a host of the pool counts for beside paid hours: dearer than one that is due."""


def counts(step: Step) -> bool:
    """Tell whether a machine counts for the size: one that was told to rest does not."""
    return step.machine.wanted and not _is_told_to_rest(step)


def _is_told_to_rest(step: Step) -> bool:
    return step.machine.phase is Phase.READY and step.machine.goal is Goal.RESTING


def waits_to_rest(step: Step) -> bool:
    """Tell whether a machine was told to rest, and something runs on it still."""
    return _is_told_to_rest(step) and step.machine.ending is None


def wakes(step: Step) -> bool:
    """Tell whether a machine at rest was told to come back."""
    return step.machine.phase is Phase.RESTING and step.machine.goal is Goal.PRESENT


def is_paid(step: Step, seen: Seen) -> bool:
    """Tell whether a machine that is too many had better rest: its host has paid time left."""
    host = _ordered(step, seen)
    if host is None or host.paid_until is None or step.machine.phase is not Phase.READY:
        return False
    if seen.limits is None:  # nobody would end it at the end of its window
        return False
    return not host.policy and host.paid_until - seen.now >= WORTH


def paid_left(step: Step, seen: Seen) -> float:
    """Return the hours of paid time left on the machine's host, so that the one due goes first.

    A host of the pool costs us nothing: it goes after what is due, and before what is paid.
    """
    if not seen.traits.hosts:
        return 0.0
    host = _ordered(step, seen)
    if host is None or host.paid_until is None:
        return _POOL
    left = (host.paid_until - seen.now) / timedelta(hours=1)
    return max(0.0, left) + (_POOL if left > 0 else 0.0)


def _ordered(step: Step, seen: Seen) -> Host | None:
    host = seen.hosts.get(step.machine.host) if step.machine.host else None
    return host if host is not None and host.origin is HostOrigin.ORDERED else None


def woken(steps: tuple[Step, ...], missing: int, seen: Seen) -> tuple[Step, ...]:
    """Tell as many machines at rest to come back as are missing, the longest paid first."""
    if not seen.traits.hosts:
        return steps
    missing -= sum(wakes(step) for step in steps)
    resting = [step for step in steps if _may_wake(step, seen)]
    order = sorted(resting, key=lambda s: (-paid_left(s, seen), s.machine.serial))
    picked = frozenset(step.machine.id for step in order[: max(0, missing)])
    return tuple(
        replace(step, machine=replace(step.machine, goal=Goal.PRESENT))
        if step.machine.id in picked
        else step
        for step in steps
    )


def _may_wake(step: Step, seen: Seen) -> bool:
    machine = step.machine
    idle = machine.phase is Phase.RESTING and machine.ending is None and not step.lost
    return idle and machine.goal is Goal.RESTING and machine.id not in seen.moving
