"""The table of names says nothing twice, and nothing against itself."""

import pytest

from hostler.frontends.fleeting.contract import CORE, State
from hostler.frontends.fleeting.schema.vocabulary.names import METHODS, SLOTS, UPDATE_TOTAL
from hostler.frontends.fleeting.schema.vocabulary.naming import plain, timed, words
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    NEUTRAL,
    NEVER,
    STATE_HINTS,
    STATES,
    barring,
)


def test_every_call_has_a_request_and_a_reply() -> None:
    assert set(SLOTS) == {(call, side) for call in METHODS for side in ("request", "reply")}


@pytest.mark.parametrize("message", SLOTS)
def test_no_name_stands_for_two_fields_of_one_message(message: tuple[str, str]) -> None:
    fields = [slot for slot in SLOTS[message] if slot.name != "instances"]  # a list, never a field
    names = [name for slot in fields for name in slot.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("message", SLOTS)
def test_no_name_that_is_taken_is_barred(message: tuple[str, str]) -> None:
    for slot in SLOTS[message]:
        if slot is UPDATE_TOTAL:  # the total of those that are told, and of nothing else
            continue
        barred = {barring(name) for name in (*slot.names, *slot.also)} - {"", *slot.allowed}
        assert barred == set()
        assert slot.within.isdisjoint(NEVER)
    assert NEUTRAL.isdisjoint(NEVER)


def test_a_neutral_name_is_of_use_only_where_one_thing_can_be_meant() -> None:
    for slots in SLOTS.values():
        assert all(slot.sole for slot in slots if slot.also)


@pytest.mark.parametrize(
    "name",
    ["failed", "failed_ids", "errorCode", "ERROR", "desired_size", "generation", "request_token"],
)
def test_what_says_something_else_is_barred(name: str) -> None:
    assert barring(name)


@pytest.mark.parametrize("name", ["victims", "uid", "granted", "notes", "northern", "restock"])
def test_what_only_looks_like_it_is_not(name: str) -> None:
    assert not barring(name)


def test_states_have_names_of_their_own() -> None:
    named = [name for names in STATES.values() for name in names]
    assert set(STATES) == set(State)
    assert len(named) == len(set(named))
    assert set(STATE_HINTS) == CORE
    assert set(named).isdisjoint(name for names in STATE_HINTS.values() for name in names)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("maxSize", ("max", "size")),
        ("MAX_SIZE", ("max", "size")),
        ("max-size", ("max", "size")),
        ("OSName", ("os", "name")),
        ("ip4addr", ("ip", "4", "addr")),
        ("", ()),
    ],
)
def test_names_are_taken_apart_whatever_their_spelling(
    name: str, expected: tuple[str, ...]
) -> None:
    assert words(name) == expected
    assert plain(name) == "".join(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("expires", ("expires", "")),
        ("expires_unix", ("expires", "s")),
        ("expires_at_unix_ms", ("expiresat", "ms")),
        ("expires_timestamp", ("expires", "")),
        ("keepalive_seconds", ("keepalive", "s")),
        ("timeoutNanos", ("timeout", "ns")),
        ("seconds", ("seconds", "")),
    ],
)
def test_units_are_taken_off_names(name: str, expected: tuple[str, str]) -> None:
    assert timed(name) == expected
