"""Inventory: what all observations of an account say so far, each fact with its time."""

from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct, field

from hostler.domain.ids import MachineId, ResourceId, Zone

from .resource import Observation, ObservedScope, OwnerTag, PartialTag, Resource

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Sighting(Struct, frozen=True, gc=False):
    """A resource as it stands, and when an observation began that showed it so.

    As long as observations show the same, the same object stays: whoever remembers it can tell by
    that.
    """

    resource: Resource
    observed: datetime


class Inventory(Struct, frozen=True, kw_only=True):
    """The newest word on every resource and scope; a value: merging makes a new one.

    `partial` are the ids of what carries a part of an owner tag, or hangs on what does, and no
    whole one. `whole` holds when the newest complete listing of a zone and kind began, `close` the
    same for observations of one machine, `missing` when an id was asked for by itself and was not
    there, `lacking` since when it never was, as often as it was asked for.
    """

    sightings: Mapping[ResourceId, Sighting] = field(default_factory=dict[ResourceId, Sighting])
    tagged: Mapping[MachineId, tuple[ResourceId, ...]] = field(
        default_factory=dict[MachineId, tuple[ResourceId, ...]]
    )
    partial: tuple[ResourceId, ...] = ()
    whole: Mapping[tuple[Zone, str], datetime] = field(
        default_factory=dict[tuple[Zone, str], datetime]
    )
    close: Mapping[tuple[MachineId, str], datetime] = field(
        default_factory=dict[tuple[MachineId, str], datetime]
    )
    missing: Mapping[ResourceId, datetime] = field(default_factory=dict[ResourceId, datetime])
    lacking: Mapping[ResourceId, datetime] = field(default_factory=dict[ResourceId, datetime])
    failed: Mapping[tuple[Zone, str], ObservedScope] = field(
        default_factory=dict[tuple[Zone, str], ObservedScope]
    )

    def covered(self, zone: Zone, kind: str, machine: MachineId) -> datetime | None:
        """Return when the newest observation began that was complete for a machine and kind."""
        whole, close = self.whole.get((zone, kind)), self.close.get((machine, kind))
        if whole is None or close is None:
            return whole or close
        return max(whole, close)

    def observed_at(self, sighting: Sighting) -> datetime:
        """Return when the newest observation began that showed a resource.

        What a whole listing did not show, and nothing later, is no longer in the inventory: so
        whatever is, was shown by the newest one at least.
        """
        whole = self.whole.get((sighting.resource.zone, sighting.resource.slot.kind))
        return sighting.observed if whole is None else max(whole, sighting.observed)

    def resource(self, resource: ResourceId) -> Resource | None:
        """Return the resource as last seen, or None where newer observations lack it."""
        sighting = self.sightings.get(resource)
        return sighting.resource if sighting else None


_KEPT = timedelta(hours=1)
"""How long observations of single machines are remembered: whole ones have long said the same."""


def merge(inventory: Inventory, observation: Observation) -> Inventory:
    """Return the inventory after one more observation; what a complete scope lacks is dropped.

    Where nothing is otherwise than before, the resources' own objects stay, and so do their
    mappings.
    """
    present = {resource.id for resource in observation.resources}
    sightings = _changed(inventory, observation, present)
    whole, failed = dict(inventory.whole), dict(inventory.failed)
    close, missing = _young(inventory.close, observation), _young(inventory.missing, observation)
    for observed in observation.observed:
        _note_scope(observed, (whole, close, missing, failed), present)
    tagged, partial = _tagged(inventory, sightings)
    return Inventory(
        sightings=sightings,
        tagged=tagged,
        partial=partial,
        whole=whole,
        close=close,
        missing=missing,
        lacking={resource: inventory.lacking.get(resource, at) for resource, at in missing.items()},
        failed=failed,
    )


def _changed(
    inventory: Inventory, observation: Observation, present: set[ResourceId]
) -> Mapping[ResourceId, Sighting]:
    """Return the sightings after an observation: the same mapping if nothing changed."""
    begun_for = _beginnings(observation.observed)
    # Whole listings tell by themselves when they showed a resource.
    all_whole = all(
        entry.complete and entry.scope.machine is None for entry in observation.observed
    )
    news, older = dict[ResourceId, Sighting](), inventory.sightings
    for resource in observation.resources:
        sighting = older.get(resource.id)
        if sighting is not None and (
            sighting.resource is resource or sighting.resource == resource
        ):
            if all_whole or inventory.observed_at(sighting) >= begun_for(resource):
                continue
            resource = sighting.resource  # noqa: PLW2901 - the same, and its own object stays
        begun = begun_for(resource)
        if sighting is None or inventory.observed_at(sighting) <= begun:
            news[resource.id] = Sighting(resource, begun)
    vanished = _vanished(inventory, observation, present)
    if not news and not vanished:
        return older
    return {
        resource: s
        for resource, s in {**older, **news}.items()
        if resource in news or resource not in vanished
    }


_Tagged = tuple[Mapping[MachineId, tuple[ResourceId, ...]], tuple[ResourceId, ...]]


