"""Which seeds are for "make proof" alone: "make test" has an hour, and asks what tells it most.

What the program once did wrong is asked by each "make test", with the first seeds of each provider.
Where the lab itself once erred is left to "make proof": a judge or a world that errs again costs a
false alarm, which the thousands of seeds there raise as well.
"""

from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from hostler.lab.simulate.names import KUBERNETES

LAB = ("(the judge)", "(the lab)")
"""How the text of a seed ends in which the lab erred, in the tables of the modules here."""
ALONE = "test_scenario_of_a_mutant_alone_breaks_nothing"
"""The scenarios of mutants where nothing is planted; those of Kubernetes are the longest of all."""
OFTEN = "OFTEN"
"""What modules here call the number of seeds that each "make test" asks, of those from 1 on."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is asked by a proof alone."""
    for item in items:
        if isinstance(item, pytest.Function) and _is_for_proof(item):
            item.add_marker(pytest.mark.proof)


def _is_for_proof(item: pytest.Function) -> bool:
    call = getattr(item, "callspec", None)
    asked: Mapping[str, object] = call.params if call is not None else {}
    first, most = asked.get("first"), vars(item.module).get(OFTEN)
    slow = item.originalname == ALONE and asked.get("provider") == KUBERNETES
    later = slow or (isinstance(first, int) and isinstance(most, int) and first > most)
    return later or any(text.endswith(LAB) for text in _found(item, asked.get("seed")))


def _found(item: pytest.Function, seed: object) -> Iterator[str]:
    """Yield what a seed once found, by the tables of a test's module."""
    for name, table in vars(item.module).items():
        if "FAILURES" in name and isinstance(table, Mapping) and seed in table:
            yield cast("Mapping[object, str]", table)[seed]
