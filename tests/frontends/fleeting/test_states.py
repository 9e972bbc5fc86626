"""States: the table is total and never says more than is so; each aspect has its own word."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.machine import LOCKED, Deletion, Doubt, Machine, Protection
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.frontends.fleeting.contract import CORE, State
from hostler.frontends.fleeting.group.states import TABLE, Aspect, aspect, state_of
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, machine
from hostler.testing.scenes.fields import with_fields

GROUP = replace(FLEET, size=0, renews=False)
ALL = frozenset(State)
NO_STOPPED = ALL - {State.STOPPED}
LATER = BEGIN + 60 * MIN


def ran(phase: Phase, **changes: object) -> Machine:
    return with_fields(machine(1, phase).with_health(was_ready=BEGIN), **changes)


def young(phase: Phase, **changes: object) -> Machine:
    return with_fields(machine(1, phase).with_health(was_ready=None), created=LATER, **changes)


def down(what: Reason = Reason.STOPPED) -> Doubt:
    return Doubt(what=str(what), since=BEGIN)


HELD = Protection(until=LATER + timedelta(hours=1), why="look", actor="ann")


def test_every_phase_and_aspect_has_its_states() -> None:
    assert set(TABLE) == set(Phase)
    assert all(set(aspects) == set(Aspect) for aspects in TABLE.values())


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.DELETED])
@pytest.mark.parametrize("one", [a for a in Aspect if a is not Aspect.STUCK])
def test_what_exists_is_reported_in_every_schema(phase: Phase, one: Aspect) -> None:
    """What is left out is forgotten by the runner, with its server still on the bill."""
    assert set(TABLE[phase][one]) & CORE


def test_deleting_is_reported_only_while_we_delete() -> None:
    cells = {
        (p, a) for p, row in TABLE.items() for a, states in row.items() if "deleting" in states
    }
    assert {phase for phase, _ in cells} == {Phase.STOPPING}
    assert not {a for _, a in cells} & {Aspect.RETRY, Aspect.PROTECTED, Aspect.STUCK}


def test_running_is_reported_only_of_what_is_up() -> None:
    cells = {(p, a) for p, row in TABLE.items() for a, states in row.items() if "running" in states}
    assert {phase for phase, _ in cells} == {Phase.READY, Phase.DRAINING}
    assert Aspect.DOWN not in {a for _, a in cells}


@pytest.mark.parametrize(
    ("entry", "offered", "expected"),
    [
        (young(Phase.PENDING), ALL, State.CREATING),
        (young(Phase.STARTING), ALL, State.CREATING),
        (young(Phase.STARTING, doubt=down()), ALL, State.STOPPED),
        (young(Phase.STARTING, doubt=down()), NO_STOPPED, State.CREATING),
        (young(Phase.FAILED), ALL, State.CREATING),
        (young(Phase.STOPPING), ALL, State.CREATING),
        (replace(young(Phase.STOPPING), created=BEGIN), ALL, State.DELETING),
        (ran(Phase.READY), ALL, State.RUNNING),
        (ran(Phase.READY, doubt=down(Reason.VANISHED)), ALL, State.RUNNING),
        (ran(Phase.READY, doubt=down(Reason.STOPPED_IN_PLACE)), ALL, State.STOPPED),
        (ran(Phase.READY, doubt=down(Reason.LOCKED)), NO_STOPPED, State.CREATING),
        (ran(Phase.DRAINING), ALL, State.RUNNING),
        (ran(Phase.FAILED), ALL, State.STOPPED),
        (ran(Phase.FAILED), NO_STOPPED, State.CREATING),
        (ran(Phase.STOPPING), ALL, State.DELETING),
        (ran(Phase.STOPPING, protection=HELD), ALL, State.STOPPED),
        (ran(Phase.STOPPING, protection=HELD), NO_STOPPED, State.CREATING),
        (ran(Phase.STOPPING).with_fact(LOCKED, LATER), ALL, State.STOPPED),
        (ran(Phase.STOPPING, stuck=True), ALL, State.TIMEOUT),
        (ran(Phase.STOPPING, stuck=True), CORE | {State.DELETED}, State.DELETED),
        (ran(Phase.STOPPING, stuck=True), CORE, None),
        (ran(Phase.STOPPING, goal=Goal.STANDBY), ALL, State.SUSPENDING),
        (ran(Phase.STANDBY, goal=Goal.STANDBY), ALL, State.SUSPENDED),
        (ran(Phase.STARTING), ALL, State.RESUMING),
        (ran(Phase.STARTING), CORE, State.CREATING),
        (ran(Phase.DELETED), ALL, State.DELETED),
        (ran(Phase.DELETED), CORE, None),
    ],
)
def test_a_machine_is_reported_as(
    entry: Machine, offered: frozenset[State], expected: State | None
) -> None:
    assert state_of(entry, GROUP, LATER, offered) == expected


def test_start_whose_deletion_was_requested_is_deleted_not_made_again() -> None:
    deletion = Deletion(at=LATER, actor="gitlab-runner", why="Decrease", now=True)
    entry = young(Phase.STOPPING, deletion=deletion)
    assert aspect(entry, GROUP, LATER) is Aspect.PLAIN
    assert state_of(entry, GROUP, LATER, ALL) is State.DELETING


@pytest.mark.parametrize("phase", Phase)
def test_protected_machine_that_is_to_go_is_not_reported_as_deleting(phase: Phase) -> None:
    entry = ran(phase)
    output = state_of(entry, GROUP, LATER, ALL, protected=True)
    going = phase is Phase.STOPPING
    assert output is (State.STOPPED if going else state_of(entry, GROUP, LATER, ALL))


@pytest.mark.parametrize("offered", [CORE, ALL, NO_STOPPED, CORE | {State.STOPPED}])
def test_only_states_of_the_schema_are_reported(offered: frozenset[State]) -> None:
    for phase in Phase:
        for entry in (young(phase), ran(phase), ran(phase, doubt=down()), ran(phase, stuck=True)):
            assert state_of(entry, GROUP, LATER, offered) in {*offered, None}
