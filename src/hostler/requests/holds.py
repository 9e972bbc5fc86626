"""Requests that hold hosts for a person for a while, lift that, or switch hosts off and on."""

from collections.abc import Iterable
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.errors import RequestRefused
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.reporting.hosts import HostStatus

from .recording import Accepted, Author, new_request, protecting


def hold(
    author: Author, fleet: Fleet, host: HostStatus, kind: HoldKind, duration: timedelta | None
) -> Accepted:
    """Ask that a host is held like this; without a duration as long as the fleet allows.

    Raises RequestRefused where the duration is longer than that. A machine that has the host keeps
    it until it ends.
    """
    request = protecting(RequestKind.HOLD, fleet, author, duration)
    return Accepted(
        request=replace(request, host=host.id, hold=kind),
        warnings=(*_taken(host, kind), *given_up(host, kind)),
    )


def _taken(host: HostStatus, kind: HoldKind) -> tuple[str, ...]:
    """Return a warning where a host is not held yet, for a machine has it."""
    if not kind.bars_machines or host.binding is None:
        return ()
    return (f"machine {host.binding} has {host.name or host.id}, and keeps it until it ends",)


def given_up(host: HostStatus, kind: HoldKind) -> tuple[str, ...]:
    """Return a warning where a host is not held until the end, for it is given up before."""
    if kind is not HoldKind.RESERVED or host.record is None or not host.record.retires:
        return ()
    why = "given up at the end of what is paid, reserved or not, for it was ordered"
    cure = "`hostler pool FILE add` keeps it, once no machine has it"
    return (f"{host.name or host.id} is {why}: {cure}",)


def lift(author: Author, fleet: Fleet, host: HostStatus) -> Accepted:
    """Ask that a hold ends; where there is none, that is said: it may be asked for again."""
    request = replace(new_request(RequestKind.LIFT, fleet, author), host=host.id)
    held = host.record is not None and host.record.held(author.at) is not None
    nobody = f"{host.name or host.id}: nobody holds it"
    return Accepted(request=request, warnings=() if held else (nobody,))


def cycle(author: Author, fleet: Fleet, host: HostStatus) -> Accepted:
    """Ask that a host is switched off and on, once it is free.

    Raises RequestRefused where a machine has it.
    """
    if host.binding is not None:
        raise RequestRefused(
            f"{host.name or host.id}: machine {host.binding} has it, and is not switched off for "
            "this: delete that first"
        )
    request = new_request(RequestKind.CYCLE, fleet, author)
    return Accepted(request=replace(request, host=host.id))


def fleet_of(host: HostStatus, fleets: Iterable[Fleet]) -> Fleet:
    """Return a fleet whose engine looks after a host: the one that had it last, or any of its own.

    Raises RequestRefused where none of these fleets is of the host's account.
    """
    own = [fleet for fleet in fleets if fleet.account == host.account]
    last = [fleet for fleet in own if str(fleet.name) == host.fleet]
    if not own:
        raise RequestRefused(f"{host.name or host.id}: no fleet has machines of {host.account}")
    return (last or own)[0]
