"""Requests about one machine: its end, protection, standby and waking, and who asks for it."""

from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.requester import Requester
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.observation.blockers import protected_until

from .hosts import require_reason
from .recording import Accepted, Author, new_request, protecting


def delete(author: Author, fleet: Fleet, machine: Machine, *, now: bool = False) -> Accepted:
    """Ask that a machine is deleted; the fleet's size decides whether another one is created.

    `now` does not wait for what runs on it. Raises RequestRefused where the fleet is protected.
    """
    _require_unprotected(fleet)
    request = new_request(RequestKind.DELETE, fleet, author)
    return Accepted(
        request=replace(request, machine=machine.id, now=now),
        warnings=_protection_warning(machine, author),
    )


def delete_unrecorded(author: Author, fleet: Fleet, machine: MachineId) -> Accepted:
    """Ask that a machine is deleted that was requested by its id, and may have no record yet."""
    _require_unprotected(fleet)
    request = new_request(RequestKind.DELETE, fleet, author)
    return Accepted(request=replace(request, machine=machine, now=True))


def retire(author: Author, fleet: Fleet, machine: Machine, *, now: bool = False) -> Accepted:
    """Ask that a machine is deleted and its host retired.

    Raises RequestRefused where the fleet is protected, and where no reason is given.
    """
    _require_unprotected(fleet)
    require_reason(author)
    request = new_request(RequestKind.RETIRE, fleet, author)
    no_host = f"{machine.id} has no host that outlives it: it is deleted, and nothing is retired"
    return Accepted(
        request=replace(request, machine=machine.id, now=now),
        warnings=(
            *_protection_warning(machine, author),
            *(() if machine.host is not None else (no_host,)),
        ),
    )


def protect(
    author: Author, fleet: Fleet, machine: Machine, duration: timedelta | None = None
) -> Accepted:
    """Ask that nothing destructive is done to a machine; without a duration as long as allowed.

    Raises RequestRefused where the duration is longer than the fleet allows.
    """
    request = protecting(RequestKind.PROTECT, fleet, author, duration)
    return Accepted(request=replace(request, machine=machine.id))


def unprotect(author: Author, fleet: Fleet, machine: Machine) -> Accepted:
    """Ask that a protection ends; where there is none, that is said: it may be asked for again."""
    accepted = _about(RequestKind.UNPROTECT, author, fleet, machine)
    if machine.is_protected(author.at):
        return accepted
    return replace(accepted, warnings=(f"{machine.id} is not protected",))


def stand_by(author: Author, fleet: Fleet, machine: Machine) -> Accepted:
    """Ask that a machine goes to standby and keeps its host."""
    return _about(RequestKind.STANDBY, author, fleet, machine)


def wake(author: Author, fleet: Fleet, machine: Machine) -> Accepted:
    """Ask that a machine comes back from standby."""
    return _about(RequestKind.WAKE, author, fleet, machine)


def _about(kind: RequestKind, author: Author, fleet: Fleet, machine: Machine) -> Accepted:
    return Accepted(request=replace(new_request(kind, fleet, author), machine=machine.id))


def _require_unprotected(fleet: Fleet) -> None:
    if fleet.protected:
        raise RequestRefused(
            f"fleet {fleet.name} is protected: change `protected` in its file first"
        )


def _protection_warning(machine: Machine, author: Author) -> tuple[str, ...]:
    """Return that a machine whose deletion is requested stays as long as it is protected."""
    until = protected_until(machine, author.at)
    return (
        (f"{until}: {machine.id} is deleted then, or once its protection is ended",)
        if until
        else ()
    )


def own(author: Author, fleet: Fleet, machine: MachineId, requester: Requester) -> Accepted:
    """Say who asks for a machine from now on: it is no orphan, whoever asked for it before."""
    return _of_requester(RequestKind.OWN, author, fleet, machine, requester)


def disown(
    author: Author, fleet: Fleet, machine: MachineId, requester: Requester | None
) -> Accepted:
    """Say that whoever asked for a machine is gone, which was proved: it is reported from now on.

    Refused by the engine where another one asks for it by then.
    """
    return _of_requester(RequestKind.DISOWN, author, fleet, machine, requester)


def reclaim(
    author: Author, fleet: Fleet, machine: MachineId, requester: Requester | None
) -> Accepted:
    """Ask for the end of a machine that nobody asks for; its host goes back as after any other.

    Refused by the engine unless the fleet reclaims, within its caps, and after the grace period.
    """
    _require_unprotected(fleet)
    return _of_requester(RequestKind.RECLAIM, author, fleet, machine, requester)


def _of_requester(
    kind: RequestKind,
    author: Author,
    fleet: Fleet,
    machine: MachineId,
    requester: Requester | None,
) -> Accepted:
    request = new_request(kind, fleet, author)
    return Accepted(request=replace(request, machine=machine, requester=requester))
