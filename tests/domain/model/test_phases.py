"""The table of phases: legal and illegal moves, bounds and exits, what counts."""

import pytest

from hostler.domain.model.fleet import Timers
from hostler.domain.model.phases import (
    PHASES,
    SENTENCES,
    Phase,
    Reason,
    diagram,
    legal,
    sentence,
    table,
)
from hostler.domain.model.transition import IllegalMove, Transition, move
from hostler.testing.scenes.builders import MIN, machine
from hostler.testing.scenes.fleet import Scene

LEGAL = {
    Phase.PENDING: {Phase.STARTING, Phase.DELETED},
    Phase.STARTING: {Phase.READY, Phase.STANDBY, Phase.FAILED, Phase.STOPPING},
    Phase.READY: {Phase.DRAINING, Phase.STOPPING, Phase.FAILED, Phase.STANDBY},
    Phase.DRAINING: {Phase.READY, Phase.STOPPING, Phase.FAILED},
    Phase.STOPPING: {Phase.DELETED, Phase.STANDBY, Phase.READY, Phase.PENDING},
    Phase.STANDBY: {Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.DELETED},
    Phase.FAILED: {Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.DELETED},
    Phase.DELETED: {Phase.STOPPING},
}
"""DESIGN section 3, typed in a second time; gone → stopping reopens a record (section 1.1)."""

COUNTS = {
    Phase.PENDING: (True, True),
    Phase.STARTING: (True, True),
    Phase.READY: (True, True),
    Phase.DRAINING: (False, True),
    Phase.STOPPING: (False, True),
    Phase.STANDBY: (False, True),
    Phase.FAILED: (False, True),
    Phase.DELETED: (False, False),
}


@pytest.mark.parametrize("before", Phase)
@pytest.mark.parametrize("after", Phase)
def test_move_is_legal_exactly_where_the_table_says_so(before: Phase, after: Phase) -> None:
    assert legal(before, after) == (after in LEGAL[before])
    scene, entry = Scene(), machine(phase=before)
    transition = Transition(before=entry, machine=entry, resources=())
    if after in LEGAL[before]:
        moved = move(transition, after, Reason.UP, scene.snapshot())
        assert moved.machine.phase is after
        assert moved.machine.since == scene.now
        assert [e.kind for e in moved.events] == ["moved"]
    else:
        with pytest.raises(IllegalMove, match=f"{before} to {after}"):
            move(transition, after, Reason.UP, scene.snapshot())


@pytest.mark.parametrize("before", [phase for phase in Phase if Phase.DELETED in LEGAL[phase]])
def test_what_is_deleted_costs_no_more_however_it_ended(before: Phase) -> None:
    """A Mac that somebody took was left as it was, and its machine cost more for ever."""
    scene = Scene()
    billed = machine(phase=before).with_billing(price=0.6, billed_from=scene.now - 10 * MIN)
    transition = Transition(before=billed, machine=billed, resources=())
    billing = move(transition, Phase.DELETED, Reason.HOST_TAKEN, scene.snapshot()).machine.billing
    assert (billing.price, round(billing.spent, 6)) == (0.0, 0.1)
    assert billing.cost(scene.now + 1000 * MIN) == billing.spent


@pytest.mark.parametrize("phase", Phase)
def test_phase_counts_as_the_design_says(phase: Phase) -> None:
    wanted, maximum = COUNTS[phase]
    assert machine(phase=phase).wanted is wanted
    assert machine(phase=phase).in_maximum is maximum


def test_stuck_machine_leaves_the_maximum() -> None:
    assert not machine(phase=Phase.STOPPING).with_health(stuck=True).in_maximum


@pytest.mark.parametrize("phase", Phase)
def test_phase_on_the_way_has_a_bound_that_can_be_set_and_an_exit(phase: Phase) -> None:
    row, timers = PHASES[phase], Timers.__struct_fields__
    on_its_way = phase not in {Phase.STANDBY, Phase.DELETED}
    assert (row.bound is not None) == on_its_way
    assert row.bound is None or row.bound in timers
    assert row.moves
    assert Phase.DELETED in _reachable(phase)


def _reachable(phase: Phase) -> set[Phase]:
    found, todo = set[Phase](), [phase]
    while todo:
        for after in PHASES[todo.pop()].moves:
            if after not in found:
                found.add(after)
                todo.append(after)
    return found


def test_diagram_and_table_show_every_phase_and_move() -> None:
    drawn = diagram()
    for phase, row in PHASES.items():
        assert f"| {phase} |" in table()
        for after in row.moves:
            assert f"    {phase} --> {after}\n" in drawn + "\n"


def test_every_reason_has_a_sentence_and_others_are_their_own() -> None:
    assert set(SENTENCES) == set(Reason)
    assert sentence("vanished") == SENTENCES[Reason.VANISHED]
    assert sentence("a person said so") == "a person said so"
