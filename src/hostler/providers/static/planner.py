"""Planner: the pure half: claim one host, clean it, give it back."""

from collections.abc import Iterator

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource

from .claims import SERVER

CLAIM, CLEAN, RELEASE = "host.claim", "host.clean", "host.release"
CLEANING, CLEANED, FAILED = "cleaning", "cleaned", "cleaning failed"


def next_calls(
    goal: Goal, machine: Machine, resources: tuple[Resource, ...], *, cleans: bool
) -> tuple[Call, ...]:
    """Return the calls that may be made now; `cleans` says whether hosts are cleaned first."""
    match goal:
        case Goal.PRESENT:
            surplus = tuple(resource for resource in resources if resource.surplus)
            if surplus:
                return tuple(_away(machine, surplus, cleans=False))
            filled = bool(resources) or machine.bound(SERVER) is not None
            return () if filled else (_claim(machine),)
        case Goal.ABSENT:
            return tuple(_away(machine, resources, cleans=cleans))
        case Goal.STANDBY:
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


def _away(machine: Machine, resources: tuple[Resource, ...], *, cleans: bool) -> Iterator[Call]:
    """Clean, wait until an observation shows it done, release. A surplus claim was never used."""
    for resource in resources:
        if resource.condition is Condition.UNKNOWN and resource.status != "promised":
            continue
        if not cleans or resource.surplus or resource.status == CLEANED:
            yield _end(RELEASE, machine, resource)
        elif resource.status != CLEANING:
            yield _end(CLEAN, machine, resource)


def _end(kind: str, machine: Machine, resource: Resource) -> Call:
    return Call(
        kind=kind,
        slot=SERVER,
        zone=resource.zone,
        effect=Effect.DESTROY,
        target=resource.id,
        args=(("fleet", machine.fleet),),
    )
