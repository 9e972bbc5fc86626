"""The ladder of remedies: row by row, over all small memories, and to its end."""

from datetime import timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from hostler.domain.policy.remediation import (
    Diagnosis,
    Ladder,
    Remedy,
    Trouble,
    accepted,
    diagnosed,
    diagnosis_of,
    failed,
    next_remedy,
    pause_after,
    quarantined_for,
    settled,
)

LADDER = Ladder()
D = Diagnosis
AGAIN, DIAGNOSE, REBOOT = Remedy.AGAIN, Remedy.DIAGNOSE, Remedy.REBOOT
REINSTALL, QUARANTINE = Remedy.REINSTALL, Remedy.QUARANTINE

Row = tuple[int, bool, Diagnosis | None, int, Remedy]
ROWS: list[Row] = [
    # failures, rebooted, diagnosis, strikes: remedy
    (0, False, None, 0, AGAIN),
    (2, False, None, 0, AGAIN),
    (3, False, None, 0, DIAGNOSE),
    (3, False, D.NO_ANSWER, 0, REBOOT),
    (3, False, D.HEALTHY, 0, REBOOT),
    (3, False, D.REBOOT, 0, REBOOT),
    (3, False, D.EITHER, 0, REBOOT),
    (3, False, D.REINSTALL, 0, REINSTALL),
    (3, False, D.REINSTALL, 1, QUARANTINE),
    (3, False, D.NOTHING, 0, AGAIN),
    (3, True, None, 0, AGAIN),
    (7, False, D.EITHER, 0, REBOOT),
    (7, True, None, 0, AGAIN),
    (8, True, None, 0, DIAGNOSE),
    (8, False, None, 0, DIAGNOSE),
    (8, False, D.EITHER, 0, REINSTALL),
    (8, True, D.HEALTHY, 0, REINSTALL),
    (8, True, D.NO_ANSWER, 0, REINSTALL),
    (8, True, D.REINSTALL, 0, REINSTALL),
    (8, True, D.REBOOT, 0, QUARANTINE),
    (8, True, D.NOTHING, 0, QUARANTINE),
    (8, True, None, 1, QUARANTINE),
    (8, False, D.EITHER, 1, QUARANTINE),
    (99, True, D.EITHER, 7, QUARANTINE),
]


@pytest.mark.parametrize("row", ROWS)
def test_remedy_follows_from_what_happened(row: Row) -> None:
    failures, rebooted, diagnosis, strikes, remedy = row
    trouble = Trouble(failures=failures, rebooted=rebooted, diagnosis=diagnosis, strikes=strikes)
    step = next_remedy(trouble, LADDER)
    assert step.remedy is remedy
    assert step.why
    assert bool(step.pause) == (remedy is AGAIN and failures > 0)


MEMORIES = [
    Trouble(failures=f, rebooted=r, diagnosis=d, stranger=s, strikes=k)
    for f, r, d, s, k in product(
        range(11), (False, True), (None, *Diagnosis), (False, True), range(4)
    )
]


def test_every_memory_has_a_remedy_that_keeps_the_promises() -> None:
    for trouble in MEMORIES:
        remedy = next_remedy(trouble, LADDER).remedy
        if remedy is REBOOT:
            assert not trouble.rebooted
            assert 3 <= trouble.failures < 8
            assert trouble.diagnosis is not None
        if remedy is REINSTALL:
            assert trouble.strikes + 1 < LADDER.strikes
            assert trouble.diagnosis not in {None, D.NOTHING, D.REBOOT}
        if remedy is AGAIN:
            assert trouble.failures < 8
        if trouble.stranger:
            assert remedy in {AGAIN, QUARANTINE}


def test_ladder_ends_in_quarantine_whatever_the_diagnosis() -> None:
    """A host that never gets ready, at a provider that accepts everything."""
    for diagnosis in Diagnosis:
        trouble, taken = Trouble(), list[Remedy]()
        while QUARANTINE not in taken:
            remedy = next_remedy(trouble, LADDER).remedy
            taken.append(remedy)
            if remedy is AGAIN:
                trouble = failed(trouble)
            elif remedy is DIAGNOSE:
                trouble = diagnosed(trouble, diagnosis)
            else:
                trouble = accepted(trouble, remedy)
            assert len(taken) < 40
        assert taken.count(REBOOT) <= 2
        assert taken.count(REINSTALL) <= 1
        assert trouble.strikes >= 1


