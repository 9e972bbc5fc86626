"""Proofs: the focused observations that decisions asked for, as many at a time as the rate allows.

A decision asks anew for whatever it still needs, so that nothing is lost when one fails, and what
nobody asks for any more is forgotten.
"""

from collections.abc import Container, Iterable

from msgspec import Struct

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.resource import Scope
from hostler.ports.provider import Provider

from .due import requests_for

_NOTHING = Inventory()


class Batch(Struct, frozen=True):
    """What is asked for now, and what is left for later."""

    now: tuple[Scope, ...]
    later: tuple[Scope, ...]


def batch_of(
    asked: tuple[Scope, ...], due: tuple[Scope, ...], provider: Provider, affordable: float
) -> Batch:
    """Return as much of what was asked for as so many requests will do, one scope at least.

    What a due observation shows just now is asked for no more.
    """
    known = {resource for scope in due if scope.machine is not None for resource in scope.known}
    whole = {(scope.zone, scope.kind) for scope in due if scope.machine is None}
    left = [scope for scope in asked if not _is_covered(scope, known, whole)]
    cost = 0.0
    for number, scope in enumerate(left):
        cost += requests_for(provider, (scope,), _NOTHING)
        if number and cost > affordable:
            return Batch(tuple(left[:number]), tuple(left[number:]))
    return Batch(tuple(left), ())


def _is_covered(scope: Scope, known: set[ResourceId], whole: set[tuple[Zone, str]]) -> bool:
    """Tell whether due observations say what this one would: each of its ids, asked by itself."""
    if not scope.known:
        return (scope.zone, scope.kind) in whole
    return known.issuperset(scope.known)


def still_asked(
    before: Iterable[Scope], asked: Iterable[Scope], missing: Container[ResourceId]
) -> tuple[Scope, ...]:
    """Return what the newest decisions ask for: first what has waited longest.

    Ids that were missing when they were asked for before go first, for their second answer proves
    it: so the first replacements do not wait until every loss was asked about.
    """
    fresh = dict.fromkeys(asked)
    waiting = [scope for scope in before if scope in fresh]
    ordered = dict.fromkeys((*waiting, *fresh))
    return tuple(sorted(ordered, key=lambda scope: not _is_half_proved(scope, missing)))


def _is_half_proved(scope: Scope, missing: Container[ResourceId]) -> bool:
    return bool(scope.known) and all(resource in missing for resource in scope.known)
