"""The pure part: what a look and a turn cost for fleets in which nothing happens.

A full decide asks every question of every machine. A quiet pass takes a new look into the view,
sorts out whose parts they are, and decides, as a turn does that finds everything as it was.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from figures import Figure, show

from hostler.domain.decide import decide
from hostler.domain.parts import Look, Looked, Scope
from hostler.domain.view import merge
from hostler.testing.scene import FLEET, ZONE, S, Scene, machine

SIZES = (1_000, 10_000)
GOALS = {100_000: 1.0}
QUIET_GOALS = {100_000: 0.150}
TIMES = 5


def fleet(size: int) -> Scene:
    """Return a fleet at rest: every server is up with its address, and its records say so."""
    scene = Scene(fleet=replace(FLEET, size=size))
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    scene.look()
    scene.turn()
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


def looked(scene: Scene) -> Look:
    """Return the next whole look, as a provider would hand it over, decoded."""
    scopes = [Scope(ZONE, kind) for kind in scene.traits.kinds]
    begun = tuple(Looked(scope=scope, begun=scene.now, complete=True) for scope in scopes)
    return Look(looked=begun, parts=tuple(scene.parts.values()))


def quiet(scene: Scene) -> None:
    """Take one quiet pass."""
    scene.later(30 * S)
    scene.view = merge(scene.view, looked(scene))
    assert not decide(scene.seen(), scene.ways).commands


def figures() -> Iterator[Figure]:
    """Measure each size."""
    for size in SIZES:
        scene = fleet(size)
        seen = scene.seen()
        took = best(lambda seen=seen, scene=scene: decide(seen, scene.ways))
        yield Figure(f"full decide, {size:,} machines", GOALS.get(size), took, "s")
        took = best(lambda scene=scene: merge(scene.view, looked(scene)))
        yield Figure(f"merge of a whole look, {size:,} machines", None, took, "s")
        quiet(scene)
        took = best(lambda scene=scene: quiet(scene))
        yield Figure(f"quiet pass, {size:,} machines", QUIET_GOALS.get(size), took, "s")


if __name__ == "__main__":
    sys.exit(show(figures()))
