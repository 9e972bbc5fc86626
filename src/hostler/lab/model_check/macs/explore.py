"""Exhaustive: every state that the small world of Macs can reach, breadth first, to its end.

Checked in each: a host is never two machines' (S13), is never claimed nor put into the pool unwiped
(S12), and is wiped or renamed for nobody but who has it (S5). At the end: from every state, without
another fault, all come to rest (L1): wanted machines are ready or told why not, and ended ones are
gone with their hosts wiped.
"""

import argparse
import sys
import time
from array import array
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from .model import World
from .properties import Judge
from .values import Fault, Setting, State, Violated


def _numbers() -> "array[int]":
    return array("l")


@dataclass(slots=True)
class Graph:
    """States by numbers; kept small, for there are millions of steps."""

    known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    origins: "array[int]" = field(default_factory=_numbers)
    labels: list[str] = field(default_factory=list[str])
    reconciled: bytearray = field(default_factory=bytearray)
    rests: "array[int]" = field(default_factory=_numbers)
    sources: "array[int]" = field(default_factory=_numbers)
    targets: "array[int]" = field(default_factory=_numbers)

    def __len__(self) -> int:
        """Return how many states were found."""
        return len(self.labels)

    def add(
        self, state: Hashable, origin: int, label: str, *, place: int = 0, mirrored: bool = False
    ) -> tuple[int, bool]:
        """Return the number of a state, and whether it is new.

        `label` speaks of two that may have changed their places, as `{0}` and `{1}`.
        """
        number = self.known.setdefault(state, len(self.labels))
        if number < len(self.labels):
            return number, False
        self.origins.append(origin)
        self.labels.append(label)
        self.reconciled.append(place + 2 * mirrored)
        return number, True

    def leads(self, source: int, target: int) -> None:
        """Remember a step that good weather may take."""
        self.sources.append(source)
        self.targets.append(target)

    def path(self, number: int) -> tuple[str, ...]:
        """Return the steps that lead to a state, each of the two by the number it began with."""
        way = list[int]()
        while number:
            way.append(number)
            number = self.origins[number]
        steps, swapped = list[str](), 0
        for step in reversed(way):
            first = swapped ^ (self.reconciled[step] & 1)
            steps.append(self.labels[step].format(first, 1 - first))
            swapped ^= self.reconciled[step] >> 1
        return tuple(steps)

    def without_exit(self) -> int | None:
        """Return the first state from which good weather leads to no rest, or None."""
        first, back = self._backwards()
        ended, todo = bytearray(len(self)), list(self.rests)
        for number in todo:
            ended[number] = 1
        while todo:
            target = todo.pop()
            for before in back[first[target] : first[target + 1]]:
                if not ended[before]:
                    ended[before] = 1
                    todo.append(before)
        stuck = ended.find(0)
        return None if stuck < 0 else stuck

    def _backwards(self) -> tuple["array[int]", "array[int]"]:
        """Return the steps by their targets: where each target's begin, and their sources."""
        first = array("l", bytes(_WIDTH * (len(self) + 1)))
        for target in self.targets:
            first[target + 1] += 1
        for number in range(len(self)):
            first[number + 1] += first[number]
        back, filled = array("l", bytes(_WIDTH * len(self.sources))), array("l", first)
        for source, target in zip(self.sources, self.targets, strict=True):
            back[filled[target]] = source
            filled[target] += 1
        return first, back


_WIDTH = array("l").itemsize


QUICK: dict[str, Setting] = {
    "2 hosts, 2 installations that claim": Setting(ends=0, overlaps=False),
    "2 hosts, one claims while the other releases": Setting(ends=1, ready=1, overlaps=False),
    "2 hosts, 2 installations that release": Setting(ready=2, overlaps=False),
    "2 hosts that one of 2 installations wiped": Setting(ends=0, overlaps=False, clean=True),
    "1 host, 2 installations that claim and release": Setting(hosts=1, overlaps=False),
    "1 installation that claims and releases": Setting(homes=1),
    "1 installation with 2 machines": Setting(homes=1, size=2, ends=0),
    "1 installation, any fault": Setting(homes=1, hosts=1, faults=1, overlaps=False),
    "1 host, 2 installations, a claim beyond settle": Setting(
        hosts=1, ends=0, overlaps=False, faults=1, kinds=(Fault.TOO_LATE,)
    ),
}
"""What the tests explore to its end."""

