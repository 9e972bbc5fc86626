"""Which of a host's calls may be made now, and what their answers leave in its record."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.domain.hosts.next_calls import fold_host, host_allowed, host_part
from hostler.domain.ids import Epoch, PartId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.host import HOST, Host, HostGoal, ask_host
from hostler.domain.model.machine import Fate
from hostler.domain.model.resource import Part
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import BOX, box, call, record

SECOND = timedelta(seconds=1)
LATER = BEGIN + timedelta(minutes=1)
MARK = Call(kind="mark", slot=HOST, zone=ZONE, effect=Effect.DESTROY, once=True, shows=Shows.MARK)
WIPE = replace(MARK, kind="mac.reinstall", shows=Shows.WIPE)


class Ways:
    """Always wants one call."""

    def host_calls(self, goal: HostGoal, host: Host, part: Part, now: datetime) -> tuple[Call, ...]:
        """Return it."""
        del goal, host, part, now
        return (MARK,)


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({}, True),
        ({"again": LATER + SECOND}, False),
        ({"again": LATER}, True),
        ({"again": LATER + timedelta(days=1)}, True),
        ({"blind": BEGIN}, False),
        ({"blind": BEGIN - SECOND}, True),
        ({"asked": (call("mac.reinstall"),)}, False),
        ({"asked": (call("mac.reinstall", Fate.DONE),)}, True),
        ({"asked": (call("mac.reinstall", Fate.LAPSED),)}, True),
    ],
)
def test_a_call_waits_for_pauses_looks_and_what_is_unsure(
    fields: dict[str, object], allowed: bool
) -> None:
    """A pause of a day was set before the clock jumped back: it counts for nothing."""
    made = host_allowed(HostGoal.WIPED, record(**fields), box(), BEGIN, LATER, Ways())
    assert bool(made) is allowed


def asked(of: Call) -> Host:
    return ask_host(record(tries=2, error="old"), of, BEGIN, Epoch(1))


@pytest.mark.parametrize(
    ("of", "outcome", "fate"),
    [
        (MARK, Done(), Fate.DONE),
        (WIPE, Done(), Fate.OPEN),
        (MARK, Refused(why=Refusal.BUSY, text="no"), Fate.REFUSED),
        (WIPE, Refused(why=Refusal.WRONG_STATE, text="no"), Fate.REFUSED),
        (MARK, Unknown(text="?"), Fate.OPEN),
        (WIPE, Unknown(text="?"), Fate.OPEN),
    ],
)
def test_an_answer_closes_its_call_but_never_a_wipe(of: Call, outcome: Outcome, fate: Fate) -> None:
    after = fold_host(asked(of), of, outcome, LATER)
    found = after.last_asked(of.kind)
    assert found is not None
    assert found.fate is fate
    assert found.at == (LATER if fate is Fate.OPEN else BEGIN), "settle counts from the answer"


def test_a_good_answer_ends_pauses_and_a_bad_one_begins_one() -> None:
    good = fold_host(asked(MARK), MARK, Done(), LATER)
    assert (good.tries, good.again, good.blind, good.error) == (0, None, None, "")
    bad = fold_host(asked(MARK), MARK, Refused(why=Refusal.BUSY, text="no"), LATER)
    assert bad.tries == 3
    assert bad.again is not None
    assert LATER + 8 * SECOND <= bad.again <= LATER + 9 * SECOND
    assert "no" in bad.error
    told = Refused(why=Refusal.RATE, text="no", after=timedelta(minutes=7))
    paused = fold_host(asked(MARK), MARK, told, LATER)
    assert paused.again is not None
    assert paused.again >= LATER + timedelta(minutes=7)
    lost = fold_host(asked(MARK), MARK, Unknown(text="?"), LATER)
    assert lost.blind == LATER


def test_pauses_grow_to_five_minutes_at_most() -> None:
    host = record(tries=40)
    after = fold_host(host, MARK, Refused(why=Refusal.BUSY, text="no"), LATER)
    assert after.again is not None
    assert after.again <= LATER + timedelta(minutes=5, seconds=1)


def test_a_host_is_as_the_answer_leaves_it() -> None:
    part, after = box("claimed"), box("wiping")
    assert host_part(part, Done(parts=(after,))) is after
    assert host_part(part, Done()) is part
    assert host_part(part, Done(gone=(PartId(BOX),))) is None
    assert host_part(part, Unknown(text="?")) is part


def test_what_was_done_is_not_done_again_before_a_look_of_after_its_answer() -> None:
    host = record(asked=(call("mark", Fate.DONE, BEGIN),))

    def may(shown: datetime) -> bool:
        return bool(host_allowed(HostGoal.WIPED, host, box(), shown, LATER, Ways()))

    assert [may(BEGIN - SECOND), may(BEGIN), may(BEGIN + SECOND)] == [False, False, True]
