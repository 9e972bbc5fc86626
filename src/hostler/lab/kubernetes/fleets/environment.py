"""The environment of Fleets: owned machines, and a cluster whose objects say what is wanted."""

from collections.abc import Collection
from random import Random

from hostler.config.values import AccountConfig, Config
from hostler.domain.ids import InstallationId, Zone
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.kubernetes.nodes.world import NodesWorld
from hostler.lab.kubernetes.shared_store import SharedStore
from hostler.lab.power.environment import PowerEnvironment
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import Disruption
from hostler.ports.kind import table_of
from hostler.ports.provider import Provider
from hostler.providers.power.settings import PowerTable
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .checker import FleetsChecker
from .objects import HOME, Objects, Space


class FleetsEnvironment(PowerEnvironment):
    """Boxes, and objects. Implements the lab's `Environment`, as `power` does."""

    fleets_checker: FleetsChecker
    objects: Objects
    nodes: NodesWorld | None = None
    _loop: SimLoop

    def __init__(self, scenario: ClusterScenario) -> None:
        super().__init__(scenario)
        self._cluster_scenario = scenario
        self.spaces = spaces_of(scenario)

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the rack and the cluster."""
        super().open(loop, rng)
        self._loop = loop
        nodes = self._cluster_scenario.nodes
        more = dict[str, object]() if nodes is None else nodes.spec
        random = Random(rng.getrandbits(64))
        self.objects = Objects(SimClock(loop), random, self.spaces, more)
        self.objects.gateway.faults.rates = self._cluster_scenario.api
        if nodes is not None:
            self.nodes = NodesWorld(self.objects, self.truth, nodes, self.base.seed)

    @property
    def clusters(self) -> tuple[NodesWorld, ...]:
        """The one whose Nodes the machines are, where they are any."""
        return () if self.nodes is None else (self.nodes,)

    def place_of(self, number: int) -> tuple[str, Zone]:
        """Return the box that a Host is: each namespace has its own, in a zone of its own."""
        space = next(one for one in self.spaces if number < one.first + one.boxes)
        return space.box(space.hosts[number - space.first]), space.zone

    def account(self, run: ProcessRun, account: AccountConfig) -> Provider:
        """Return an account with those boxes whose Hosts are in force."""
        return self.rack_of(run, boxes_of(account))

    def checker(self, trace: Trace) -> FleetsChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        made = FleetsChecker(self.truth, trace, delay, self._cluster_scenario)
        self.judge = self.metal_checker = self.fleets_checker = made
        made.objects, made.nodes = self.objects, self.nodes
        made.noticed *= self._cluster_scenario.lateness
        if self.nodes is not None:
            self.nodes.judged(made.shadows, made.wrong, made.faults, self.objects.shelf)
        return made

    def place(self, own: InstallationId) -> SharedStore:
        """Return where the records of engines lie that share them: beside the objects."""
        return SharedStore(own, SimClock(self._loop), self.objects)

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen what happens beside all engines."""
        if self.objects.strike(disruption, self._loop):
            self.judge.trace.note(f"{disruption.fault} for {disruption.length:.0f} s")
            return True
        return super().strike(own, disruption)

    def cease(self) -> None:
        """Let the faults of boxes and of the API cease."""
        super().cease()
        self.objects.calm()
        if self.nodes is not None:
            self.nodes.let_go()
            self.nodes.tidy_up()


def spaces_of(scenario: ClusterScenario) -> tuple[Space, ...]:
    """Return the namespaces of a run, each with boxes of its own."""
    secrets, apart = bool(scenario.lifecycle), scenario.apart
    boxes = scenario.boxes - apart
    home = Space(name=HOME, zone=Zone("rack-1"), first=1, boxes=boxes, secrets=secrets)
    if not apart:
        return (home,)
    other = Space(name="yard", zone=Zone("rack-2"), first=boxes + 1, boxes=apart, secrets=secrets)
    return home, other


def boxes_of(account: AccountConfig) -> Collection[str]:
    """Return the names of the boxes that an account has by what is in force."""
    return [box.name for box in table_of(PowerTable, account.settings).boxes]


def in_force(config: Config) -> dict[str, Collection[str]]:
    """Return the boxes of each account that a fleet lives in: no other is run."""
    lived_in = {fleet.account for fleet in config.fleets}
    return {one.name: boxes_of(one) for one in config.accounts if one.name in lived_in}
