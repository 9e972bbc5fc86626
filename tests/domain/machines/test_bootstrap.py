"""Which configuration a host carries, and whether its commands must run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.domain.ids import machine_id
from hostler.domain.policy.bootstrap import Applied, Cause, asks, cause_of, digest_of, note_of

DIGEST, OTHER = digest_of(("a",)), digest_of(("b",))
WANTED = Applied(digest=DIGEST, machine=machine_id(1))
NOTHING = Applied(digest="", machine=machine_id(1))

Row = tuple[Applied | None, Applied, str, bool, Cause]
ROWS: list[Row] = [
    # noted at the host, wanted, in our record, forced: cause
    (None, WANTED, "", False, Cause.FIRST),
    (None, WANTED, DIGEST, False, Cause.EMPTIED),
    (None, WANTED, OTHER, False, Cause.EMPTIED),
    (WANTED, WANTED, DIGEST, False, Cause.CURRENT),
    (WANTED, WANTED, "", False, Cause.CURRENT),
    (WANTED, WANTED, OTHER, False, Cause.CURRENT),
    (WANTED, WANTED, DIGEST, True, Cause.FORCED),
    (None, WANTED, "", True, Cause.FORCED),
    (Applied(digest=OTHER, machine=machine_id(1)), WANTED, DIGEST, False, Cause.DRIFT),
    (Applied(digest=OTHER, machine=machine_id(2)), WANTED, DIGEST, False, Cause.DRIFT),
    (Applied(digest=DIGEST, machine=machine_id(2)), WANTED, DIGEST, False, Cause.MOVED),
    (None, NOTHING, "", True, Cause.NOTHING),
    (WANTED, NOTHING, DIGEST, False, Cause.NOTHING),
]


@pytest.mark.parametrize("row", ROWS)
def test_note_at_the_host_decides_whether_commands_run(row: Row) -> None:
    noted, wanted, recorded, forced, cause = row
    assert cause_of(noted, wanted, recorded, forced=forced) is cause
    assert cause.runs == (cause not in {Cause.NOTHING, Cause.CURRENT})


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_digests_agree_only_for_the_same_list(one: list[str], other: list[str]) -> None:
    same = digest_of(tuple(one)) == digest_of(tuple(other))
    assert same == (one == other)


def test_digest_stays_what_it_was() -> None:
    """It is noted at hosts: another way to make it would run everything everywhere again."""
    assert digest_of(("brew update", "brew upgrade")) == "fce0f719ab759330126bc1c67858f638"
    assert digest_of(()) == ""


@given(st.text())
def test_note_is_read_whole_or_not_at_all(text: str) -> None:
    found = note_of(text)
    assert found is None or str(found) == text.strip()


@pytest.mark.parametrize("text", ["", DIGEST, f"{DIGEST} ", f"{DIGEST[1:]} m-a", f"{'Z' * 32} m-a"])
def test_damaged_note_is_none(text: str) -> None:
    assert note_of(text) is None


def test_note_is_read_as_it_was_written() -> None:
    assert note_of(f"{WANTED}\n") == WANTED


def test_sudo_that_reads_its_input_is_recognized() -> None:
    for text in ("sudo -S true", "true && sudo -kS id", "sudo -u a -S b", "sudo --stdin x"):
        assert asks(text)
    for text in ("sudo true", "sudo -n true", "sudo true; ls -S", "pseudo -S", "echo S"):
        assert not asks(text)
