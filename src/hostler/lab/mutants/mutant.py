"""A mutant: a known bug that is planted in a simulation to see that the simulation catches it.

Nothing in here is ever part of the program: a mutation takes the place of a function, by name, for
as long as one simulated run lasts.
"""

import importlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from msgspec import Struct

S = TypeVar("S")
Mutation = Callable[[Any], Any]
"""Makes the defective function from the good one."""


class Mutant(Struct, Generic[S], frozen=True, kw_only=True):
    """One bug: what it is, what is put where, and the scenario in which it soon shows.

    `puts` pairs the name of a function (`module:name` or `module:Class.name`, below `hostler`)
    with its mutation. `scenario` makes one in which nothing else happens. `caught` are the
    invariants of which one breaks first. `within` is how many seeds it takes at most.
    """

    summary: str
    puts: tuple[tuple[str, Mutation], ...]
    scenario: Callable[[S], S]
    caught: tuple[str, ...]
    within: int = 6


@contextmanager
def planted(mutant: Mutant[S]) -> Generator[None]:
    """Put a mutant's mutations into the program for a while."""
    undo = list[Callable[[], None]]()
    try:
        for place, mutation in mutant.puts:
            undo.append(put(place, mutation))
        yield
    finally:
        for restore in reversed(undo):
            restore()


def put(place: str, mutation: Mutation) -> Callable[[], None]:
    """Put a mutation in the place of a function; return what puts the good one back.

    ImportError or AttributeError where no function has that name any more.
    """
    holder, name = locate(place)
    good = getattr(holder, name)
    setattr(holder, name, mutation(good))
    return lambda: setattr(holder, name, good)


def locate(place: str) -> tuple[Any, str]:
    """Return the module or class that holds a function, and the function's name in it."""
    module, _, path = place.partition(":")
    holder: Any = importlib.import_module(f"hostler.{module}")
    *outer, name = path.split(".")
    for step in outer:
        holder = getattr(holder, step)
    getattr(holder, name)
    return holder, name
