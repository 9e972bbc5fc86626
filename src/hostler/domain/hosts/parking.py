"""Parking: machines whose hosts are paid for anyway go into standby, and come back first.

A host that was ordered is paid until its window ends, whether it is used or not. Who parks it keeps
it by its name, wiped; ordering.py says when it is given up.
"""

from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.model.host import Host, HostOrigin
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition

WORTH = timedelta(minutes=45)
"""How much paid time must be left for standby: a wipe and a claim take the best part of it."""

_POOL = 1.0
"""What a host of the pool counts for beside paid hours: dearer than one that is due."""


def counts(transition: Transition) -> bool:
    """Tell whether a machine counts for the size: one that was asked into standby does not."""
    return transition.machine.wanted and not _is_told_to_rest(transition)


def _is_told_to_rest(transition: Transition) -> bool:
    return transition.machine.phase is Phase.READY and transition.machine.goal is Goal.STANDBY


def waits_to_rest(transition: Transition) -> bool:
    """Tell whether a machine was asked into standby, and something runs on it still."""
    return _is_told_to_rest(transition) and transition.machine.deletion is None


def wakes(transition: Transition) -> bool:
    """Tell whether a machine in standby was asked back, and stays."""
    machine = transition.machine
    asked = machine.phase is Phase.STANDBY and machine.goal is Goal.PRESENT
    return asked and machine.deletion is None


def is_paid(transition: Transition, snapshot: Snapshot) -> bool:
    """Tell whether a machine that is too many had better go into standby: paid time is left."""
    host = _ordered(transition, snapshot)
    if (
        host is None
        or host.purchase.paid_until is None
        or transition.machine.phase is not Phase.READY
    ):
        return False
    if snapshot.limits is None:  # nobody would end it at the end of its window
        return False
    return not host.purchase.policy and host.purchase.paid_until - snapshot.now >= WORTH


def paid_left(transition: Transition, snapshot: Snapshot) -> float:
    """Return the hours of paid time left on the machine's host, so that the one due goes first.

    A host of the pool costs us nothing: it goes after what is due, and before what is paid.
    """
    if not snapshot.capabilities.hosts:
        return 0.0
    host = _ordered(transition, snapshot)
    if host is None or host.purchase.paid_until is None:
        return _POOL
    left = (host.purchase.paid_until - snapshot.now) / timedelta(hours=1)
    return max(0.0, left) + (_POOL if left > 0 else 0.0)


def is_overdue(transition: Transition, snapshot: Snapshot) -> bool:
    """Tell whether a machine is on a host that was ordered, and whose window is over.

    It costs more from now on than any host of the pool. What a person keeps stays.
    """
    host = _ordered(transition, snapshot)
    if host is None or host.purchase.paid_until is None or host.purchase.policy:
        return False
    return host.purchase.paid_until <= snapshot.now


def may_move(transition: Transition, snapshot: Snapshot) -> bool:
    """Tell whether a machine on an overdue host has a host of the pool to go to, or is going.

    Its successor is on the way where there is one more than the fleet's size, and one that is not
    ready yet is on a host of the pool. What waits for a host takes the first free ones, and one
    more would take the next. Where another system says which machines there are, it alone replaces
    them.
    """
    if not snapshot.fleet.renews or not is_overdue(transition, snapshot):
        return False
    wanted = [m for m in snapshot.machines if m.wanted]
    coming = [m.host for m in wanted if m.phase in _ON_THE_WAY]
    pooled = (not _is_ordered(snapshot.hosts.get(host)) for host in coming if host is not None)
    if len(wanted) > snapshot.row.desired(snapshot.fleet) and any(pooled):
        return True
    next_taken = snapshot.free[: coming.count(None) + 1]
    return any(not _is_ordered(free.record) for free in next_taken)


_ON_THE_WAY = frozenset({Phase.PENDING, Phase.STARTING})


def _is_ordered(host: Host | None) -> bool:
    return host is not None and host.purchase.origin is HostOrigin.ORDERED


def _ordered(transition: Transition, snapshot: Snapshot) -> Host | None:
    host = snapshot.hosts.get(transition.machine.host) if transition.machine.host else None
    return host if _is_ordered(host) else None


def woken(
    transitions: tuple[Transition, ...], missing: int, snapshot: Snapshot
) -> tuple[Transition, ...]:
    """Tell as many machines in standby to come back as are missing, the longest paid first."""
    if not snapshot.capabilities.hosts:
        return transitions
    missing -= sum(wakes(transition) for transition in transitions)
    resting = [transition for transition in transitions if _may_wake(transition, snapshot)]
    order = sorted(resting, key=lambda s: (-paid_left(s, snapshot), s.machine.serial))
    picked = frozenset(transition.machine.id for transition in order[: max(0, missing)])
    return tuple(
        replace(transition, machine=replace(transition.machine, goal=Goal.PRESENT))
        if transition.machine.id in picked
        else transition
        for transition in transitions
    )


def _may_wake(transition: Transition, snapshot: Snapshot) -> bool:
    machine = transition.machine
    idle = machine.phase is Phase.STANDBY and machine.deletion is None and not transition.lost
    return idle and machine.goal is Goal.STANDBY and machine.id not in snapshot.moving
