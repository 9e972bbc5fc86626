"""Exhaustive: every state that a small world can reach, breadth first, to a fixed point.

Checked in each step: no destroyed part is bound in a wanted record (S5), records never hold more
than is wanted, a machine never has two servers (S2), and what is called gone is gone (S7). At the
end: from every state, without another fault, the wished rest can be reached (L1).
"""

import argparse
import sys
import time
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from hostler.domain.model.resource import Condition
from hostler.testing.fakes.planner import SERVER

from .canonical import key
from .model import Small
from .state import Fault, Setting, State, Violated, first

_ON = (Condition.STARTING, Condition.UP)
_CALLS = (Fault.BUSY, Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE, Fault.CRASH)

_HANDED = (Fault.TAKE_OVER,)

QUICK: dict[str, Setting] = {
    "1 machine, any fault": Setting(addresses=0),
    "1 machine with an address, a call or a crash": Setting(kinds=_CALLS),
    "1 machine, 2 effects too late": Setting(
        addresses=0, faults=2, kinds=(Fault.TOO_LATE,), shrinks=False, patience=4
    ),
    "1 machine, 2 replicas, 2 take-overs": Setting(
        addresses=0, replicas=2, faults=2, kinds=_HANDED, shrinks=False
    ),
    "2 machines, a call or a crash": Setting(machines=2, addresses=0, kinds=_CALLS, shrinks=False),
}
"""What the tests explore: worlds of one fault, but where it says otherwise."""

DEEP: dict[str, Setting] = {
    "1 machine, 2 calls or crashes": Setting(addresses=0, faults=2, kinds=_CALLS),
    "1 machine with an address, any fault": Setting(),
    "1 machine, 2 replicas, any fault": Setting(addresses=0, replicas=2),
    "1 machine, any 2 faults": Setting(addresses=0, faults=2, shrinks=False),
    "2 machines, 2 replicas, any fault": Setting(
        machines=2, addresses=0, replicas=2, shrinks=False
    ),
}
"""What `make proof` explores as well."""


@dataclass(slots=True)
class Found:
    """What an exploration found: its size, and what is wrong with how one gets there."""

    states: int = 0
    transitions: int = 0
    rests: int = 0
    wrong: str = ""
    path: tuple[str, ...] = ()
    finished: bool = True


@dataclass(slots=True)
class _Graph:
    """The states found so far: how each was reached first, and the ways back without faults."""

    numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    origins: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    back: list[list[int]] = field(default_factory=list[list[int]])
    rests: list[int] = field(default_factory=list[int])

    def add(self, name: Hashable, origin: int, label: str) -> tuple[int, bool]:
        """Return the number of a state, and whether it is new."""
        number = self.numbers.get(name)
        if number is not None:
            return number, False
        number = len(self.origins)
        self.numbers[name] = number
        self.origins.append((origin, label))
        self.back.append([])
        return number, True

    def path(self, number: int) -> tuple[str, ...]:
        """Return the steps that lead to a state."""
        steps = list[str]()
        while number:
            number, label = self.origins[number]
            steps.append(label)
        return tuple(reversed(steps))

    def without_exit(self) -> int | None:
        """Return a state from which no rest can be reached without a fault, or None."""
        ended, todo = set(self.rests), deque(self.rests)
        while todo:
            for before in self.back[todo.popleft()]:
                if before not in ended:
                    ended.add(before)
                    todo.append(before)
        return next((n for n in range(len(self.origins)) if n not in ended), None)


def explore(setting: Setting, most: int = 10_000_000) -> Found:
    """Explore a small world to its fixed point, or to the first thing that is wrong."""
    small, graph, found = Small(setting), _Graph(), Found()
    beginning = first(setting)
    todo = deque([(graph.add(key(beginning), 0, "")[0], beginning)])
    while todo:
        number, state = todo.popleft()
        if small.at_rest(state):
            graph.rests.append(number)
        try:
            for label, after, fault in small.transitions(state):
                found.transitions += 1
                _check(after, setting)
                reached, new = graph.add(key(after), number, label)
                if not fault:
                    graph.back[reached].append(number)
                if new:
                    todo.append((reached, after))
        except Violated as violated:
            found.wrong, found.path = str(violated), graph.path(number)
            break
        if len(graph.origins) > most:
            found.finished = False
            break
    found.states, found.rests = len(graph.origins), len(graph.rests)
    if not found.wrong and found.finished and (stuck := graph.without_exit()) is not None:
        found.wrong, found.path = "L1: from here no rest can be reached", graph.path(stuck)
    return found


def _check(state: State, setting: Setting) -> None:
    """At most one server of a machine exists, or at least is ever switched on."""
    there = [p.owner_tag.machine for p in state.resources if p.slot == SERVER and p.owner_tag]
    if len(there) != len(set(there)) and Fault.TOO_LATE not in setting.kinds:
        raise Violated(f"S2: there are two servers of one machine: {sorted(there)}")
    on = [
        p.owner_tag.machine
        for p in state.resources
        if p.slot == SERVER and p.condition in _ON and p.owner_tag
    ]
    if len(on) != len(set(on)):
        raise Violated(f"S2: two servers of one machine are at work: {sorted(on)}")


def _report(name: str, setting: Setting) -> Iterator[str]:
    begun = time.perf_counter()
    found = explore(setting)
    took = time.perf_counter() - begun
    yield f"{name}: {found.states} states, {found.transitions} transitions, {took:.0f} s"
    if found.wrong:
        yield f"  {found.wrong}"
        yield from (f"    {step}" for step in found.path)


def main() -> None:
    """Explore, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m hostler.lab.model_check.servers.explore", description=__doc__
    )
    parser.add_argument("--deep", action="store_true", help="explore the larger worlds too")
    arguments = parser.parse_args()
    wrong = False
    for name, setting in (QUICK | DEEP if arguments.deep else QUICK).items():
        for line in _report(name, setting):
            print(line, flush=True)
            wrong = wrong or line.startswith("  ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
