"""Sharing: what the records of a fleet repeat, as one object instead of thousands.

A decoder makes each word and each slot anew, and a large fleet's records are mostly the same few of
them. Sharing halves what a record takes, as it is read, so that the words need room at no time.
"""

from functools import lru_cache
from sys import intern

from msgspec.structs import force_setattr

from hostler.domain.model.machine import Asked, Machine, MachineSpec, Offer, Place
from hostler.domain.model.resource import Slot

_put = force_setattr
"""Records are frozen. These were just decoded and nobody has them yet; and a copy of each part
would for a moment take the memory that this is to save."""


def share(machine: Machine) -> Machine:
    """Return a machine that was just decoded, with shared parts in place of equal ones."""
    for place in machine.places:
        _share_place(place)
    for asked in machine.asked:
        _share_asked(asked)
    for fact in machine.facts:
        _put(fact, "name", intern(fact.name))
    _put(machine, "fleet", intern(machine.fleet))
    _put(machine, "offer", _offer(machine.offer))
    _put(machine, "reason", intern(machine.reason))
    _put(machine, "template", intern(machine.template))
    _put(machine, "observed", intern(machine.observed))
    _put(machine, "spec", _spec(machine.spec))
    return machine


def _share_place(place: Place) -> None:
    slot = place.slot
    _put(place, "slot", _slot(slot.kind, slot.index))
    if place.bound is not None:
        _put(place, "bound", intern(place.bound))
    for known in place.known:
        _put(known, "id", intern(known.id))
        _put(known, "zone", intern(known.zone))


def _share_asked(asked: Asked) -> None:
    _put(asked, "kind", intern(asked.kind))
    _put(asked, "slot", _slot(asked.slot.kind, asked.slot.index))


@lru_cache(maxsize=1024)
def _slot(kind: str, index: int) -> Slot:
    return Slot(intern(kind), index)


@lru_cache(maxsize=1024)
def _offer(offer: Offer) -> Offer:
    return offer


@lru_cache(maxsize=1024)
def _spec(spec: MachineSpec) -> MachineSpec:
    return spec
