"""The page of the thirty defects names tests that there are, and leaves no number out."""

import re
from pathlib import Path

from hostler.domain.model.host import HostCondition
from hostler.domain.model.phases import Phase

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "thirty-defects.md").read_text()


def test_every_test_that_the_page_names_is_there() -> None:
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 30
    assert named <= known, named - known


def test_all_thirty_are_there() -> None:
    first = [cell.strip() for cell in re.findall(r"^\| ([\d, -]+) \|", PAGE, re.MULTILINE)]
    numbers = list[int]()
    for cell in first:
        for part in cell.split(","):
            begin, _, end = part.strip().partition("-")
            numbers += range(int(begin), int(end or begin) + 1)
    assert sorted(numbers) == list(range(1, 31))


def test_its_states_are_told_in_words_of_ours_and_none_of_our_phases_is_left_out() -> None:
    table = PAGE.partition("## Its states, and ours")[2]
    words = set(re.findall(r"\*(\w+)\*", table))
    phases, conditions = {str(phase) for phase in Phase}, {str(one) for one in HostCondition}
    assert words <= phases | conditions, words - phases - conditions
    assert phases - words == {str(Phase.DELETED)}
