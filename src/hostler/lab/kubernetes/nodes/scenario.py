"""A scenario of Nodes: how a fleet's Nodes are managed, and what runs in their cluster."""

import dataclasses
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.config.node_tables import Choice, ManagedTable, NodeTable, TaintTable
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Workload
from hostler.testing.invariants import Bounds

TAINT = "boxes"
"""The taint that Nodes of the fleet have for good, in some seeds; all Pods bear it."""

_SHARE = 0.45
_GUARDED_SHARE, _PROBED_SHARE, _CORE_SHARE = 0.35, 0.4, 0.5
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


class Guard(StrEnum):
    """Why a Node is never drained, nor its box switched off.

    OWN: the process runs there. CONTROL: it carries the control plane.
    """

    OWN = "own"
    CONTROL = "control"


class NodesScenario(Struct, frozen=True, kw_only=True):
    """What one seed draws of Nodes.

    `protected` Pods are behind a disruption budget that lets so many of them miss; `tasks` are Pods
    that are not safe to evict, and end by themselves. `elsewhere` says that somebody else's Node
    takes evicted Pods too. At the times `ends`, in seconds, a person asks hostler itself for the
    end of a machine: those that core ends, core would have drained. The Node of the box `guarded`,
    a number, has a `guard` for as long as there are faults. With `probed` a machine is ready when
    its Node is. For so long as `core_drain` core drains the Node of a Machine before it ends.
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
    guard: Guard | None = None
    guarded: int = 0
    probed: bool = False
    core_drain: timedelta | None = None

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
        ready = {"ready": {"probe": "node"}} if self.probed else {}
        return {
            **ready,
            "node": {"labels": {"pool": "boxes"}, "taints": taints, "managed": managed},
            "timers": {"drain": f"{self.drain.total_seconds():.0f}s"},
        }

    def asked(self, fleet: Fleet) -> Fleet:
        """Return the fleet as its file has it: what runs on its machines is waited for."""
        timers = replace(fleet.timers, drain=self.drain)
        probe = Probe(kind=ProbeKind.NODE) if self.probed else fleet.probe
        return replace(fleet, workload=Workload(waits=self.waits), timers=timers, probe=probe)

    def bounds(self, bounds: Bounds) -> Bounds:
        """Return how long phases may last: each end that waits for Pods may be as much later."""
        for_ever = self.waits or self.guard is not None
        timers, drain = bounds.timers, _EVER if for_ever else self.drain
        longer = {
            "drain": drain,
            "stop": timers.stop + drain,
            "keep_failed": timers.keep_failed + drain,
        }
        return dataclasses.replace(bounds, timers=replace(timers, **longer))


def draw_nodes(seed: int, span: float, dice: str = "nodes 50") -> NodesScenario | None:
    """Draw what becomes of Nodes, for some seeds: None for the others; by `dice` of its own.

    `span` is how long people ask for things, in seconds.
    """
    rng = Random(f"hostler kubernetes {dice}: {seed}")
    if rng.random() >= _SHARE:
        return None
    waits = rng.random() < 0.3
    drawn = NodesScenario(
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
    return _drained(_guarded(_probed(drawn, seed), seed), seed)


def _guarded(scenario: NodesScenario, seed: int) -> NodesScenario:
    """Return the scenario, for some seeds, with a Node that is never to be ended.

    These dice, and those of probes and core, are chosen so that past failures are spared.
    """
    rng = Random(f"hostler kubernetes guarded nodes 4: {seed}")
    if rng.random() >= _GUARDED_SHARE:
        return scenario
    return replace(scenario, guard=rng.choice(tuple(Guard)), guarded=rng.randrange(1000))


def _probed(scenario: NodesScenario, seed: int) -> NodesScenario:
    """Return the scenario, for some seeds, with machines that are ready when their Nodes are."""
    rng = Random(f"hostler kubernetes probed nodes 13: {seed}")
    return replace(scenario, probed=rng.random() < _PROBED_SHARE)


def _drained(scenario: NodesScenario, seed: int) -> NodesScenario:
    """Return the scenario, for some seeds, with Nodes that core drains; by such dice, too."""
    rng = Random(f"hostler kubernetes core drains 22: {seed}")
    if rng.random() >= _CORE_SHARE:
        return scenario
    return replace(scenario, core_drain=rng.choice((2, 8, 15)) * _MINUTE)
