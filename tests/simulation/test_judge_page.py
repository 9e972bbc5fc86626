"""The page of what the judge checks names places that there are, and leaves no invariant out."""

import re
from pathlib import Path

import pytest

from hostler.lab.mutants.mutant import locate

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "judge.md").read_text()
PLACES = sorted(set(re.findall(r"`((?:lab|testing)\.[a-z_.]+:[\w.]+)`", PAGE)))
INVARIANTS = (
    *(f"S{number}" for number in range(1, 14)),
    "L1",
    "L2",
    "E1",
    "E2",
    "C1",
    "power",
    "hold",
)


@pytest.mark.parametrize("place", PLACES)
def test_place_of_a_check_exists(place: str) -> None:
    holder, name = locate(place)
    assert callable(getattr(holder, name))


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_every_invariant_has_a_row(invariant: str) -> None:
    heads = [row.split("|")[1] for row in PAGE.splitlines() if row.startswith("|")]
    assert any(invariant in head.replace(",", " ").split() for head in heads)
