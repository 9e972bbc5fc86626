"""Drift in the record: what was seen stays seen until it is mended, whatever else happens."""

from msgspec.structs import replace

from hostler.domain.machines.drift import SEEN
from hostler.domain.model.phases import Phase
from hostler.testing.fakes.planner import ADDRESS
from hostler.testing.scenes.builders import FLEET, MIN, S, address, machine, server
from hostler.testing.scenes.fleet import Scene

DETACHED = f"{ADDRESS} is not attached any more"


def test_a_drift_outlives_a_failure_that_its_machine_recovers_from() -> None:
    scene = Scene(fleet=replace(FLEET, size=1))
    scene.later(30 * MIN)
    seen = scene.now - 5 * MIN
    failed = replace(machine(), phase=Phase.FAILED, since=scene.now - 4 * MIN)
    scene.add(failed.with_fact(SEEN + DETACHED, seen))
    scene.exist(server(failed), address(failed))
    scene.later(10 * S)
    scene.observe()
    decision = scene.reconcile()
    assert scene.the().phase is Phase.READY
    assert scene.the().fact(SEEN + DETACHED) == seen
    assert [e.kind for e in scene.events] == ["moved"], "the address hangs on nothing still"
    (verdict,) = decision.verdicts
    assert verdict.next.kind == "call"
