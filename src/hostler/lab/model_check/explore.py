"""Explore: every state that a small model can reach, breadth first, to its end.

In each state and step the model's own invariants are checked. At the end, from every state a rest
must be reachable without another fault (L1).
"""

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from .graph import Graph

S = TypeVar("S")
SettingT = TypeVar("SettingT")
MOST = 10_000_000


class Violated(Exception):
    """An invariant does not hold; the message says which."""


class Transition(NamedTuple, Generic[S]):
    """What happened, what came of it, and whether it was no fault.

    `label` tells it as the party at `place` sees it, where the model has two that are alike;
    `mirrored` says that the two change their places in what came of it.
    """

    label: str
    after: S
    good: bool = True
    place: int = 0
    mirrored: bool = False


class Model(Protocol[S]):
    """A small world to explore."""

    def first(self) -> S:
        """Return the state in which it begins."""
        ...

    def key(self, state: S) -> Hashable:
        """Return what tells a state from others; states of one key have the same future."""
        ...

    def rests(self, state: S) -> bool:
        """Tell whether the state may be the last one: all that was asked for is reached."""
        ...

    def transitions(self, state: S) -> Iterator[Transition[S]]:
        """Yield every step that may be taken next; Violated where the state or a step is wrong."""
        ...


@dataclass(slots=True)
class Found:
    """What an exploration found: its size, and what is wrong with how one gets there.

    `finished` says whether there are no more states.
    """

    states: int = 0
    transitions: int = 0
    rests: int = 0
    wrong: str = ""
    path: tuple[str, ...] = ()
    finished: bool = True


def explore(model: Model[S], most: int = MOST) -> Found:
    """Explore a model to its end, or to the first thing that is wrong."""
    graph, found = Graph(), Found()
    found.finished = _explore(model, graph, found, most)
    found.states, found.rests = len(graph), len(graph.rests)
    if not found.wrong and found.finished and (stuck := graph.without_exit()) is not None:
        found.wrong = "L1: from here no rest can be reached without a fault"
        found.path = graph.path(stuck)
    return found


def _explore(model: Model[S], graph: Graph, found: Found, most: int) -> bool:
    """Go on until there is nothing new, and tell whether that was reached."""
    first = model.first()
    graph.add(model.key(first), 0, "")
    todo = deque([(0, first)])
    while todo and len(graph) <= most:
        number, state = todo.popleft()
        if model.rests(state):
            graph.rests.append(number)
        try:
            todo += _reached(model, graph, found, (number, state))
        except Violated as violated:
            found.wrong, found.path = str(violated), graph.path(number)
            return True
    return not todo


def _reached(
    model: Model[S], graph: Graph, found: Found, place: tuple[int, S]
) -> Iterator[tuple[int, S]]:
    """Yield the new states that one step leads to, and remember all steps."""
    number, state = place
    for step in model.transitions(state):
        found.transitions += 1
        reached, new = graph.add(
            model.key(step.after), number, step.label, place=step.place, mirrored=step.mirrored
        )
        if step.good:
            graph.connect(number, reached)
        if new:
            yield reached, step.after


def print_all(settings: Mapping[str, SettingT], explored: Callable[[SettingT], Found]) -> int:
    """Explore settings in turn, print what was found, and return 1 if anything is wrong."""
    wrong = False
    for name, setting in settings.items():
        begun = time.process_time()
        found = explored(setting)
        for line in _lines(name, found, time.process_time() - begun):
            print(line, flush=True)
        wrong = wrong or bool(found.wrong)
    return 1 if wrong else 0


def _lines(name: str, found: Found, took: float) -> Iterable[str]:
    whole = "" if found.finished or found.wrong else ", not finished"
    yield f"{name}: {found.states} states, {found.transitions} transitions, {took:.0f} s{whole}"
    if found.wrong:
        yield f"  {found.wrong}"
        yield from (f"    {step}" for step in found.path)
