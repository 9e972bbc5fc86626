"""Mutants name what they replace in texts, which no type checker reads: each place is looked up."""

import pytest

from hostler.lab.mutants.mutant import locate
from hostler.lab.simulate.providers import PROVIDERS

PLACES = {
    place
    for simulated in PROVIDERS.values()
    for mutant in simulated.mutants.values()
    for place, _ in mutant.puts
}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_function_that_a_mutant_replaces_exists(place: str) -> None:
    holder, name = locate(place)
    found: object = getattr(holder, name)
    assert callable(found) or isinstance(found, property)
