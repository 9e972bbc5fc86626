"""The world of Nodes in one run: kubelets, what runs there, and their judge, as one thing."""

from collections.abc import Callable, Iterator, Mapping
from random import Random

from hostler.domain.ids import HostId
from hostler.domain.model.machine import Machine
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.kubernetes.simulated_cluster import SimulatedCluster
from hostler.lab.metal.ground_truth import MetalTruth

from .api import APPS, ClusterApi
from .checker import NodesJudge, Wrong, nowhere
from .core_drains import CoreDrains
from .kubelets import Kubelets
from .scenario import NodesScenario
from .workloads import Workloads


class NodesWorld:
    """Everything that concerns Nodes in one run. `step` lets it go on, every few seconds.

    What the cluster's own parts write is told apart from what we write.
    """

    def __init__(
        self, cluster: SimulatedCluster, truth: MetalTruth, scenario: NodesScenario, seed: int
    ) -> None:
        self.scenario, self._cluster, self._truth = scenario, cluster, truth
        random = Random(f"hostler kubernetes nodes at work {seed}")
        self._api = ClusterApi(cluster)
        self._kubelets = Kubelets(self._api, truth, random, scenario)
        self._workloads = Workloads(self._api, self._kubelets, scenario, random, lambda: truth.now)
        self._judge: NodesJudge | None = None
        self.core: CoreDrains | None = None
        if (longest := scenario.core_drain) is not None:
            self.core = CoreDrains(self._api, longest.total_seconds(), lambda: truth.now)
        with cluster.aside():
            cluster.make_namespace(APPS)
            self._kubelets.found()
            self._workloads.found()

    def judged(
        self,
        shadows: list[ShadowStore],
        wrong: Wrong,
        faults: Mapping[str, int],
        shelf: Callable[[HostId], str] = nowhere,
    ) -> None:
        """Have all that is done from now on judged by what is on record.

        `faults` are counted as they strike; `shelf` tells what people wrote of the Node of a single
        box.
        """
        self._judge = NodesJudge(
            self._api,
            self._kubelets,
            self._truth,
            self.scenario,
            shadows,
            wrong,
            shelf,
            frozenset[str]() if self.core is None else self.core.whole,
            faults,
        )
        self._cluster.gateway.witness = self._judge

    def step(self) -> None:
        """Let the cluster's own parts do once what they do all the time."""
        with self._cluster.aside():
            self._kubelets.step()
            self._workloads.step()

    def guards(self, box: HostId) -> bool:
        """Tell whether the Node of a box may never be ended."""
        return box == self._kubelets.guarded

    def freed(self, box: HostId) -> float | None:
        """Return since when the Node of a box may be ended that might not be."""
        return self._kubelets.freed(box)

    def are_known(self, since: float) -> bool:
        """Tell whether Nodes were listed to an engine lately, and to one that leads since then."""
        return self._judge is not None and self._judge.are_listed(since)

    @property
    def own_node(self) -> str:
        """The name of the Node on which the process runs; empty where it runs elsewhere."""
        return self._kubelets.own_node

    def let_go(self) -> None:
        """Let no Node be guarded any more."""
        with self._cluster.aside():
            self._kubelets.let_go()

    def tidy_up(self) -> None:
        """Let people want nothing to run any more."""
        with self._cluster.aside():
            self._workloads.tidy_up()

    # ------------------------------------------------------------ what is judged

    def saved(self, machine: Machine) -> None:
        """Note a machine's record."""
        if self._judge is not None:
            self._judge.saved(machine)

    def switched_off(self, box: HostId) -> None:
        """Judge a box that goes off by our hand."""
        if self._judge is not None:
            self._judge.switched_off(box)

    def look(self, noticed: float, led: float) -> None:
        """Find what stands for so many seconds as it should not, since somebody led at the last."""
        if self._judge is not None:
            self._judge.look(noticed, led)

    def standing(self) -> Iterator[str]:
        """Yield what is not as it should be at rest."""
        if self._judge is not None:
            yield from (f"{law}: {text}" for law, text, _ in self._judge.standing())
