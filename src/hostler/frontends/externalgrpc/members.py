"""Members: the machines of one node group as Cluster Autoscaler counts and names them.

An increase that was accepted is in the target at once, and a deletion out of it, before the engine
has read either.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from hostler.config.node_tables import NodeTable
from hostler.domain.ids import MachineId
from hostler.domain.machines.retry import may_retry
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.queries.live import LiveRecords
from hostler.queries.nodes import provider_id_of
from hostler.requests.by_id import MachinesById

from .calls import Instance, NodeRef, State, Trouble

_OUT_OF_RESOURCES, _OTHER = 1, 99
_COMING = frozenset({Phase.PENDING, Phase.STARTING})
_ENDING = frozenset({Phase.STOPPING, Phase.FAILED})
STALE = 0.1
"""Seconds after which members are gathered again, if nothing was asked for meanwhile."""

ROOM = 1.0
"""Seconds after which it is counted again how many hosts there are: people hold them, seldom."""


class Member(Struct, frozen=True, kw_only=True):
    """One machine, on record or only requested; `id` is its instance's, and its node's providerID.

    `counts` says whether it is in the target, `came` whether it was ever ready, `leaves` whether
    its deletion is asked for, and `serial` is its place in the order of creation.
    """

    machine: MachineId
    id: str
    names: tuple[str, ...]
    state: State
    counts: bool
    came: bool
    leaves: bool
    serial: int
    price: float = 0.0
    trouble: Trouble | None = None

    @property
    def instance(self) -> Instance:
        """What is answered of it."""
        return Instance(self.id, self.state, self.trouble)


def own_id(fleet: str, machine: str) -> str:
    """Return the id of an instance of which no provider knows yet."""
    return f"hostler:///{fleet}/{machine}"


@dataclass(slots=True)
class Members:
    """All members at one moment, found by the ids and names of their nodes."""

    all: tuple[Member, ...]
    by_id: dict[str, Member] = field(default_factory=dict[str, Member])
    by_name: dict[str, Member] = field(default_factory=dict[str, Member])

    def __post_init__(self) -> None:
        """Index them; of two with the same name the newer one has it."""
        for member in self.all:
            self.by_id[member.id] = member
            for name in member.names:
                self.by_name[name] = member

    @property
    def target(self) -> int:
        """How many there are or will be."""
        return sum(member.counts for member in self.all)

    def find(self, node: NodeRef) -> Member | None:
        """Return whose node this is: by its providerID if it has one, else by its name."""
        if node.provider_id:
            return self.by_id.get(node.provider_id) or self.by_name.get(node.provider_id)
        return self.by_name.get(node.name)


class Gathering:
    """Gathers the members of one fleet from the engine's memory, and has them for a moment.

    A machine that runs, and whose record is the same one as before, is the same member.
    """

    def __init__(
        self,
        machines: MachinesById,
        live: LiveRecords,
        node: NodeTable,
        time: Callable[[], float],
    ) -> None:
        """Gather of these records; `time` is in seconds and never goes back."""
        self._machines, self._live, self._node, self._time = machines, live, node, time
        self._last: tuple[float, Members] | None = None
        self._room: tuple[float, int | None] | None = None
        self._running = dict[MachineId, tuple[Machine, Member]]()

    def forget(self) -> None:
        """Gather again at the next question: something was asked for."""
        self._last = self._room = None

    def members(self) -> Members:
        """Return the members."""
        now = self._time()
        if self._last is None or now - self._last[0] >= STALE:
            self._last = (now, Members(tuple(self._gathered())))
        return self._last[1]

    def room(self) -> int | None:
        """Return on how many hosts members are or may come; None where more can be made."""
        now = self._time()
        if self._room is None or now - self._room[0] >= ROOM:
            by_id = self._machines
            self._room = (now, self._live.room(by_id.fleet, by_id.clock.now()))
        return self._room[1]

    def _gathered(self) -> Iterator[Member]:
        by_id = self._machines
        machines = by_id.recorded()
        known = {machine.id for machine in machines}
        by_id.deleting &= known | by_id.requested.keys()
        trouble = self._no_offer()
        before, self._running = self._running, dict[MachineId, tuple[Machine, Member]]()
        for machine in sorted(machines, key=lambda one: one.serial):
            known_as = before.get(machine.id)
            same = known_as is not None and known_as[0] is machine
            if same and known_as is not None and machine.id not in by_id.deleting:
                self._running[machine.id] = known_as
                yield known_as[1]
            elif (member := self._member(machine, trouble)) is not None:
                if member.state is State.RUNNING and member.id not in member.names:
                    self._running[machine.id] = (machine, member)
                yield member
        newest = max((machine.serial for machine in machines), default=0)
        for place, name in enumerate(by_id.requested, start=newest + 1):
            if name not in known:
                yield self._requested(name, place)

    def _member(self, machine: Machine, no_offer: Trouble | None) -> Member | None:
        """Return a machine as a member; None where it neither counts nor has a node."""
        fleet, now = self._machines.fleet, self._machines.clock.now()
        deleted = machine.deletion is not None or machine.id in self._machines.deleting
        again = machine.phase in _ENDING and may_retry(machine, fleet, now)
        if deleted or not (machine.wanted or again):
            if machine.phase in {Phase.STANDBY, Phase.DELETED}:
                return None
            state = State.DELETING
        elif machine.phase is Phase.READY:
            state = State.RUNNING
        else:
            state = State.CREATING
        mine = own_id(fleet.name, machine.id)
        id_ = self._provider_id(machine) or mine
        return Member(
            machine=machine.id,
            id=id_,
            names=tuple(filter(None, (machine.id, machine.host, mine))),
            state=state,
            counts=state is not State.DELETING,
            came=machine.health.was_ready is not None,
            leaves=deleted,
            serial=machine.serial,
            price=machine.billing.price,
            trouble=no_offer if machine.phase is Phase.PENDING and not deleted else None,
        )

    def _requested(self, name: MachineId, serial: int) -> Member:
        deleted = name in self._machines.deleting
        mine = own_id(self._machines.fleet.name, name)
        return Member(
            machine=name,
            id=mine,
            names=(name, mine),
            state=State.DELETING if deleted else State.CREATING,
            counts=not deleted,
            came=False,
            leaves=deleted,
            serial=serial,
        )

    def _provider_id(self, machine: Machine) -> str | None:
        """Return the providerID that a machine's node has, as far as it can be known by now."""
        return provider_id_of(machine, self._node.provider_id, self._live)

    def _no_offer(self) -> Trouble | None:
        """Return why no machine can begin now: every offer failed lately; None where one may."""
        fleet, row = self._machines.fleet, self._machines.row()
        setbacks = [row.setback(offer) for offer in fleet.offers]
        now = self._machines.clock.now()
        found = [setback for setback in setbacks if setback is not None and now < setback.until]
        if not found or len(found) < len(setbacks):
            return None
        stock = all(setback.stock for setback in found)
        text = "; ".join(f"{setback.offer}: {setback.why}" for setback in found)
        return Trouble(
            code="OUT_OF_STOCK" if stock else "CANNOT_START",
            text=text[:500],
            kind=_OUT_OF_RESOURCES if stock else _OTHER,
        )
