"""The four annotations of the older autoscaler: displayed, respected, and never for ever."""

from datetime import UTC, datetime, timedelta

import pytest

from hostler.frontends.kubernetes.fleets.locks import (
    AT,
    LOCK,
    NONE,
    OWNER,
    TIMEOUT,
    annotations_for,
    foreign_lock,
    lock_of,
)
from hostler.queries.power_states import Operation, OperationKind

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def annotations(owner: str = "somebody", at: str = "2026-03-01T11:58:00Z", timeout: str = "300"):
    return {LOCK: "scale-down", OWNER: owner, AT: at, TIMEOUT: timeout}


def test_a_lock_of_somebody_else_holds_until_it_has_expired() -> None:
    lock = foreign_lock(annotations(), NOW)
    assert lock is not None
    assert (lock.operation, lock.owner) == ("scale-down", "somebody")
    assert lock.until == NOW + 3 * MINUTE
    assert foreign_lock(annotations(), NOW + 3 * MINUTE) is None


def test_of_a_lock_no_more_is_kept_than_a_person_writes() -> None:
    """It goes into a request, a record and the history: what anybody writes must not fill those."""
    lock = foreign_lock({**annotations("o" * 100_000), LOCK: "p" * 100_000}, NOW)
    assert lock is not None
    assert (lock.operation, lock.owner) == ("p" * 200, "o" * 200)


@pytest.mark.parametrize("owner", ["hostler", "hostler/m-abcdefghij"])
def test_a_lock_of_ours_is_no_foreign_one(owner: str) -> None:
    assert foreign_lock(annotations(owner), NOW) is None


@pytest.mark.parametrize("timeout", ["5m", "", "-3"])
def test_a_timeout_in_words_is_the_usual_one(timeout: str) -> None:
    lock = lock_of(annotations(timeout=timeout), NOW)
    assert lock is not None
    assert lock.until == NOW + 3 * MINUTE


@pytest.mark.parametrize("timeout", ["86400", "9" * 20, "9" * 5000])
def test_a_lock_holds_for_a_day_at_most_whatever_number_is_written(timeout: str) -> None:
    lock = lock_of(annotations(timeout=timeout), NOW)
    assert lock is not None
    assert lock.until == NOW - 2 * MINUTE + timedelta(days=1)


@pytest.mark.parametrize("at", ["", "yesterday"])
def test_a_lock_without_a_date_is_over(at: str) -> None:
    assert foreign_lock(annotations(at=at), NOW) is None


def test_a_lock_from_the_future_holds_for_its_timeout_at_most() -> None:
    lock = lock_of(annotations(at="2030-01-01T00:00:00Z"), NOW)
    assert lock is not None
    assert lock.until == NOW + 5 * MINUTE


def operation(owner: str = "m-abcdefghij") -> Operation:
    return Operation(
        kind=OperationKind.SCALE_UP, owner=owner, since=NOW - MINUTE, until=NOW + 14 * MINUTE
    )


def test_an_operation_is_displayed_with_its_owner_and_its_bound() -> None:
    assert annotations_for(None, operation(), NOW) == {
        LOCK: "scale-up",
        OWNER: "hostler/m-abcdefghij",
        AT: "2026-03-01T11:59:00Z",
        TIMEOUT: "900",
    }
    assert annotations_for(None, operation("hostler"), NOW)[OWNER] == "hostler"


def test_a_lock_goes_with_its_operation_and_expired_ones_go_whosever_they_are() -> None:
    assert annotations_for(annotations("hostler"), None, NOW) == NONE
    assert annotations_for(annotations(), None, NOW + 10 * MINUTE) == NONE
    assert annotations_for({}, None, NOW) == {}


def test_a_foreign_lock_is_never_written_over() -> None:
    assert annotations_for(annotations(), operation(), NOW) == {}
    assert annotations_for(annotations(), None, NOW) == {}


def test_a_lock_of_which_nobody_knows_since_when_stands_still_until_it_would_expire() -> None:
    """Its date was another one each second, and the object was written each second."""
    unknown = Operation(kind=OperationKind.SCALE_DOWN, owner="hostler", since=None, until=None)
    displayed = annotations_for(None, unknown, NOW)
    present = {name: value for name, value in displayed.items() if value is not None}
    assert annotations_for(present, unknown, NOW + 2 * MINUTE) == displayed
    renewed = annotations_for(present, unknown, NOW + 3 * MINUTE)
    assert renewed[AT] == "2026-03-01T12:03:00Z"
    assert annotations_for(present, operation(), NOW + MINUTE)[LOCK] == "scale-up"
    another = Operation(kind=OperationKind.SCALE_DOWN, owner="ada", since=None, until=None)
    assert annotations_for(present, another, NOW + MINUTE)[AT] == "2026-03-01T12:01:00Z"
