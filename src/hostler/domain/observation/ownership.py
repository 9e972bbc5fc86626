"""Whose: which parts in a fleet's name are ours, which are late, unexplained, or foreign?"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, PartId
from hostler.domain.model.inventory import View
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """The parts under a fleet's name that no living record of it explains.

    `strangers` carry our mark and the id of a machine that is not among the living: the caller
    asks the history which of them are `late`, and which are unexplained.
    """

    foreign: tuple[Part, ...] = ()
    strangers: tuple[Part, ...] = ()

    def machines(self) -> tuple[MachineId, ...]:
        """Return the machines that strangers name, in order."""
        return tuple(sorted({part.mark.machine for part in self.strangers if part.mark}))


def sort_out(
    view: View,
    fleet: FleetName,
    living: Collection[MachineId],
    bound: Callable[[], Collection[PartId]],
    ours: Collection[InstallationId],
) -> Sorted:
    """Return what in the view carries this fleet's name and is explained by no living record.

    `bound` is asked for the ids in living records only where there is a part to compare with them.
    """
    foreign, strangers = list[Part](), list[Part]()
    candidates = tuple(_marked_for(view, fleet, living))
    explained = bound() if candidates else ()
    for part in candidates:
        if part.id in explained or part.mark is None:
            continue
        (strangers if part.mark.installation in ours else foreign).append(part)
    key = _by_place
    return Sorted(
        foreign=tuple(sorted(foreign, key=key)), strangers=tuple(sorted(strangers, key=key))
    )


def bound_in(machines: Iterable[Machine]) -> frozenset[PartId]:
    """Return every id that is or was some machine's and is not confirmed gone."""
    return frozenset(part for machine in machines for part in machine.ids())


def _by_place(part: Part) -> tuple[str, str]:
    return (str(part.slot), part.id)


def _marked_for(view: View, fleet: FleetName, living: Collection[MachineId]) -> Iterator[Part]:
    for machine, ids in view.marked.items():
        if machine in living:
            continue
        for part_id in ids:
            part = _with_owners_mark(view, part_id)
            if part.mark is not None and part.mark.fleet == fleet:
                yield part


def _with_owners_mark(view: View, part_id: PartId) -> Part:
    part = view.sightings[part_id].part
    if part.mark is not None or part.owner is None:
        return part
    owner = view.part(part.owner)
    mark = owner.mark if owner is not None else None
    return replace(part, mark=mark)
