"""The table of phases: legal and illegal moves, bounds and exits, what counts."""

import dataclasses
from dataclasses import replace

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
from hostler.domain.model.transition import IllegalMove, Step, move
from hostler.testing.scenes.builders import machine
from hostler.testing.scenes.fleet import Scene

LEGAL = {
    Phase.WANTED: {Phase.STARTING, Phase.GONE},
    Phase.STARTING: {Phase.READY, Phase.RESTING, Phase.BROKEN, Phase.STOPPING},
    Phase.READY: {Phase.DRAINING, Phase.STOPPING, Phase.BROKEN, Phase.RESTING},
    Phase.DRAINING: {Phase.READY, Phase.STOPPING, Phase.BROKEN},
    Phase.STOPPING: {Phase.GONE, Phase.RESTING, Phase.READY, Phase.WANTED},
    Phase.RESTING: {Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.GONE},
    Phase.BROKEN: {Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.GONE},
    Phase.GONE: {Phase.STOPPING},
}
"""DESIGN section 3, typed in a second time; gone → stopping reopens a record (section 1.1)."""

COUNTS = {
    Phase.WANTED: (True, True),
    Phase.STARTING: (True, True),
    Phase.READY: (True, True),
    Phase.DRAINING: (False, True),
    Phase.STOPPING: (False, True),
    Phase.RESTING: (False, True),
    Phase.BROKEN: (False, True),
    Phase.GONE: (False, False),
}


@pytest.mark.parametrize("before", Phase)
@pytest.mark.parametrize("after", Phase)
def test_move_is_legal_exactly_where_the_table_says_so(before: Phase, after: Phase) -> None:
    assert legal(before, after) == (after in LEGAL[before])
    scene, entry = Scene(), machine(phase=before)
    step = Step(before=entry, machine=entry, parts=())
    if after in LEGAL[before]:
        moved = move(step, after, Reason.UP, scene.seen())
        assert moved.machine.phase is after
        assert moved.machine.since == scene.now
        assert [e.kind for e in moved.events] == ["moved"]
    else:
        with pytest.raises(IllegalMove, match=f"{before} to {after}"):
            move(step, after, Reason.UP, scene.seen())


@pytest.mark.parametrize("phase", Phase)
def test_phase_counts_as_the_design_says(phase: Phase) -> None:
    wanted, maximum = COUNTS[phase]
    assert machine(phase=phase).wanted is wanted
    assert machine(phase=phase).in_maximum is maximum


def test_stuck_machine_leaves_the_maximum() -> None:
    assert not replace(machine(phase=Phase.STOPPING), stuck=True).in_maximum


@pytest.mark.parametrize("phase", Phase)
def test_phase_on_the_way_has_a_bound_that_can_be_set_and_an_exit(phase: Phase) -> None:
    row, timers = PHASES[phase], {field.name for field in dataclasses.fields(Timers)}
    on_its_way = phase not in {Phase.RESTING, Phase.GONE}
    assert (row.bound is not None) == on_its_way
    assert row.bound is None or row.bound in timers
    assert row.moves
    assert Phase.GONE in _reachable(phase)


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
