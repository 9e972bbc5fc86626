"""A scenario of Nodes: how a fleet's Nodes are managed, and what runs in their cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from random import Random

from hostler.config.node_tables import Choice, ManagedTable, NodeTable, TaintTable
from hostler.domain.model.fleet import Fleet, Workload
from hostler.testing.invariants import Bounds

TAINT = "boxes"
"""The taint that Nodes of the fleet have for good, in some seeds; all Pods bear it."""

_SHARE = 0.45
_MINUTE = timedelta(minutes=1)
_EVER = timedelta(days=1)


class Naming(StrEnum):
    """How Nodes are known.

    IDS: each has its provider ID, and its box's name. NAMES: it has that name and no provider ID.
    CROSSED: it has its provider ID and a name of its own; the name of a box is a Node's that is
    somebody else's.
    """

    IDS = "ids"
    NAMES = "names"
    CROSSED = "crossed"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesScenario:
    """What one seed draws of Nodes.

    `protected` Pods are behind a disruption budget that lets so many of them miss; `tasks` are Pods
    that are not safe to evict, and end by themselves. `elsewhere` says that somebody else's Node
    takes evicted Pods too. At the times `ends`, in seconds, a person asks hostler itself for the
    end of a machine: those that core ends, core would have drained.
    """

    naming: Naming = Naming.IDS
    waits: bool = False
    drain: timedelta = 10 * _MINUTE
    remove: bool = True
    tainted: bool = False
    unsafe: Choice = "wait"
    protected: int = 3
    missing: int = 1
    others: int = 2
    tasks: bool = True
    elsewhere: bool = True
    ends: tuple[float, ...] = ()

    @property
    def table(self) -> NodeTable:
        """What the fleet's table `node` says."""
        return NodeTable(
            labels={"pool": "boxes"},
            taints=(TaintTable(key=TAINT, effect="NoSchedule"),) if self.tainted else (),
            managed=ManagedTable(
                at_bound="wait" if self.waits else "proceed",
                unsafe=self.unsafe,
                remove=self.remove,
            ),
        )

    @property
    def spec(self) -> Mapping[str, object]:
        """The same, and how long a drain may take, in the spec of a Fleet."""
        managed = {
            "atBound": "wait" if self.waits else "proceed",
            "unsafe": self.unsafe,
            "remove": self.remove,
        }
        taints = [{"key": TAINT, "effect": "NoSchedule"}] if self.tainted else []
        return {
            "node": {"labels": {"pool": "boxes"}, "taints": taints, "managed": managed},
            "timers": {"drain": f"{self.drain.total_seconds():.0f}s"},
        }

    def asked(self, fleet: Fleet) -> Fleet:
        """Return the fleet as its file has it: what runs on its machines is waited for."""
        timers = replace(fleet.timers, drain=self.drain)
        return replace(fleet, workload=Workload(waits=self.waits), timers=timers)

    def bounds(self, bounds: Bounds) -> Bounds:
        """Return how long phases may last: each end that waits for Pods may be as much later."""
        timers, drain = bounds.timers, _EVER if self.waits else self.drain
        longer = {
            "drain": drain,
            "stop": timers.stop + drain,
            "keep_failed": timers.keep_failed + drain,
        }
        return replace(bounds, timers=replace(timers, **longer))


def draw_nodes(seed: int, span: float, dice: str = "nodes 50") -> NodesScenario | None:
    """Draw what becomes of Nodes, for some seeds: None for the others; by `dice` of its own.

    `span` is how long people ask for things, in seconds.
    """
    rng = Random(f"hostler kubernetes {dice}: {seed}")
    if rng.random() >= _SHARE:
        return None
    waits = rng.random() < 0.3
    return NodesScenario(
        naming=rng.choice(tuple(Naming)),
        waits=waits,
        drain=rng.choice((5, 10, 20)) * _MINUTE,
        remove=rng.random() < 0.7,
        tainted=rng.random() < 0.5,
        unsafe=rng.choice(("wait", "wait", "evict")),
        protected=rng.randint(1, 4),
        missing=rng.randint(1 if waits else 0, 2),
        others=rng.randint(0, 3),
        tasks=rng.random() < 0.6,
        elsewhere=rng.random() < 0.5,
        ends=tuple(sorted(rng.uniform(300, span) for _ in range(rng.randint(1, 6)))),
    )
