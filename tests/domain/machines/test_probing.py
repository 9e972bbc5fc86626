"""Why a machine is not ready yet: in its record, its history, and what it waits for."""

import pytest
from msgspec.structs import replace

from hostler.domain.machines.probing import failure_of
from hostler.domain.model.commands import Advance, Event
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import MachineHealth
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Probed
from hostler.domain.reporting.history import tell
from hostler.testing.scenes.builders import FLEET, MIN, S, machine
from hostler.testing.scenes.fleet import Scene

TCP = replace(
    FLEET,
    size=1,
    probe=Probe(kind=ProbeKind.TCP),
    timers=replace(FLEET.timers, keep_failed=60 * MIN),
)


@pytest.fixture
def scene() -> Scene:
    made = Scene(fleet=TCP)
    starting = replace(machine(1), phase=Phase.STARTING, since=made.now, reason="admitted")
    made.furnish(replace(starting, health=MachineHealth(), address="192.0.2.1"))
    made.observe()
    return made


def probed(scene: Scene, text: str, *, passed: bool = False) -> tuple[Event, ...]:
    """Let a probe end so, and return what a cycle writes down."""
    scene.later(2 * S)
    scene.observe()
    scene.probed[machine(1).id] = Probed(begun=scene.now, passed=passed, text=text)
    decision = scene.reconcile()
    advances = (command for command in decision.commands if isinstance(command, Advance))
    return tuple(event for advance in advances for event in advance.events)


def test_why_a_probe_failed_is_recorded_and_told(scene: Scene) -> None:
    (event,) = probed(scene, "Connection refused")
    assert (event.kind, event.reason, event.detail) == ("probe_failed", "tcp", "Connection refused")
    assert tell(event).text == (
        "not ready yet: its readiness probe (tcp) failed: Connection refused"
    )
    assert scene.the().error == "readiness probe (tcp) at 192.0.2.1: Connection refused"


def test_only_another_reason_is_news(scene: Scene) -> None:
    assert len(probed(scene, "no answer within 5 s")) == 1
    version = scene.the().error
    assert probed(scene, "no answer within 5.2 s") == ()
    assert scene.the().error == version
    assert len(probed(scene, "Connection refused")) == 1
    assert len(probed(scene, "no answer within 5 s")) == 1


def test_what_is_waited_for_names_the_reason(scene: Scene) -> None:
    probed(scene, "Connection refused")
    scene.later(1 * S)
    (verdict,) = scene.decide().verdicts
    detail = verdict.next.detail
    assert detail == "readiness probe (tcp) at 192.0.2.1: Connection refused"


def test_a_probe_that_passes_leaves_no_error(scene: Scene) -> None:
    probed(scene, "Connection refused")
    probed(scene, "port 22 accepts connections", passed=True)
    assert (scene.the().phase, scene.the().error) == (Phase.READY, "")


def test_another_error_outlives_a_probe(scene: Scene) -> None:
    scene.keep(replace(scene.the(), error="server.user-data: too large"))
    probed(scene, "port 22 accepts connections", passed=True)
    assert scene.the().error == "server.user-data: too large"
    assert failure_of(scene.the()) == ""


def test_a_start_that_took_too_long_says_what_its_last_probe_saw(scene: Scene) -> None:
    probed(scene, "Connection refused")
    scene.later(FLEET.timers.start)
    (*_, moved) = probed(scene, "Connection refused")
    assert scene.the().phase is Phase.FAILED
    assert moved.reason == "start_overdue"
    assert "Connection refused" in tell(moved).text
