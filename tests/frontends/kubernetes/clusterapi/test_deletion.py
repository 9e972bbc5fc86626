"""How a HostlerMachine goes: its machine is asked to end, and nothing else is waited for."""

from typing import Any

import pytest
from msgspec.structs import replace
from view_kit import (
    ID,
    NOW,
    WORKERS,
    cluster,
    condition,
    deleted,
    ending,
    machine,
    ready,
    view,
    with_spec,
)

from hostler.domain.model.machine import Machine, MachineHealth, Protection
from hostler.domain.model.phases import Phase
from hostler.frontends.kubernetes.clusterapi.acts import NOTHING, End, Leave
from hostler.frontends.kubernetes.clusterapi.decision import decide
from hostler.frontends.kubernetes.clusterapi.names import (
    FORMER_RELEASE_POLICY,
    PAUSED,
    RELEASE_POLICY,
)
from hostler.frontends.kubernetes.clusterapi.reasons import ReadyReason
from hostler.frontends.kubernetes.clusterapi.standing import Standing
from hostler.testing.scenes.builders import MIN


def test_a_deletion_asks_for_the_end_of_the_machine() -> None:
    assert decide(ready(deleted())).act == End(machine=ID)


def test_a_deletion_does_not_wait_for_the_cluster() -> None:
    seen = ready(deleted(), cluster=cluster(provisioned=False), owner=None, bootstrap=None)

    assert decide(seen).act == End(machine=ID)


def test_a_deletion_goes_on_without_a_cluster() -> None:
    assert decide(ready(deleted(), cluster=None, owner=None)).act == End(machine=ID)


def test_a_paused_deletion_waits() -> None:
    assert decide(ready(deleted(annotations={PAUSED: ""}))).act is None
    assert decide(ready(deleted(), cluster=cluster(paused=True))).act is None


def test_an_object_without_our_finalizer_is_not_touched() -> None:
    assert decide(ready(deleted(finalizers=("somebody/else",)))) == NOTHING


def test_an_object_that_never_had_an_id_goes_at_once() -> None:
    assert decide(view(with_spec(deleted(), machine_id=""))).act == Leave()


def test_an_object_whose_machine_was_never_asked_for_goes_at_once() -> None:
    assert decide(view(deleted())).act == Leave()


def test_a_machine_that_is_only_requested_is_ended_too() -> None:
    standing = Standing(fleet=WORKERS, requested=True)

    assert decide(view(deleted(), standing=standing)).act == End(machine=ID)


def test_a_deletion_that_was_asked_for_is_not_asked_again() -> None:
    requested = Standing(fleet=WORKERS, requested=True, deleting=True)
    recorded = Standing(fleet=WORKERS, machine=machine(), deleting=True)

    for standing in (requested, recorded):
        decision = decide(view(deleted(), standing=standing))
        assert decision.act is None
        assert decision.again is not None


@pytest.mark.parametrize("phase", [Phase.READY, Phase.DRAINING, Phase.STOPPING, Phase.FAILED])
def test_an_object_stays_while_its_machine_has_its_host(phase: Phase) -> None:
    decision = decide(ready(deleted(), machine=ending(phase)))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.DELETING


def test_an_object_goes_when_its_machine_is_over() -> None:
    """Its host is wiped, or stays until the end of its paid period, by itself (origin 002)."""
    assert decide(ready(deleted(), machine=ending(Phase.DELETED))).act == Leave()


def test_an_object_goes_when_its_machines_end_is_overdue() -> None:
    """The engine has it on record and goes on: nobody who waits here could do more."""
    stuck = ending(Phase.STOPPING, health=MachineHealth(stuck=True))

    assert decide(ready(deleted(), machine=stuck)).act == Leave()


def test_a_machine_that_is_stuck_by_itself_is_asked_to_end_first() -> None:
    stuck = machine(Phase.STOPPING, health=MachineHealth(stuck=True))

    assert decide(ready(deleted(), machine=stuck)).act == End(machine=ID)


@pytest.mark.parametrize("name", [RELEASE_POLICY, FORMER_RELEASE_POLICY])
def test_a_host_is_given_up_where_the_object_asks_for_it(name: str) -> None:
    annotated = deleted(annotations={name: "terminate"})

    assert decide(ready(annotated)).act == End(machine=ID, retires=True)


def test_another_policy_gives_no_host_up() -> None:
    annotated = deleted(annotations={RELEASE_POLICY: "pool"})

    assert decide(ready(annotated)).act == End(machine=ID, retires=False)


@pytest.mark.parametrize("known", [{"machine": machine()}, {"requested": True}])
def test_a_protected_fleet_says_what_holds_the_deletion_up(known: dict[str, Any]) -> None:
    standing = Standing(fleet=replace(WORKERS, protected=True), **known)

    decision = decide(view(deleted(), standing=standing))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.DELETION_BLOCKED
    assert "protected" in condition(decision).message


def _protected() -> Machine:
    return ending(Phase.READY, protection=Protection(until=NOW + MIN, why="", actor="ada"))


def test_a_protected_machine_says_who_holds_the_deletion_up() -> None:
    decision = decide(ready(deleted(), machine=_protected()))

    assert decision.act is None
    assert "ada" in condition(decision).message


def test_a_deletion_waits_until_the_engine_has_read_its_records() -> None:
    decision = decide(view(deleted(), standing=Standing(known=False)))

    assert decision.act is None
    assert decision.again is not None


@pytest.mark.parametrize("known", [{"machine": machine()}, {"requested": True}])
def test_a_machine_of_a_fleet_that_is_not_there_says_so(known: dict[str, Any]) -> None:
    standing = Standing(**known)

    decision = decide(view(deleted(), standing=standing))

    assert decision.act is None
    assert "there is no fleet web" in condition(decision).message
