"""Which of a machine's calls may be made now, whatever its provider names."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import CallState, Machine, Protection
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, FLEET, ZONE, asked, machine, server
from hostler.testing.scenes.fleet import Scene

HOST = HostId("box-1")
OWN = "hostler itself runs on this Node"
TAGGING = Call(
    kind="mark",
    slot=SERVER,
    zone=ZONE,
    effect=Effect.CHANGE,
    target=ResourceId("server-1"),
    once=True,
    shows=Shows.NOTHING,
)
REBOOT = replace(TAGGING, kind="reboot", reboots=True)
OFF = replace(TAGGING, kind="off", shows=Shows.REST)
WIPE = replace(TAGGING, kind="wipe", shows=Shows.WIPE)


@dataclass(frozen=True)
class Planner:
    """Always wants one call."""

    call: Call

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return it."""
        del goal, machine, resources, now
        return (self.call,)


def guarded(one: Machine, snapshot: Snapshot) -> tuple[Machine, Snapshot]:
    """Its Node may never be ended."""
    return one, replace(snapshot, guarded={HOST: OWN})


def unseen(one: Machine, snapshot: Snapshot) -> tuple[Machine, Snapshot]:
    """Nobody has looked at Nodes yet."""
    return one, replace(snapshot, guarded=None)


def another(one: Machine, snapshot: Snapshot) -> tuple[Machine, Snapshot]:
    """The Node of another host may never be ended."""
    return one, replace(snapshot, guarded={HostId("box-2"): OWN})


def bare(one: Machine, snapshot: Snapshot) -> tuple[Machine, Snapshot]:
    """A machine that takes no host is of no Node that must be known first."""
    return replace(one, host=None), replace(snapshot, guarded=None)


Case = Callable[[Machine, Snapshot], tuple[Machine, Snapshot]]


@pytest.mark.parametrize("call", [REBOOT, OFF, WIPE], ids=lambda call: call.kind)
@pytest.mark.parametrize(
    ("case", "waits"),
    [
        (guarded, OWN),
        (unseen, "not known yet"),
        (another, ""),
        (bare, ""),
    ],
)
def test_nothing_interrupts_a_host_whose_node_may_not_be_ended(
    case: Case, waits: str, call: Call
) -> None:
    one, snapshot = case(*_scene())
    found = allowed(one, Goal.PRESENT, (), snapshot, Planner(call))
    assert found.calls == (() if waits else (call,))
    assert found.waits.endswith(waits)
    assert allowed(one, Goal.PRESENT, (), snapshot, Planner(TAGGING)).calls == (TAGGING,)


def test_a_protected_machine_is_not_rebooted() -> None:
    one, snapshot = _scene()
    until = snapshot.now + timedelta(hours=1)
    one = replace(one, protection=Protection(until=until, actor="bert", why="work on it"))
    found = allowed(one, Goal.PRESENT, (), snapshot, Planner(REBOOT))
    assert (found.calls, found.waits[-20:]) == ((), " by bert: work on it")
    assert allowed(one, Goal.PRESENT, (), snapshot, Planner(WIPE)).calls == (WIPE,)


def _scene() -> tuple[Machine, Snapshot]:
    scene = Scene(fleet=replace(FLEET, size=1))
    one = replace(machine(), host=HOST)
    scene.add(one)
    scene.exist(server(one))
    scene.later(timedelta(minutes=1))
    scene.observe()
    assert scene.now > BEGIN
    return one, scene.snapshot()


@pytest.mark.parametrize("is_over", [False, True])
def test_a_name_that_was_given_is_not_given_again_while_it_may_still_come(*, is_over: bool) -> None:
    """The second one could come when its host is another's."""
    one, snapshot = _scene()
    delay, naming = snapshot.capabilities.consistency_delay, replace(OFF, shows=Shows.OWNER_TAG)
    closed = snapshot.now - (delay + timedelta(seconds=1) if is_over else delay)
    earlier = asked(naming.kind, shows=naming.shows, call_state=CallState.DONE)
    one = replace(one, asked=(replace(earlier, closed=closed),))
    found = allowed(one, Goal.PRESENT, (), snapshot, Planner(naming))
    expected = ((naming,), None) if is_over else ((), closed + delay)
    assert (found.calls, found.at) == expected