def test_healthy_host_that_never_gets_ready_climbs_rung_by_rung() -> None:
    trouble, taken = Trouble(), list[Remedy]()
    while len(taken) < 24:
        remedy = next_remedy(trouble, LADDER).remedy
        taken.append(remedy)
        if remedy is AGAIN:
            trouble = failed(trouble)
        elif remedy is DIAGNOSE:
            trouble = diagnosed(trouble, D.HEALTHY)
        else:
            trouble = accepted(trouble, remedy)
    first = [*[AGAIN] * 3, DIAGNOSE, REBOOT, *[AGAIN] * 5, DIAGNOSE, REINSTALL]
    second = [*[AGAIN] * 3, DIAGNOSE, REBOOT, *[AGAIN] * 5, QUARANTINE]
    assert taken[:-1] == [*first, *second]


def test_reboot_that_the_provider_refused_is_still_to_be_had() -> None:
    trouble = Trouble(failures=3, diagnosis=D.HEALTHY)
    assert next_remedy(trouble, LADDER).remedy is REBOOT
    assert next_remedy(failed(trouble), LADDER).remedy is REBOOT
    assert next_remedy(accepted(trouble, REBOOT), LADDER).remedy is AGAIN


def test_giving_up_outranks_a_reboot_when_both_are_due() -> None:
    both = Ladder(reboot_after=4, attempts=4)
    trouble = Trouble(failures=4, diagnosis=D.EITHER)
    assert next_remedy(trouble, both).remedy is REINSTALL
    assert next_remedy(replace(trouble, strikes=1), both).remedy is QUARANTINE


def test_strikes_outlive_the_machine_and_all_else_ends_with_its_round() -> None:
    worn = Trouble(failures=5, rebooted=True, diagnosis=D.EITHER, stranger=True, strikes=1)
    assert settled(worn) == Trouble(strikes=1)
    assert accepted(worn, REINSTALL) == Trouble(strikes=2)
    assert accepted(worn, QUARANTINE) == Trouble(strikes=2)
    assert accepted(worn, AGAIN) == accepted(worn, DIAGNOSE) == worn


def test_strangers_key_is_quarantined_without_a_reboot_or_a_wipe() -> None:
    trouble = Trouble()
    for _ in range(2):
        trouble = failed(trouble, stranger=True)
        assert next_remedy(trouble, LADDER).remedy is AGAIN
    assert next_remedy(failed(trouble, stranger=True), LADDER).remedy is QUARANTINE
    assert next_remedy(failed(trouble), LADDER).remedy is DIAGNOSE


@pytest.mark.parametrize("diagnosis", [None, *Diagnosis])
def test_threshold_of_zero_is_off(diagnosis: Diagnosis | None) -> None:
    trouble = Trouble(failures=100, diagnosis=diagnosis)
    never = Ladder(reboot_after=0, attempts=0)
    assert next_remedy(trouble, never).remedy is AGAIN
    unshaken = Ladder(reboot_after=0)
    assert next_remedy(replace(trouble, failures=7), unshaken).remedy is AGAIN
    patient = Ladder(attempts=0)
    assert next_remedy(trouble, patient).remedy in {AGAIN, DIAGNOSE, REBOOT}


def test_pauses_grow_and_the_last_one_repeats() -> None:
    found = [pause_after(failures, LADDER.pauses) for failures in range(-1, 6)]
    seconds = [pause.total_seconds() for pause in found]
    assert seconds == [0, 0, 30, 120, 300, 300, 300]
    assert pause_after(3, ()) == timedelta(0)


def test_quarantine_doubles_with_each_strike_beyond_the_limit_up_to_the_longest() -> None:
    days = [quarantined_for(strikes, LADDER).days for strikes in (0, 2, 3, 4, 5, 6, 7, 9999)]
    assert days == [1, 1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(
    ("healthy", "actions", "found"),
    [
        (None, {"reboot_server"}, D.NO_ANSWER),
        (True, {"reboot_server", "reinstall_server"}, D.HEALTHY),
        (False, {"reboot_server", "reinstall_server"}, D.EITHER),
        (False, {"reboot_server"}, D.REBOOT),
        (False, {"reinstall_server"}, D.REINSTALL),
        (False, {"paint_it_red"}, D.NOTHING),
        (False, set[str](), D.NOTHING),
    ],
)
def test_diagnosis_is_read_from_the_providers_answer(
    healthy: bool | None, actions: set[str], found: Diagnosis
) -> None:
    assert diagnosis_of(healthy=healthy, actions=frozenset(actions)) is found