WHOLE: dict[str, Setting] = {
    "2 hosts, 2 installations that claim and release": Setting(overlaps=False),
}
"""What `make exhaustive` explores to its end besides."""

PERSON: dict[str, Setting] = {
    "2 hosts, 2 installations that claim, and a person": Setting(ends=0, overlaps=False, acts=1),
    "2 hosts, one claims while the other releases, and a person": Setting(
        ends=1, ready=1, overlaps=False, acts=1
    ),
    "2 hosts, 2 installations that release, and a person": Setting(ready=2, overlaps=False, acts=1),
    "1 host, 2 installations that claim and release, and a person": Setting(
        hosts=1, overlaps=False, acts=1
    ),
}
"""What `make exhaustive` explores to its end as well; the tests explore the beginning of each."""

DEEP: dict[str, Setting] = {
    "1 installation with 2 machines that come and go": Setting(homes=1, size=2),
    "2 hosts, 2 installations that claim, any fault": Setting(ends=0, overlaps=False, faults=1),
    "1 host, settle of 2 ticks": Setting(hosts=1, consistency_delay=2, ends=0, overlaps=False),
    "2 hosts, 2 installations that claim and release, and a person": Setting(
        overlaps=False, acts=1
    ),
}
"""What is explored on demand, up to a number of states."""


@dataclass(slots=True)
class Found:
    """What an exploration found: its size, and what is wrong with how one gets there.

    `private` is how many states of single installations make up those of the world; `finished` says
    whether there are no more.
    """

    states: int = 0
    transitions: int = 0
    private: int = 0
    rests: int = 0
    wrong: str = ""
    path: tuple[str, ...] = ()
    finished: bool = True


def explore(setting: Setting, most: int = 10_000_000) -> Found:
    """Explore a small world to its end, or to the first thing that is wrong."""
    world = World(setting)
    graph, found = Graph(), Found()
    try:
        found.finished = _explore(world, graph, found, most)
    except Violated as violated:
        found.wrong = str(violated)
    found.states, found.rests, found.private = len(graph), len(graph.rests), len(world.one.sides)
    if not found.wrong and found.finished and (stuck := graph.without_exit()) is not None:
        found.wrong, found.path = "L1: from here nobody comes to rest", graph.path(stuck)
    return found


def _explore(world: World, graph: Graph, found: Found, most: int) -> bool:
    """Go on until there is nothing new, and tell whether that was reached."""
    judge, first = Judge(world), world.first()
    graph.add(first, 0, "")
    todo = deque([(0, first)])
    while todo and len(graph) <= most:
        number, state = todo.popleft()
        try:
            if wrong := judge.wrong(state):
                raise Violated(wrong)  # noqa: TRY301 - as steps raise it: its path is told once
            if judge.rests(state):
                graph.rests.append(number)
            todo += _reached(world, graph, found, (number, state))
        except Violated:
            found.path = graph.path(number)
            raise
    return not todo


def _reached(
    world: World, graph: Graph, found: Found, place: tuple[int, State]
) -> Iterator[tuple[int, State]]:
    """Yield the new states that one step leads to, and remember all steps."""
    number, state = place
    for step in world.transitions(state):
        found.transitions += 1
        reached, new = graph.add(
            step.after, number, step.said, place=step.place, mirrored=step.mirrored
        )
        if step.good:
            graph.leads(number, reached)
        if new:
            yield reached, step.after


def _report(name: str, setting: Setting, most: int) -> Iterator[str]:
    begun = time.process_time()
    found = explore(setting, most)
    took = time.process_time() - begun
    whole = "" if found.finished or found.wrong else ", not finished"
    yield f"{name}: {found.states} states, {found.transitions} transitions, {took:.0f} s{whole}"
    if found.wrong:
        yield f"  {found.wrong}"
        yield from (f"    {step}" for step in found.path)


def main() -> None:
    """Explore, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m hostler.lab.model_check.macs.explore", description=__doc__
    )
    parser.add_argument("--person", action="store_true", help="explore what a person may do too")
    parser.add_argument("--deep", action="store_true", help="explore the larger worlds too")
    parser.add_argument("--most", type=int, default=10_000_000, help="states of each at most")
    arguments = parser.parse_args()
    wrong = False
    more = WHOLE | PERSON if arguments.person or arguments.deep else {}
    for name, setting in (QUICK | more | (DEEP if arguments.deep else {})).items():
        for line in _report(name, setting, arguments.most):
            print(line, flush=True)
            wrong = wrong or line.startswith("  ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
