"""The pure part: what a look and a turn cost for fleets in which nothing happens.

A full decide asks every question of every machine. A quiet pass takes a new look into the view,
sorts out whose parts they are, and decides, as a turn does that finds everything as it was.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator

from figures import Figure, show
from msgspec.structs import replace

from hostler.app.collector import collect_seldom
from hostler.domain.decide import decide
from hostler.domain.decision.cache import DecisionCache
from hostler.domain.model.inventory import merge
from hostler.domain.model.resource import Observation, ObservedScope, Scope
from hostler.testing.scenes.builders import FLEET, ZONE, S, machine
from hostler.testing.scenes.fleet import Scene

SIZES = (1_000, 10_000, 100_000)
GOALS = {100_000: 1.0}
QUIET_GOALS = {100_000: 0.150}
TIMES = 5


def fleet(size: int) -> Scene:
    """Return a fleet at rest: every server is up with its address, and its records say so."""
    scene = Scene(fleet=replace(FLEET, size=size))
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    scene.observe()
    scene.reconcile()
    assert not scene.decide().commands
    return scene


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the quickest of a few runs; the others were disturbed."""
    took = list[float]()
    for _ in range(TIMES):
        gc.collect()
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return min(took)


def observed(scene: Scene) -> Observation:
    """Return the next whole look, as a provider would hand it over, decoded."""
    scopes = [Scope(ZONE, kind) for kind in scene.capabilities.kinds]
    begun = tuple(ObservedScope(scope=scope, begun=scene.now, complete=True) for scope in scopes)
    return Observation(observed=begun, resources=tuple(scene.resources.values()))


def quiet(scene: Scene, cache: DecisionCache) -> None:
    """Take one quiet pass."""
    scene.later(30 * S)
    scene.inventory = merge(scene.inventory, observed(scene))
    assert not decide(scene.snapshot(), scene.planner, cache).commands


def restless(scene: Scene, cache: DecisionCache) -> None:
    """Take one pass in which one machine in a hundred is found otherwise than before."""
    scene.later(30 * S)
    names = [resource for resource in scene.resources if resource.startswith("server")]
    for name in names[::100]:
        resource = scene.resources[name]
        scene.resources[name] = replace(
            resource, name="one" if resource.name == "another" else "another"
        )
    scene.inventory = merge(scene.inventory, observed(scene))
    assert not decide(scene.snapshot(), scene.planner, cache).commands


def figures() -> Iterator[Figure]:
    """Measure each size."""
    collect_seldom()
    for size in SIZES:
        scene, cache = fleet(size), DecisionCache()
        seen = scene.snapshot()
        took = best(lambda seen=seen, scene=scene: decide(seen, scene.planner))
        yield Figure(f"full decide, {size:,} machines", GOALS.get(size), took, "s")
        quiet(scene, cache)
        took = best(lambda scene=scene, cache=cache: restless(scene, cache))
        yield Figure(f"pass in which 1 in 100 is otherwise, {size:,} machines", None, took, "s")
        took = best(lambda scene=scene: merge(scene.inventory, observed(scene)))
        yield Figure(f"merge of a quiet whole look, {size:,} machines", None, took, "s")
        quiet(scene, cache)
        took = best(lambda scene=scene, cache=cache: quiet(scene, cache))
        yield Figure(f"quiet pass, {size:,} machines", QUIET_GOALS.get(size), took, "s")


if __name__ == "__main__":
    sys.exit(show(figures()))
