"""Looking: which scopes are due, and what all looks so far come to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import FleetName, PartId, Zone
from hostler.domain.model.host import tenancy
from hostler.domain.model.inventory import View
from hostler.domain.model.machine import Fate, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Traits
from hostler.domain.model.resource import Part, Scope
from hostler.ports.provider import Provider

_MOVING = frozenset({Phase.STARTING, Phase.STOPPING, Phase.DRAINING, Phase.BROKEN})


def zones_of(traits: Traits, fleets: Iterable[tuple[Zone, ...]], view: View) -> tuple[Zone, ...]:
    """Return every zone that is configured, or in which something of ours was ever seen."""
    seen = {zone for zone, _ in view.whole}
    configured = {zone for zones in fleets for zone in zones}
    return tuple(sorted({*traits.zones, *configured, *seen}))


def due_scopes(  # noqa: PLR0913 - what decides the next look, all of it by name
    *,
    provider: Provider,
    zones: tuple[Zone, ...],
    machines: Mapping[FleetName, tuple[Machine, ...]],
    view: View,
    now: datetime,
    settings: Settings,
    asked: tuple[Scope, ...],
) -> tuple[Scope, ...]:
    """Return the scopes of the next look.

    Everything whole when it is old; the main kind often while machines move, by single machines
    when that takes fewer requests than a listing; addresses and volumes rarely.
    """
    moving = [m for ms in machines.values() for m in ms if is_moving(m)]
    scopes = list[Scope]()
    for zone in zones:
        for kind in provider.traits.kinds:
            age = _age(view, zone, kind, now)
            if age is None or age >= _limit(provider.traits, kind, settings, moving=bool(moving)):
                scopes.append(Scope(zone, kind, None, _unmarked(view, zone, kind)))
            elif kind == provider.traits.main.kind:
                scopes += _main_scopes(provider, zone, moving, view)
    whole = {(scope.zone, scope.kind) for scope in scopes if scope.machine is None}
    close = [s for s in asked if s.machine is not None]
    return tuple(
        dict.fromkeys((*scopes, *(s for s in close if (s.zone, s.kind) not in whole or s.known)))
    )


def _unmarked(view: View, zone: Zone, kind: str) -> tuple[PartId, ...]:
    """Return the ids that only our records know as ours: somebody took their marks away."""
    return tuple(
        sorted(
            part_id
            for part_id, sighting in view.sightings.items()
            if sighting.part.mark is None
            and not _hangs_on_marked(view, sighting.part)
            and (sighting.part.zone, sighting.part.slot.kind) == (zone, kind)
        )
    )


def _hangs_on_marked(view: View, part: Part) -> bool:
    owner = view.part(part.owner) if part.owner else None
    return owner is not None and owner.mark is not None


def is_moving(machine: Machine) -> bool:
    """Tell whether a look at this machine may soon show something new."""
    return (
        machine.phase in _MOVING
        or machine.doubt is not None
        or any(asked.fate is Fate.OPEN for asked in machine.asked)
    )


def _age(view: View, zone: Zone, kind: str, now: datetime) -> timedelta | None:
    whole = view.whole.get((zone, kind))
    return None if whole is None or whole > now else now - whole


def _limit(traits: Traits, kind: str, settings: Settings, *, moving: bool) -> timedelta:
    if not moving:
        return settings.quiet
    return settings.quiet if kind == traits.main.kind else settings.rare


def _main_scopes(provider: Provider, zone: Zone, moving: list[Machine], view: View) -> list[Scope]:
    """Return looks at single machines, or one whole listing where that costs less."""
    close = [scope for m in moving if (scope := close_scope(m, provider.traits, zone))]
    if not close:
        return []
    whole = Scope(zone, provider.traits.main.kind)
    if requests_for(provider, close, view) < requests_for(provider, [whole], view):
        return close
    return [replace(whole, known=_unmarked(view, zone, whole.kind))]


def requests_for(provider: Provider, scopes: Sequence[Scope], view: View) -> int:
    """Return how many requests these looks take: a whole listing takes one for each page."""
    listed = {(scope.zone, scope.kind) for scope in scopes if scope.machine is None}
    shown = Counter((s.part.zone, s.part.slot.kind) for s in view.sightings.values() if listed)
    pages = {key: 1 + shown[key] // provider.traits.page for key in listed}
    return sum(
        provider.cost(scope) * (1 if scope.machine else pages[scope.zone, scope.kind])
        for scope in scopes
    )


def close_scope(machine: Machine, traits: Traits, zone: Zone) -> Scope | None:
    """Return the look at this machine's main part alone, or None where it lives elsewhere."""
    if machine.offer.zone != zone or (traits.hosts and machine.host is None):
        return None
    known = tuple(k.id for k in machine.place(traits.main).known if not k.gone)
    if traits.hosts and machine.host is not None:
        known = tuple(dict.fromkeys((*known, tenancy(machine.host, machine.id))))
    return Scope(zone, traits.main.kind, machine.id, known)
