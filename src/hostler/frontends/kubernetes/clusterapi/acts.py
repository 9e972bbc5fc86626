"""Acts: what a decision about a HostlerMachine may ask for. Pure."""

from datetime import timedelta

from msgspec import Struct

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.machine import MachineSpec

from .conditions import READY, condition, merged, paused
from .objects import MachineStatus
from .reasons import ReadyReason
from .standing import View

SETTLE = timedelta(seconds=10)
"""How long an object may wait for others before that is written into it: most do not wait long, and
each write has a price for all who watch."""

_LATER = timedelta(seconds=30)


class Claim(Struct, frozen=True, kw_only=True):
    """Write the finalizer, and the id under which the machine will be asked for."""

    machine: MachineId


class Place(Struct, frozen=True, kw_only=True):
    """Write the providerID, once and for all."""

    provider_id: str


class Grow(Struct, frozen=True, kw_only=True):
    """Ask the engine for the machine."""

    machine: MachineId
    spec: MachineSpec


class End(Struct, frozen=True, kw_only=True):
    """Ask the engine to end the machine, and to give its host up where it `retires`."""

    machine: MachineId
    retires: bool = False


class Leave(Struct, frozen=True, kw_only=True):
    """Take the finalizer off: the object may go."""


class Adopt(Struct, frozen=True, kw_only=True):
    """Ask the engine to make the machine of a host that an older provider had, by its name."""

    machine: MachineId
    host: HostId
    name: str


Act = Claim | Place | Grow | Adopt | End | Leave


class Decision(Struct, frozen=True, kw_only=True):
    """One act, or none and the status that is to stand; `again` is when to look in any case.

    Without `status` the status is left as it is.
    """

    act: Act | None = None
    status: MachineStatus | None = None
    again: timedelta | None = None


NOTHING = Decision()


def unready(
    view: View, reason: ReadyReason, message: str = "", again: timedelta | None = None
) -> Decision:
    """Return that the machine is not ready, and why; all else stays as the status has it."""
    changes = (paused(holds=False), condition(READY, reason, message, holds=False))
    before = view.status
    status = MachineStatus(
        ready=False,
        initialization=before.initialization,
        addresses=before.addresses,
        failure_domain=before.failure_domain,
        conditions=merged(before.conditions, changes, view.now),
    )
    return Decision(status=status, again=again)


def waiting(
    view: View, reason: ReadyReason, message: str = "", again: timedelta | None = None
) -> Decision:
    """Return that others have to do something first, written once that lasts.

    `again` is when to look where nothing that is watched tells of it.
    """
    metadata = view.item.metadata
    since = metadata.deletion_timestamp or metadata.creation_timestamp
    left = SETTLE - (view.now - since) if since is not None else timedelta(0)
    if left > timedelta(0) and not view.status.conditions:
        return Decision(again=left)
    return unready(view, reason, message, again)


def without_fleet(view: View) -> Decision | None:
    """Return that there is no fleet that is asked for each machine; None where there is one."""
    fleet, name = view.standing.fleet, view.wants.fleet_name
    if fleet is None:
        namespace = view.item.metadata.namespace
        text = f"there is no fleet {name} in {namespace}: make one, with `renews = false`"
        return unready(view, ReadyReason.FLEET_NOT_FOUND, text, _LATER)
    if fleet.removed:
        text = f"fleet {name} was deleted: nothing more is made for it before it is there again"
        return unready(view, ReadyReason.FLEET_NOT_FOUND, text, _LATER)
    if fleet.renews:
        text = f"fleet {name} makes up for machines by itself: set `renews = false`"
        return unready(view, ReadyReason.FLEET_UNSUITABLE, text, _LATER)
    return None