def _tagged(inventory: Inventory, sightings: Mapping[ResourceId, Sighting]) -> _Tagged:
    """Return the ids by machine, and those partly tagged: the same if no tag, no owner differs."""
    same = (inventory.tagged, inventory.partial)
    if sightings is inventory.sightings:
        return same
    if len(sightings) == len(inventory.sightings):
        pairs = (
            (s.resource, inventory.sightings.get(resource)) for resource, s in sightings.items()
        )
        if all(
            older is not None and _whose(resource) == _whose(older.resource)
            for resource, older in pairs
        ):
            return same
    return _by_machine(sightings)


def _whose(resource: Resource) -> tuple[OwnerTag | None, PartialTag | None, ResourceId | None]:
    return (resource.owner_tag, resource.partial_tag, resource.owner)


TimedT = TypeVar("TimedT", bound=Hashable)


def _young(times: Mapping[TimedT, datetime], observation: Observation) -> dict[TimedT, datetime]:
    """Return the times that are not long past at the beginning of an observation."""
    first = min((observed.begun for observed in observation.observed), default=_NEVER)
    oldest = first - _KEPT if first > _NEVER else first
    return {what: at for what, at in times.items() if at >= oldest}


_Times = tuple[
    dict[tuple[Zone, str], datetime],
    dict[tuple[MachineId, str], datetime],
    dict[ResourceId, datetime],
    dict[tuple[Zone, str], ObservedScope],
]


def _note_scope(observed: ObservedScope, times: _Times, present: set[ResourceId]) -> None:
    whole, close, missing, failed = times
    scope = observed.scope
    if scope.machine is None:
        if observed.complete:
            whole[scope.zone, scope.kind] = observed.begun
            failed.pop((scope.zone, scope.kind), None)
        else:
            failed[scope.zone, scope.kind] = observed
        return
    if observed.complete:
        if not scope.alone:
            close[scope.machine, scope.kind] = observed.begun
        for resource in scope.known:
            if resource in present:
                missing.pop(resource, None)
            else:
                missing[resource] = observed.begun


def _beginnings(observed: tuple[ObservedScope, ...]) -> Callable[[Resource], datetime]:
    """Return what tells when the observation began that showed a resource: the earliest that fits.

    A resource that came along with other kinds was seen when the whole observation began.
    """
    whole, close = dict[tuple[Zone, str], datetime](), dict[tuple[MachineId, str], datetime]()
    alone = dict[ResourceId, datetime]()
    for entry in observed:
        scope = entry.scope
        if scope.machine is None:
            whole.setdefault((scope.zone, scope.kind), entry.begun)
            continue
        if not scope.alone:
            close.setdefault((scope.machine, scope.kind), entry.begun)
        for resource in scope.known:
            alone.setdefault(resource, entry.begun)
    first = min((entry.begun for entry in observed), default=_NEVER)

    def begun(resource: Resource) -> datetime:
        kind = resource.slot.kind
        times = [whole.get((resource.zone, kind)), alone.get(resource.id)]
        times += (
            [close.get((resource.owner_tag.machine, kind))]
            if resource.owner_tag is not None
            else []
        )
        return min((at for at in times if at is not None), default=first)

    return begun


def _vanished(
    inventory: Inventory, observation: Observation, present: set[ResourceId]
) -> set[ResourceId]:
    """Return the resources that the complete scopes should have shown, and did not."""
    whole = dict[tuple[Zone, str], datetime]()
    alone = dict[ResourceId, datetime]()
    for observed in observation.observed:
        scope = observed.scope
        if observed.complete and scope.machine is None:
            whole[scope.zone, scope.kind] = observed.begun
        elif observed.complete:
            alone |= dict.fromkeys(scope.known, observed.begun)
    vanished = {
        resource for resource, at in alone.items() if _is_older(inventory, resource, at)
    } - present
    if whole:
        for resource_id, sighting in inventory.sightings.items():
            if resource_id not in present:
                listed = whole.get((sighting.resource.zone, sighting.resource.slot.kind))
                if listed is not None and inventory.observed_at(sighting) <= listed:
                    vanished.add(resource_id)
    return vanished


def _is_older(inventory: Inventory, resource: ResourceId, at: datetime) -> bool:
    sighting = inventory.sightings.get(resource)
    return sighting is not None and inventory.observed_at(sighting) <= at


def _by_machine(sightings: Mapping[ResourceId, Sighting]) -> _Tagged:
    """Return the ids by the machine that their owner tag, or their owner's, names.

    And those that only a part of an owner tag, or their owner's, says something of.
    """
    found, partial = dict[MachineId, list[ResourceId]](), list[ResourceId]()
    for resource_id, sighting in sightings.items():
        owner_tag, part = sighting.resource.owner_tag, sighting.resource.partial_tag
        owner = sighting.resource.owner
        if owner_tag is None and owner is not None and owner in sightings:
            owner_tag = sightings[owner].resource.owner_tag
            part = part or sightings[owner].resource.partial_tag
        if owner_tag is not None:
            found.setdefault(owner_tag.machine, []).append(resource_id)
        elif part is not None:
            partial.append(resource_id)
    tagged = {machine: tuple(sorted(ids)) for machine, ids in found.items()}
    return tagged, tuple(sorted(partial))
