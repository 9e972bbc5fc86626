"""The demo of a rack, as a newcomer runs it: the real process, to its end; and with a bug in it."""

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource
from hostler.lab.demo.rack import demo
from hostler.providers.power.planner import SERVER, PowerPlanner

HOSTLER = Path(sys.executable).parent / "hostler"
KEYS = (
    "machines starts stops failed_commands recovered kwh kwh_always_on wrong_power_actions "
    "euros_saved euros_per_kwh faults asked up scale seconds"
)


def hostler(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(HOSTLER), "demo", "rack", *words],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.timeout(120)
def test_a_day_of_a_rack_ends_as_it_was_asked_to_with_troubles_made_good() -> None:
    done = hostler("--seconds", "20", "--price", "0.5", "--json")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    summary = json.loads(lines[-1])
    assert set(KEYS.split()) <= summary.keys()
    assert summary["machines"] == 12
    assert summary["asked"] == summary["up"] == summary["starts"] - summary["stops"]
    assert summary["failed_commands"] >= 2
    assert summary["recovered"] >= 1
    assert summary["faults"].keys() == {"bmc_hung", "packet_lost"}
    assert summary["wrong_power_actions"] == 0
    assert 0 < summary["kwh"] < summary["kwh_always_on"]
    saved = (summary["kwh_always_on"] - summary["kwh"]) * 0.5
    assert summary["euros_saved"] == pytest.approx(saved, abs=0.01)
    assert any("meets packet_lost" in line for line in lines)


def test_a_demo_that_a_service_manager_ends_leaves_no_folder_behind(tmp_path: Path) -> None:
    """Its folder holds the passwords of the rack's controllers."""
    with subprocess.Popen(
        [str(HOSTLER), "demo", "rack", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        begun = {path.name for path in tmp_path.iterdir()}
        process.send_signal(signal.SIGTERM)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert any(name.startswith("hostler-demo-") for name in begun)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not any(tmp_path.iterdir())


def test_a_day_of_a_rack_cannot_be_as_short_as_its_machines_take_to_start() -> None:
    done = hostler("--seconds", "6", "--json")
    assert done.returncode == 2
    assert "--seconds" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.timeout(120)
def test_an_engine_that_switches_a_used_box_off_is_counted_and_fails_the_demo(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The planner cuts the power of the first box that is ready; nothing else is changed."""
    real, victims = PowerPlanner.next_calls, set[str]()

    def wrong(
        self: PowerPlanner,
        goal: Goal,
        machine: Machine,
        resources: tuple[Resource, ...],
        now: datetime,
    ) -> tuple[Call, ...]:
        ready = machine.phase is Phase.READY and goal is Goal.PRESENT
        for box in resources:
            if ready and box.condition is Condition.UP and len(victims | {str(box.id)}) == 1:
                victims.add(str(box.id))
                return (cut(box),)
        return real(self, goal, machine, resources, now)

    monkeypatch.setattr(PowerPlanner, "next_calls", wrong)
    code = demo.main(Composed(), demo.Options(seconds=8, seed=1, price=0.25), json=True)
    summary = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert victims
    assert summary["wrong_power_actions"] >= 1
    assert code == 1


@pytest.mark.timeout(120)
def test_a_rack_that_is_left_on_fails_the_demo(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The planner switches nothing off; nothing that was done is wrong, and the demo fails."""

    def nothing(*_: object) -> tuple[Call, ...]:
        return ()

    monkeypatch.setattr(PowerPlanner, "host_calls", nothing)
    monkeypatch.setattr(demo, "LATE", timedelta(seconds=2))
    code = demo.main(Composed(), demo.Options(seconds=8, seed=1, price=0.25), json=True)
    summary = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert summary["wrong_power_actions"] == summary["stops"] == 0
    assert summary["up"] > summary["asked"]
    assert code == 1


def cut(box: Resource) -> Call:
    return Call(
        kind="box.off_hard",
        slot=SERVER,
        zone=box.zone,
        effect=Effect.CHANGE,
        target=box.id,
        once=True,
        shows=Shows.REST,
        args=(("machine", str(box.owner_tag.machine if box.owner_tag else "")),),
    )
