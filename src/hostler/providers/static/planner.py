"""Ways: the pure half: claim one host, clean it, give it back."""

from collections.abc import Iterator

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Part

from .claims import SERVER

CLAIM, CLEAN, RELEASE = "host.claim", "host.clean", "host.release"
CLEANING, CLEANED, FAILED = "cleaning", "cleaned", "cleaning failed"


def next_calls(
    goal: Goal, machine: Machine, parts: tuple[Part, ...], *, cleans: bool
) -> tuple[Call, ...]:
    """Return the calls that may be made now; `cleans` says whether hosts are cleaned first."""
    match goal:
        case Goal.PRESENT:
            surplus = tuple(part for part in parts if part.surplus)
            if surplus:
                return tuple(_away(machine, surplus, cleans=False))
            filled = bool(parts) or machine.bound(SERVER) is not None
            return () if filled else (_claim(machine),)
        case Goal.ABSENT:
            return tuple(_away(machine, parts, cleans=cleans))
        case Goal.RESTING:
            return ()


def _claim(machine: Machine) -> Call:
    """Any free host of the zone will do: which one is found where it is tried, host by host."""
    return Call(
        kind=CLAIM,
        slot=SERVER,
        zone=machine.offer.zone,
        effect=Effect.MAKE,
        attempt=machine.place(SERVER).attempt + 1,
        once=True,
        args=(("fleet", machine.fleet), ("machine", machine.id)),
    )


def _away(machine: Machine, parts: tuple[Part, ...], *, cleans: bool) -> Iterator[Call]:
    """Clean, wait until a look shows it done, release. A surplus claim was never used."""
    for part in parts:
        if part.condition is Condition.UNKNOWN and part.status != "promised":
            continue
        if not cleans or part.surplus or part.status == CLEANED:
            yield _end(RELEASE, machine, part)
        elif part.status != CLEANING:
            yield _end(CLEAN, machine, part)


def _end(kind: str, machine: Machine, part: Part) -> Call:
    return Call(
        kind=kind,
        slot=SERVER,
        zone=part.zone,
        effect=Effect.DESTROY,
        target=part.id,
        args=(("fleet", machine.fleet),),
    )
