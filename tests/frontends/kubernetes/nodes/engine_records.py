"""An engine's records of one fleet, and its store, as tests set them."""

from dataclasses import dataclass, field

from hostler.config.node_tables import ManagedTable, NodeTable, TaintTable
from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request
from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import FLEET, HOME, machine

ONE = machine(1)
TABLE = NodeTable(
    labels={"pool": "web"},
    taints=(TaintTable(key="web", effect="NoSchedule", value="yes"),),
    managed=ManagedTable(annotations={"note": "ours"}),
)


def node_id(one: Machine) -> str:
    return f"hostler://test/{one.id}"


@dataclass
class Records:
    """What the engine knows: its living machines, and whether it leads."""

    living: list[Machine] = field(default_factory=lambda: [ONE])
    leads: bool = True

    def machines(self) -> tuple[Machine, ...] | None:
        return tuple(self.living)

    def provider_id(self, machine: Machine) -> str | None:
        return node_id(machine)


class History(MemoryStore):
    """A store that also knows machines that tests put there, and which requests were written."""

    def __init__(self) -> None:
        super().__init__(HOME)
        self.ended = dict[MachineId, Machine]()
        self.written = list[Request]()

    async def machine(self, machine: MachineId) -> Machine | None:
        return self.ended.get(machine)

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        self.written += requests
        return requests


def attached(records: Records, store: History, table: NodeTable = TABLE) -> Attached:
    fleet = ManagedFleet(fleet=FLEET, table=table, records=records)
    return Attached(fleets=(fleet,), store=store, installation=HOME)
