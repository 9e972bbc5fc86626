"""View: what is known of an account from all looks so far, each fact with the time of its look."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hostler.domain.ids import MachineId, PartId, Zone

from .resource import Look, Looked, Mark, Part

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A part as it stands, and when a look began that showed it so; the view knows of later ones.

    As long as looks show the same, the same object stays: whoever remembers it can tell by that.
    """

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

    def shown(self, sighting: Sighting) -> datetime:
        """Return when the newest look began that showed a part.

        What a whole listing did not show, and nothing later, is no longer in the view: so whatever
        is, was shown by the newest one at least.
        """
        whole = self.whole.get((sighting.part.zone, sighting.part.slot.kind))
        return sighting.seen if whole is None else max(whole, sighting.seen)

    def part(self, part: PartId) -> Part | None:
        """Return the part as last seen, or None where the newest looks do not show it."""
        sighting = self.sightings.get(part)
        return sighting.part if sighting else None


_KEPT = timedelta(hours=1)
"""How long looks at single machines are remembered: whole ones have long said the same."""


def merge(view: View, look: Look) -> View:
    """Return the view after one more look; what a complete scope no longer shows is dropped.

    Where nothing is otherwise than before, the parts' own objects stay, and so do their mappings.
    """
    shown = {part.id for part in look.parts}
    sightings = _changed(view, look, shown)
    whole, failed = dict(view.whole), dict(view.failed)
    close, missing = _young(view.close, look), _young(view.missing, look)
    for looked in look.looked:
        _note_scope(looked, (whole, close, missing, failed), shown)
    return View(
        sightings=sightings,
        marked=_marked(view, sightings),
        whole=whole,
        close=close,
        missing=missing,
        lacking={part: view.lacking.get(part, at) for part, at in missing.items()},
        failed=failed,
    )


def _changed(view: View, look: Look, shown: set[PartId]) -> Mapping[PartId, Sighting]:
    """Return the sightings after a look: the same mapping if none is new, other, later or gone."""
    begun_for = _beginnings(look.looked)
    # Whole listings tell by themselves when they showed a part.
    all_whole = all(entry.complete and entry.scope.machine is None for entry in look.looked)
    news, older = dict[PartId, Sighting](), view.sightings
    for part in look.parts:
        sighting = older.get(part.id)
        if sighting is not None and (sighting.part is part or sighting.part == part):
            if all_whole or view.shown(sighting) >= begun_for(part):
                continue
            part = sighting.part  # noqa: PLW2901 - the same, and its own object stays
        begun = begun_for(part)
        if sighting is None or view.shown(sighting) <= begun:
            news[part.id] = Sighting(part, begun)
    gone = _vanished(view, look, shown)
    if not news and not gone:
        return older
    return {part: s for part, s in {**older, **news}.items() if part in news or part not in gone}


def _marked(
    view: View, sightings: Mapping[PartId, Sighting]
) -> Mapping[MachineId, tuple[PartId, ...]]:
    """Return the ids by machine: the same mapping if no mark and no owner is another."""
    if sightings is view.sightings:
        return view.marked
    if len(sightings) == len(view.sightings):
        pairs = ((s.part, view.sightings.get(part)) for part, s in sightings.items())
        if all(older is not None and _whose(part) == _whose(older.part) for part, older in pairs):
            return view.marked
    return _by_machine(sightings)


def _whose(part: Part) -> tuple[Mark | None, PartId | None]:
    return (part.mark, part.owner)


TimedT = TypeVar("TimedT", bound=Hashable)


def _young(times: Mapping[TimedT, datetime], look: Look) -> dict[TimedT, datetime]:
    """Return the times that are not long past at the beginning of a look."""
    first = min((looked.begun for looked in look.looked), default=_NEVER)
    oldest = first - _KEPT if first > _NEVER else first
    return {what: at for what, at in times.items() if at >= oldest}


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


def _vanished(view: View, look: Look, shown: set[PartId]) -> set[PartId]:
    """Return the parts that the complete scopes of this look should have shown, and did not."""
    whole = dict[tuple[Zone, str], datetime]()
    alone = dict[PartId, datetime]()
    for looked in look.looked:
        scope = looked.scope
        if looked.complete and scope.machine is None:
            whole[scope.zone, scope.kind] = looked.begun
        elif looked.complete:
            alone |= dict.fromkeys(scope.known, looked.begun)
    gone = {part for part, at in alone.items() if _is_older(view, part, at)} - shown
    if whole:
        for part_id, sighting in view.sightings.items():
            if part_id not in shown:
                listed = whole.get((sighting.part.zone, sighting.part.slot.kind))
                if listed is not None and view.shown(sighting) <= listed:
                    gone.add(part_id)
    return gone


def _is_older(view: View, part: PartId, at: datetime) -> bool:
    sighting = view.sightings.get(part)
    return sighting is not None and view.shown(sighting) <= at


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
