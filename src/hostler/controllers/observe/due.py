"""Due scopes: what the next observation of an account covers, and what it costs.

Observations and calls share one rate. While calls that make machines wait for it, observations take
a few hundredths of it and no more; otherwise they take what their cadence asks for.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import FleetName, ResourceId, Zone
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import allocation_of
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Resource, Scope
from hostler.domain.observation.allocations import scopes_of_hosts
from hostler.ports.provider import Provider

_MOVING = frozenset({Phase.STARTING, Phase.STOPPING, Phase.DRAINING, Phase.FAILED})


def zones_of(
    capabilities: Capabilities, fleets: Iterable[tuple[Zone, ...]], inventory: Inventory
) -> tuple[Zone, ...]:
    """Return every zone that is configured, or in which something of ours was ever seen."""
    snapshot = {zone for zone, _ in inventory.whole}
    configured = {zone for zones in fleets for zone in zones}
    return tuple(sorted({*capabilities.zones, *configured, *snapshot}))


class Load(Struct, frozen=True):
    """How busy an account's rate limit is: requests a second, and whether makers wait for them.

    `limit` is the age at which the first of the account's fleets believes no listing any more.
    """

    rate: float
    crowded: bool
    limit: timedelta | None = None


_CROWDED_SHARE = 0.006
"""What the main kind's listings take of a crowded rate, as long as they come often enough."""

_CROWDED_MOST = timedelta(seconds=60)
"""However many pages there are, every kind is listed this often, and the others no oftener.

A leak is to be seen by then (S1), and nothing more is begun where listings are older (S3).
"""

_BELIEVED = 0.75
"""The share of a shorter age of listings after which the next one is due, as it takes its time.

At the usual minute more listings would take longer from making than pausing for them does.
"""


def due_scopes(  # noqa: PLR0913 - what decides the next observation, all of it by name
    *,
    provider: Provider,
    zones: tuple[Zone, ...],
    machines: Mapping[FleetName, tuple[Machine, ...]],
    inventory: Inventory,
    now: datetime,
    settings: Settings,
    load: Load,
) -> tuple[Scope, ...]:
    """Return the scopes of the next observation.

    Everything whole when it is old; the main kind often while machines move, by single machines
    when that takes fewer requests than a listing; addresses and volumes rarely.
    """
    moving = [m for ms in machines.values() for m in ms if is_moving(m)]
    main = provider.capabilities.main.kind
    limits = _limits(provider.capabilities, settings, inventory, load)
    whole = max(settings.quiet, limits.main) if moving else settings.quiet
    scopes = list[Scope]()
    for zone in zones:
        for kind in provider.capabilities.kinds:
            most = limits.others if moving and kind != main else whole
            failed = inventory.failed.get((zone, kind))
            again = failed is None or _is_older(failed.begun, now, limits.again)
            if again and _is_older(inventory.whole.get((zone, kind)), now, most):
                scopes.append(Scope(zone, kind, None, _unmarked(inventory, zone, kind)))
            elif kind == main:
                seen = ((m, inventory.covered(zone, kind, m.id)) for m in moving)
                due = [m for m, begun in seen if _is_older(begun, now, limits.main)]
                scopes += _main_scopes(provider, zone, due, inventory)
    return tuple(dict.fromkeys(scopes))


class _Limits(Struct, frozen=True):
    """How old the newest observations may be while machines move.

    `again` is how long after a listing that failed the next one is made: where calls wait, that is
    no reason to hurry.
    """

    main: timedelta
    others: timedelta
    again: timedelta = timedelta(0)


def _limits(
    capabilities: Capabilities, settings: Settings, inventory: Inventory, load: Load
) -> _Limits:
    """Return the busy limits; longer where calls wait, by what a listing takes from them."""
    main, others = settings.busy_first, settings.rare
    if not load.crowded:
        return _Limits(main, others)
    share = timedelta(seconds=1 / (load.rate * _CROWDED_SHARE))
    most = _most(load)
    main = max(main, min(_pages(inventory, capabilities) * share, most))
    return _Limits(main, max(others, most), again=main)


