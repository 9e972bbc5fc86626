"""Every corner of a box's power has a way out; what is broken on purpose shows in one of them."""

import pytest

from hostler.lab.model_check.power.corners import Corner, Operation, Reading, Wanted, corners
from hostler.lab.model_check.power.explore import explore
from hostler.lab.mutants.metal_mutations import silent_is_off
from hostler.testing.fakes.metal import FakeMetal

EVERY = 9
"""Which of the corners are played here; `make exhaustive` plays all of them."""


def test_the_corners_are_all_combinations() -> None:
    assert len({*corners()}) == len(Reading) * 2 * len(Operation) * len(Wanted) * 2


@pytest.mark.timeout(180)
@pytest.mark.parametrize("part", range(3))
def test_corners_are_left_and_nothing_wrong_is_done(part: int) -> None:
    chosen = [*corners()][part :: 3 * EVERY]
    assert [f"{corner}: {why}" for corner, why in explore(chosen)] == []


def corner(
    operation: Operation, reading: Reading, wanted: Wanted, *, reachable: bool = True
) -> Corner:
    return Corner(
        reading=reading, reachable=reachable, operation=operation, wanted=wanted, taken_over=False
    )


def test_a_box_that_is_silent_and_taken_for_off_is_switched_on_no_knowledge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = FakeMetal._resource
    monkeypatch.setattr(FakeMetal, "_resource", silent_is_off(good))
    chosen = [corner(Operation.NONE, Reading.SILENT, Wanted.MORE)]
    ((_, why),) = explore(chosen)
    assert "is silent" in why


def test_a_box_that_is_never_held_to_be_clean_has_no_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No event matches any more, as in defect 3: it can be neither used nor switched."""

    def never(*_: object) -> bool:
        return False

    monkeypatch.setattr("hostler.domain.hosts.cleaning._is_proof", never)
    ((_, why),) = explore([corner(Operation.CLEANING, Reading.OFF, Wanted.MORE)])
    assert "no way out" in why
