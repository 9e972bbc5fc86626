"""View: what is known of an account from all looks so far, each fact with the time of its look."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .ids import MachineId, PartId, Zone
from .parts import Look, Looked, Part, Scope

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A part, and when the look began that last showed it."""

    part: Part
    seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The newest word on every part and scope; a value: merging makes a new one.

    `whole` holds when the newest complete listing of a zone and kind began, `close` the same for
    looks at one machine, `missing` when an id was asked for by itself and was not there, `lacking`
    since when it never was, as often as it was asked for.
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
    lacking: Mapping[PartId, datetime] = field(default_factory=dict[PartId, datetime])
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
    begun_for = _beginnings(look.looked)
    for part in look.parts:
        seen = begun_for(part)
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
        lacking={part: view.lacking.get(part, at) for part, at in missing.items()},
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


def _beginnings(looked: tuple[Looked, ...]) -> Callable[[Part], datetime]:
    """Return what tells when the look began that showed a part: the earliest scope that fits it.

    A part that came along with other kinds was seen when the whole look began.
    """
    whole, close = dict[tuple[Zone, str], datetime](), dict[tuple[MachineId, str], datetime]()
    alone = dict[PartId, datetime]()
    for entry in looked:
        scope = entry.scope
        if scope.machine is None:
            whole.setdefault((scope.zone, scope.kind), entry.begun)
            continue
        close.setdefault((scope.machine, scope.kind), entry.begun)
        for part in scope.known:
            alone.setdefault(part, entry.begun)
    first = min((entry.begun for entry in looked), default=_NEVER)

    def begun(part: Part) -> datetime:
        kind = part.slot.kind
        times = [whole.get((part.zone, kind)), alone.get(part.id)]
        times += [close.get((part.mark.machine, kind))] if part.mark is not None else []
        return min((at for at in times if at is not None), default=first)

    return begun


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
