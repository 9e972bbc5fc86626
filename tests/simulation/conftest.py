"""Seeds in which the lab itself once erred: "make proof" asks them, and "make test" does not.

What the program once did wrong is asked by each "make test". A judge or a world that errs again
costs a false alarm, which the thousands of seeds of a proof raise as well.
"""

from collections.abc import Iterator, Mapping
from typing import cast

import pytest

LAB = ("(the judge)", "(the lab)")
"""How the text of such a seed ends, in the tables of the modules here."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the seeds of past failures that were the lab's own."""
    for item in items:
        if isinstance(item, pytest.Function) and any(map(_is_of_the_lab, _found(item))):
            item.add_marker(pytest.mark.proof)


def _is_of_the_lab(text: str) -> bool:
    return text.endswith(LAB)


def _found(item: pytest.Function) -> Iterator[str]:
    """Yield what the seed of a test once found, by the tables of its module."""
    call = getattr(item, "callspec", None)
    seed: object = call.params.get("seed") if call is not None else None
    for name, table in vars(item.module).items():
        if "FAILURES" in name and isinstance(table, Mapping) and seed in table:
            yield cast("Mapping[object, str]", table)[seed]
