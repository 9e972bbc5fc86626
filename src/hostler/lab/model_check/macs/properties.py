"""Properties: what must hold in every state of the small world, and where it may come to rest."""

from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import HostId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Stage
from hostler.lab.macs.names import read_name

from .calls import HOSTS, POOL, READY
from .installation import Side
from .model import World
from .values import Box, State


class Properties:
    """Judges states; what depends on one side alone is judged once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._unbound = dict[int, str]()
        self._calm = dict[tuple[int, int], bool]()
        self._reported_hosts = dict[tuple[int, int], frozenset[HostId]]()
        self._still = dict[int, frozenset[HostId] | None]()

    def wrong(self, state: State) -> str:
        """Return what is wrong in a state, or an empty string."""
        boxes = self._world.boxes[state.boxes]
        for host, box in enumerate(boxes):
            holders = self._world.holders(state, host)
            if len(holders) > 1 and not (box.torn or box.double):
                reported = " and by ".join(machine for _, machine in holders)
                return f"S13: {HOSTS[host]} is held by {reported}"
        for side in state.sides:
            if side not in self._unbound:
                self._unbound[side] = _unbound(self._world.sides[side])
            if self._unbound[side]:
                return self._unbound[side]
        return ""

    def rests(self, state: State) -> bool:
        """Tell whether every request is met or answered, every host explained, nothing under way.

        A host under a name of ours is a ready machine's, or the ledger tells of it.
        """
        if state.late or (named := self._named(state.boxes)) is None:
            return False
        views = [(side, self._world.seen_by(n, state.boxes)) for n, side in enumerate(state.sides)]
        if not all(self._is_calm(side, boxes) for side, boxes in views):
            return False
        return named <= {host for side, boxes in views for host in self._explained(side, boxes)}

    def _named(self, boxes: int) -> frozenset[HostId] | None:
        """Return the hosts that bear names of ours; None while one is being wiped."""
        if boxes not in self._still:
            every = self._world.boxes[boxes]
            named = (HOSTS[n] for n, box in enumerate(every) if read_name(box.name) is not None)
            still = all(box.status == READY for box in every)
            self._still[boxes] = frozenset(named) if still else None
        return self._still[boxes]

    def _is_calm(self, number: int, boxes: int) -> bool:
        key = (number, boxes)
        if key not in self._calm:
            side, here = self._world.sides[number], self._world.boxes[boxes]
            self._calm[key] = _is_calm(side, self._world.setting.size, here)
        return self._calm[key]

    def _explained(self, number: int, boxes: int) -> frozenset[HostId]:
        """Return the hosts that a ready machine has, or that the next observation calls orphans."""
        key = (number, boxes)
        if key not in self._reported_hosts:
            side, one = self._world.sides[number], self._world.one
            observed = one.actor.observe(side, one.sightings(boxes, side))
            reported = (HostId(resource.id) for resource in one.actor.stranded(observed))
            held = (m.host for m in (*_ready(side), *_holding(side)) if m.host is not None)
            self._reported_hosts[key] = frozenset((*reported, *held))
        return self._reported_hosts[key]


def _ready(side: Side) -> list[Machine]:
    return [m for m in side.machines if m.phase is Phase.READY and m.health.doubt is None]


def _holding(side: Side) -> list[Machine]:
    """Return the machines that do nothing more, for somebody else may use their hosts: it is told.

    The program waits for the bound of their start, which is not in this world.
    """
    return [m for m in side.machines if m.fact(CLAIMED_TWICE) is not None and m not in _ready(side)]


def _unbound(side: Side) -> str:
    """Return which machine is ready on a host that it never claimed, or an empty string."""
    for machine in side.machines:
        if machine.phase is Phase.READY and side.binding(machine.host or HostId("")) != machine.id:
            return f"S13: {machine.id} is ready, and has no binding to a host ({machine.host})"
    return ""


def _is_calm(side: Side, size: int, boxes: tuple[Box, ...]) -> bool:
    """Tell whether a side has what it wants, or says why not, and nothing is under way."""
    if side.tasks or side.observed or any(host.goal is not None for host in side.hosts):
        return False
    if any(m.phase is not Phase.STARTING for m in _holding(side)):
        return False
    if (size if side.row.size is None else side.row.size) == 0:
        return not side.machines and not side.bindings
    ready = _ready(side)
    if not all(_is_intact(machine, boxes) for machine in ready):
        return False
    waits = sum(
        m.phase in {Phase.STARTING, Phase.PENDING} and m.host is None for m in side.machines
    )
    explained = side.row.condition == Reason.NO_AVAILABLE_HOST
    left = any(box.name.startswith(POOL) for box in boxes)
    if _holding(side):
        return True
    return len(ready) == size or (not left and (explained or len(ready) + waits == size))


def _is_intact(machine: Machine, boxes: tuple[Box, ...]) -> bool:
    """Tell whether a ready machine's host bears its name, or was taken from it by a person."""
    host = machine.host
    if host is None:
        return False
    box = boxes[HOSTS.index(host)]
    name = read_name(box.name)
    bears = name is not None and name.stage is Stage.CLAIMED and name.machine == machine.id
    return bears or box.torn or box.double