def _most(load: Load) -> timedelta:
    """Return how old listings may become where calls wait."""
    if load.limit is None or load.limit >= _CROWDED_MOST:
        return _CROWDED_MOST
    return load.limit * _BELIEVED


def _pages(inventory: Inventory, capabilities: Capabilities) -> int:
    """Return how many pages the listings of the main kind took last, over all zones."""
    kind = capabilities.main.kind
    found = sum(s.resource.slot.kind == kind for s in inventory.sightings.values())
    return 1 + found // capabilities.page


def _unmarked(inventory: Inventory, zone: Zone, kind: str) -> tuple[ResourceId, ...]:
    """Return the ids that only our records know as ours: somebody took their owner tags away."""
    partial = frozenset(inventory.partial)  # a whole listing shows these by themselves
    return tuple(
        sorted(
            resource_id
            for resource_id, sighting in inventory.sightings.items()
            if sighting.resource.owner_tag is None
            and resource_id not in partial
            and not _hangs_on_tagged(inventory, sighting.resource)
            and (sighting.resource.zone, sighting.resource.slot.kind) == (zone, kind)
        )
    )


def _hangs_on_tagged(inventory: Inventory, resource: Resource) -> bool:
    owner = inventory.resource(resource.owner) if resource.owner else None
    return owner is not None and owner.owner_tag is not None


def is_moving(machine: Machine) -> bool:
    """Tell whether an observation of this machine may soon show something new."""
    return (
        machine.phase in _MOVING
        or machine.health.doubt is not None
        or any(asked.call_state is CallState.OPEN for asked in machine.asked)
    )


def is_unfinished(machine: Machine) -> bool:
    """Tell whether calls are left until this machine is switched on for the first time."""
    return machine.phase is Phase.STARTING and not any(
        asked.shows is Shows.POWER and asked.call_state is CallState.DONE for asked in machine.asked
    )


def _is_older(begun: datetime | None, now: datetime, limit: timedelta) -> bool:
    """Tell whether an observation is as old as that; none, and one from the future, is."""
    return begun is None or begun > now or now - begun >= limit


def _main_scopes(
    provider: Provider, zone: Zone, moving: list[Machine], inventory: Inventory
) -> list[Scope]:
    """Return observations of single machines, or one whole listing where that costs less.

    Where hosts are asked one by one for their power, a listing asks those of everybody else too:
    never for these.
    """
    close = [scope for m in moving if (scope := close_scope(m, provider.capabilities, zone))]
    if not close:
        return []
    whole = Scope(zone, provider.capabilities.main.kind)
    by_hosts = scopes_of_hosts((whole,), provider.capabilities) != (whole,)
    one_by_one = by_hosts and provider.capabilities.power is not None
    if one_by_one or requests_for(provider, close, inventory) < requests_for(
        provider, [whole], inventory
    ):
        return close
    return [replace(whole, known=_unmarked(inventory, zone, whole.kind))]


def requests_for(provider: Provider, scopes: Sequence[Scope], inventory: Inventory) -> int:
    """Return how many requests these observations take: a whole listing takes one for each page."""
    listed = {(scope.zone, scope.kind) for scope in scopes if scope.machine is None}
    resources = Counter(
        (s.resource.zone, s.resource.slot.kind) for s in inventory.sightings.values() if listed
    )
    pages = {key: 1 + resources[key] // provider.capabilities.page for key in listed}
    return sum(
        provider.cost(scope) * (1 if scope.machine else pages[scope.zone, scope.kind])
        for scope in scopes
    )


def close_scope(machine: Machine, capabilities: Capabilities, zone: Zone) -> Scope | None:
    """Return the observation of this machine's main resource alone; None where it is elsewhere."""
    if machine.offer.zone != zone or (capabilities.hosts and machine.host is None):
        return None
    known = tuple(k.id for k in machine.place(capabilities.main).known if not k.deleted)
    if capabilities.hosts and machine.host is not None:
        known = tuple(dict.fromkeys((*known, allocation_of(machine.host, machine.id))))
    return Scope(zone, capabilities.main.kind, machine.id, known)
