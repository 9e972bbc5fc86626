"""S6: a machine with a running job is not ended without its drain contract."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.machine import Deletion, Machine, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.lab.checks.jobs import SKEW, ProtectedJobs
from hostler.testing.scenes.builders import BEGIN, machine

UNTIL = 1000.0
_PROTECTION = Protection(actor="ann", until=BEGIN + timedelta(hours=1), why="a job")
READY = replace(machine(1), phase=Phase.READY, protection=_PROTECTION)
OTHER = machine(2).id


def jobs(*saves: Machine) -> ProtectedJobs:
    """Return the jobs of a person who asked for a protection before these saves."""
    found = ProtectedJobs()
    found.protects(READY.id, UNTIL)
    for save in saves:
        found.saved(save, 0.0)
    return found


def test_machine_on_which_a_job_runs_is_not_ended() -> None:
    (violation,) = jobs(READY).ended(READY.id, "DELETE", 500.0)
    assert (violation.invariant, violation.machine) == ("S6", READY.id)
    assert not jobs(READY).ended(OTHER, "DELETE", 500.0)


def test_job_is_over_with_its_protection() -> None:
    assert jobs(READY).ended(READY.id, "DELETE", UNTIL - SKEW)
    assert not jobs(READY).ended(READY.id, "DELETE", UNTIL - SKEW + 1)
    early = jobs(READY)
    early.ahead = 300.0
    assert early.ended(READY.id, "DELETE", UNTIL - 300.0 - SKEW)
    assert not early.ended(READY.id, "DELETE", UNTIL - 300.0), "by the engine's clock it is over"
    released = jobs(READY)
    released.releases(READY.id)
    assert not released.ended(READY.id, "DELETE", 500.0)


def test_newest_protection_says_how_long_the_job_takes_whatever_was_asked_meanwhile() -> None:
    """Seed 5060128: a machine that waited to end was protected anew, for less time."""
    found = jobs(READY)
    found.protects(READY.id, UNTIL / 2)
    found.saved(replace(READY, deletion=Deletion(at=BEGIN, actor="ann", why="a whim")), 0.0)
    assert found.ended(READY.id, "DELETE", UNTIL / 2 - SKEW)
    assert not found.ended(READY.id, "DELETE", UNTIL / 2)


def test_job_that_is_over_does_not_begin_again_on_a_machine_that_ends() -> None:
    """Seed 133000849: somebody protected it anew a moment after its end was decided."""
    found = jobs(READY)
    found.protects(READY.id, 2 * UNTIL)
    found.saved(replace(READY, phase=Phase.STOPPING), UNTIL)
    assert not found.ended(READY.id, "DELETE", UNTIL)


def test_job_begins_when_its_protection_is_on_record_and_not_before() -> None:
    unprotected = replace(READY, protection=None)
    assert not jobs(unprotected).ended(READY.id, "DELETE", 500.0)
    assert jobs(unprotected, READY).ended(READY.id, "DELETE", 500.0)


@pytest.mark.parametrize(
    "ending",
    [
        replace(READY, phase=Phase.DRAINING),
        replace(READY, phase=Phase.STOPPING),
        replace(READY, goal=Goal.STANDBY),
        replace(READY, deletion=Deletion(at=BEGIN, actor="ann", why="a whim")),
    ],
)
def test_no_job_begins_on_a_machine_whose_end_was_asked_for_before(ending: Machine) -> None:
    assert not jobs(ending, READY).ended(READY.id, "DELETE", 500.0)


def test_job_that_runs_is_not_over_because_its_record_says_so() -> None:
    forgotten = replace(READY, protection=None, phase=Phase.STOPPING)
    assert jobs(READY, forgotten).ended(READY.id, "DELETE", 500.0)


def test_no_job_is_counted_across_a_jump_of_the_clock() -> None:
    found = jobs(READY)
    found.forget()
    assert not found.ended(READY.id, "DELETE", 500.0)
