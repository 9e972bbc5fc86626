"""The environment of Cluster API: owned machines of which nobody but it asks for any."""

from random import Random

from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.power.environment import PowerEnvironment
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import Disruption
from hostler.ports.preparer import Preparer
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from . import faults
from .checker import ClusterChecker
from .faults import ClusterScenario
from .nodes.world import NodesWorld
from .scripts.checker import ScriptsJudge
from .scripts.host import Hosts
from .scripts.scenario import SCRIPT
from .scripts.ssh import LabPreparer
from .shared_store import SharedStore
from .site import OURS, THEIRS, Site


class ClusterEnvironment(PowerEnvironment):
    """Boxes for one fleet, and a cluster. Implements the lab's `Environment`, as `power` does."""

    objects_checker: ClusterChecker
    site: Site
    nodes: NodesWorld | None = None
    hosts: Hosts | None = None
    _loop: SimLoop

    def __init__(self, scenario: ClusterScenario) -> None:
        super().__init__(scenario)
        self._cluster_scenario = scenario

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the rack and the cluster."""
        super().open(loop, rng)
        (fleet,) = self.fleets(other=False)
        self._loop = loop
        scripts = self._cluster_scenario.scripts
        data = SCRIPT if scripts is not None else ""
        self.site = Site(SimClock(loop), Random(rng.getrandbits(64)), fleet.name, data)
        self.site.gateway.faults.rates = self._cluster_scenario.api
        if (nodes := self._cluster_scenario.nodes) is not None:
            self.nodes = NodesWorld(self.site, self.truth, nodes, self.base.seed)
            self.site.drains = self.nodes.core

    def checker(self, trace: Trace) -> ClusterChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        made = ClusterChecker(self.truth, trace, delay, self._cluster_scenario)
        self.judge = self.metal_checker = self.objects_checker = made
        made.site, made.nodes = self.site, self.nodes
        made.noticed *= self._cluster_scenario.lateness
        if self.nodes is not None:
            self.nodes.judged(made.shadows, made.wrong, made.faults)
        if (scripts := self._cluster_scenario.scripts) is not None:
            random = Random(f"hostler kubernetes scripts at work {self.base.seed}")
            self.hosts = Hosts(self.truth, scripts, random, made.struck)
            made.scripts = self.hosts.judge = ScriptsJudge(self.hosts, made.shadows, made.wrong)
        return made

    def preparer(self, run: ProcessRun) -> Preparer | None:
        """Return what logs in to hosts, where machines have scripts."""
        return None if self.hosts is None else LabPreparer(self.hosts, run)

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the one fleet: each of its machines is asked for by itself."""
        (fleet,) = super().fleets(other=other)
        asked = replace(fleet, size=0, maximum=self.base.machines, renews=False)
        nodes, scripts = self._cluster_scenario.nodes, self._cluster_scenario.scripts
        asked = asked if nodes is None else nodes.asked(asked)
        return (asked if scripts is None else scripts.asked(asked),)

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen what happens beside all engines."""
        site = self.site
        match disruption.fault:
            case faults.OBJECT_REMOVED:
                done = site.remove(OURS, disruption.who)
            case faults.OWNER_REMOVED:
                done = site.remove(THEIRS, disruption.who)
            case faults.DATA_DELETED:
                done = site.delete_data()
                self._loop.call_later(disruption.length, site.make_data)
            case faults.NAMESPACE_DELETED:
                done = site.delete_namespace()
            case _ if site.strike(disruption, self._loop):
                done = True
            case _:
                return super().strike(own, disruption)
        self.judge.trace.note(f"{disruption.fault} for {disruption.length:.0f} s")
        return done

    def place(self, own: InstallationId) -> SharedStore:
        """Return where the records of engines lie that share them: beside the objects."""
        return SharedStore(own, SimClock(self._loop), self.site)

    def cease(self) -> None:
        """Let the faults of boxes and of the API cease."""
        super().cease()
        self.site.calm()
        if self.nodes is not None:
            self.nodes.let_go()
        if self.hosts is not None:
            self.hosts.calm = True
        self.site.make_data()
