"""View: what is known of an account from all looks so far, each fact with the time of its look."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .ids import MachineId, PartId, Zone
from .parts import Look, Looked, Part, Scope


@dataclass(frozen=True, slots=True)
class Sighting:
    """A part, and when the look began that last showed it."""

    part: Part
    seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The newest word on every part and scope; a value: merging makes a new one.

    `whole` holds when the newest complete listing of a zone and kind began, `close` the same for
    looks at one machine, `missing` when an id was asked for by itself and was not there.
    """

    sightings: Mapping[PartId, Sighting] = field(default_factory=dict[PartId, Sighting])
    marked: Mapping[MachineId, tuple[PartId, ...]] = field(
        default_factory=dict[MachineId, tuple[PartId, ...]]
    )
    whole: Mapping[tuple[Zone, str], datetime] = field(
        default_factory=dict[tuple[Zone, str], datetime]
    )
    close: Mapping[tuple[MachineId, str], datetime] = field(
        default_factory=dict[tuple[MachineId, str], datetime]
    )
    missing: Mapping[PartId, datetime] = field(default_factory=dict[PartId, datetime])
    failed: Mapping[tuple[Zone, str], Looked] = field(
        default_factory=dict[tuple[Zone, str], Looked]
    )

    def covered(self, zone: Zone, kind: str, machine: MachineId) -> datetime | None:
        """Return when the newest look began that was complete for a machine's parts of a kind."""
        whole, close = self.whole.get((zone, kind)), self.close.get((machine, kind))
        if whole is None or close is None:
            return whole or close
        return max(whole, close)

    def part(self, part: PartId) -> Part | None:
        """Return the part as last seen, or None where the newest looks do not show it."""
        sighting = self.sightings.get(part)
        return sighting.part if sighting else None


def merge(view: View, look: Look) -> View:
    """Return the view after one more look; what a complete scope no longer shows is dropped."""
    begun = {looked.scope: looked for looked in look.looked}
    sightings = _without_vanished(view, begun)
    for part in look.parts:
        seen = _begun_for(part, look.looked)
        older = sightings.get(part.id)
        if older is None or older.seen <= seen:
            sightings[part.id] = Sighting(part, seen)
    whole, close = dict(view.whole), dict(view.close)
    missing, failed = dict(view.missing), dict(view.failed)
    shown = {part.id for part in look.parts}
    for looked in look.looked:
        _note_scope(looked, (whole, close, missing, failed), shown)
    return View(
        sightings=sightings,
        marked=_by_machine(sightings),
        whole=whole,
        close=close,
        missing=missing,
        failed=failed,
    )


_Times = tuple[
    dict[tuple[Zone, str], datetime],
    dict[tuple[MachineId, str], datetime],
    dict[PartId, datetime],
    dict[tuple[Zone, str], Looked],
]


def _note_scope(looked: Looked, times: _Times, shown: set[PartId]) -> None:
    whole, close, missing, failed = times
    scope = looked.scope
    if scope.machine is None:
        if looked.complete:
            whole[scope.zone, scope.kind] = looked.begun
            failed.pop((scope.zone, scope.kind), None)
        else:
            failed[scope.zone, scope.kind] = looked
        return
    if looked.complete:
        close[scope.machine, scope.kind] = looked.begun
        for part in scope.known:
            if part in shown:
                missing.pop(part, None)
            else:
                missing[part] = looked.begun


def _begun_for(part: Part, looked: tuple[Looked, ...]) -> datetime:
    """Return when the look began that showed this part: the latest scope that it fits."""
    return max(
        entry.begun
        for entry in looked
        if entry.scope.zone == part.zone and entry.scope.kind == part.slot.kind
    )


def _without_vanished(view: View, begun: Mapping[Scope, Looked]) -> dict[PartId, Sighting]:
    """Return the sightings that the complete scopes of this look do not contradict."""
    whole = {
        (scope.zone, scope.kind): looked.begun
        for scope, looked in begun.items()
        if scope.machine is None and looked.complete
    }
    asked = {
        part: looked.begun
        for scope, looked in begun.items()
        if scope.machine is not None and looked.complete
        for part in scope.known
    }
    if not whole and not asked:
        return dict(view.sightings)
    kept = dict[PartId, Sighting]()
    for part_id, sighting in view.sightings.items():
        part = sighting.part
        listed = whole.get((part.zone, part.slot.kind))
        alone = asked.get(part_id)
        if listed is not None and sighting.seen <= listed:
            continue
        if alone is not None and sighting.seen <= alone:
            continue
        kept[part_id] = sighting
    return kept


def _by_machine(sightings: Mapping[PartId, Sighting]) -> dict[MachineId, tuple[PartId, ...]]:
    """Return the ids by the machine that their mark names, or that their owner's mark names."""
    found = dict[MachineId, list[PartId]]()
    for part_id, sighting in sightings.items():
        mark = sighting.part.mark
        owner = sighting.part.owner
        if mark is None and owner is not None and owner in sightings:
            mark = sightings[owner].part.mark
        if mark is not None:
            found.setdefault(mark.machine, []).append(part_id)
    return {machine: tuple(sorted(ids)) for machine, ids in found.items()}
