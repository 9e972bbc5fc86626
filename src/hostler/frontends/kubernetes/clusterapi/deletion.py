"""Deletion: what a HostlerMachine that is deleted still waits for. Pure.

The end of the record and the end of the host are two things: nobody waits here for a wipe, nor for
the end of a paid period. What the object waits for is that its machine has let go of its host, so
that core does not delete the Node of a machine that still runs.
"""

from datetime import timedelta

from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase

from .acts import NOTHING, Decision, End, Leave, unready, waiting
from .reasons import ReadyReason
from .standing import View

_LEAVE = Decision(act=Leave())
_SOON = timedelta(seconds=5)
_LATER = timedelta(minutes=1)


def decide(view: View) -> Decision:
    """Return what is done next about an object that is to go; its cluster's state is no matter."""
    standing = view.standing
    if not view.holds:
        return NOTHING
    if view.id is None:
        return _LEAVE  # nothing was ever asked for
    if not standing.known:
        return Decision(again=_SOON)
    if standing.machine is None:
        return _unrecorded(view)
    return _recorded(view, standing.machine)


def _unrecorded(view: View) -> Decision:
    standing = view.standing
    if view.id is None or not standing.requested:
        return _LEAVE
    if standing.deleting:
        return Decision(again=_SOON)
    return _blocked(view, view.id) or Decision(act=End(machine=view.id))


def _recorded(view: View, machine: Machine) -> Decision:
    if _is_over(machine):
        return _LEAVE
    if machine.deletion is None and not view.standing.deleting:
        return _blocked(view, machine.id) or Decision(
            act=End(machine=machine.id, retires=view.terminates)
        )
    if machine.is_protected(view.now) and machine.protection is not None:
        text = f"machine {machine.id} is protected by {machine.protection.actor}"
        return unready(view, ReadyReason.DELETION_BLOCKED, text, _LATER)
    return waiting(view, ReadyReason.DELETING, f"machine {machine.id} ends", _LATER)


def _blocked(view: View, machine: MachineId) -> Decision | None:
    """Return why the engine would not be asked for the machine's end, or would refuse it."""
    fleet = view.standing.fleet
    if fleet is None:
        named = f"fleet {view.wants.fleet_name} in {view.item.metadata.namespace}"
        text = f"there is no {named} to end machine {machine}"
        return unready(view, ReadyReason.DELETION_BLOCKED, text, _LATER)
    if fleet.protected:
        text = f"fleet {fleet.name} is protected: change `protected` in its settings first"
        return unready(view, ReadyReason.DELETION_BLOCKED, text, _LATER)
    return None


def _is_over(machine: Machine) -> bool:
    """Tell whether nothing of it is left, or its end is overdue: the engine goes on with that."""
    over_due = machine.health.stuck and machine.deletion is not None
    return machine.phase is Phase.DELETED or over_due
