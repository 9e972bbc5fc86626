"""Smalljudge: what must hold in every state of the small world, and where it may come to rest."""

from hostler.domain.ids import HostId
from hostler.domain.machine import Machine
from hostler.domain.phases import Phase
from hostler.domain.reasons import Reason
from hostler.providers.scaleway.macs.names import Stage, name_of

from .smalldeeds import HOSTS, POOL, READY
from .smallside import Side
from .smallvalues import Box, State
from .smallworld import World


class Judge:
    """Judges states; what depends on one side alone is judged once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._untied = dict[int, str]()
        self._calm = dict[tuple[int, int, int], bool]()
        self._told = dict[tuple[int, int], frozenset[HostId]]()

    def wrong(self, state: State) -> str:
        """Return what is wrong in a state, or an empty string."""
        boxes = self._world.boxes[state.boxes]
        for host, box in enumerate(boxes):
            holders = self._world.holders(state, host)
            if len(holders) > 1 and not (box.torn or box.double):
                return f"S13: {HOSTS[host]} is held by {' and by '.join(holders)}"
        for side in state.sides:
            if side not in self._untied:
                self._untied[side] = _untied(self._world.sides[side])
            if self._untied[side]:
                return self._untied[side]
        return ""

    def rests(self, state: State) -> bool:
        """Tell whether every wish is met or told why not, every host explained, nothing under way.

        A host under a name of ours is a ready machine's, or the ledger tells of it.
        """
        boxes = self._world.boxes[state.boxes]
        if state.late or any(box.status != READY for box in boxes):
            return False
        if not all(self._is_calm(place, n, state.boxes) for place, n in enumerate(state.sides)):
            return False
        named = {HOSTS[n] for n, box in enumerate(boxes) if name_of(box.name) is not None}
        return named <= self._explained(state)

    def _is_calm(self, place: int, number: int, boxes: int) -> bool:
        key = (place, number, boxes)
        if key not in self._calm:
            side, here = self._world.sides[number], self._world.boxes[boxes]
            self._calm[key] = _is_calm(side, self._world.setting.size, here)
        return self._calm[key]

    def _explained(self, state: State) -> set[HostId]:
        found = set[HostId]()
        for place, number in enumerate(state.sides):
            key = (place, number)
            if key not in self._told:
                side, actor = self._world.sides[number], self._world.actors[place]
                told = frozenset(HostId(part.id) for part in actor.stranded(side))
                held = frozenset(m.host for m in _ready(side) if m.host is not None)
                self._told[key] = told | held
            found |= self._told[key]
        return found


def _ready(side: Side) -> list[Machine]:
    return [m for m in side.machines if m.phase is Phase.READY and m.doubt is None]


def _untied(side: Side) -> str:
    """Return which machine is ready on a host that it never claimed, or an empty string."""
    for machine in side.machines:
        if machine.phase is Phase.READY and side.tie(machine.host or HostId("")) != machine.id:
            return f"S13: {machine.id} is ready, and has no tie to a host ({machine.host})"
    return ""


def _is_calm(side: Side, size: int, boxes: tuple[Box, ...]) -> bool:
    """Tell whether a side has what it wants, or says why not, and nothing is under way."""
    if side.tasks or side.looked or any(host.goal is not None for host in side.hosts):
        return False
    if (size if side.row.size is None else side.row.size) == 0:
        return not side.machines and not side.ties
    ready = _ready(side)
    if not all(_stands(machine, boxes) for machine in ready):
        return False
    waits = sum(m.phase in {Phase.STARTING, Phase.WANTED} and m.host is None for m in side.machines)
    said = side.row.condition == Reason.NO_AVAILABLE_HOST
    left = any(box.name.startswith(POOL) for box in boxes)
    return len(ready) == size or (not left and (said or len(ready) + waits == size))


def _stands(machine: Machine, boxes: tuple[Box, ...]) -> bool:
    """Tell whether a ready machine's host bears its name, or was taken from it by a person."""
    host = machine.host
    if host is None:
        return False
    box = boxes[HOSTS.index(host)]
    name = name_of(box.name)
    bears = name is not None and name.stage is Stage.CLAIMED and name.machine == machine.id
    return bears or box.torn or box.double
