"""Every state that a small world can reach, breadth first, to a fixed point.

Checked in each step: no destroyed part is bound in a wanted record (S5), records never hold more
than is wanted, a machine never has two servers (S2), and what is called gone is gone (S7). At the
end: from every state, without another fault, the rest that was asked for can be reached (L1).
"""

import argparse
import sys
from collections.abc import Iterator

from hostler.domain.model.resource import Condition
from hostler.lab.model_check.explore import Found, Transition, Violated, print_all
from hostler.lab.model_check.explore import explore as explore_model
from hostler.testing.fakes.planner import SERVER

from .canonical import Key, key
from .model import World
from .state import Fault, Setting, State, first

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


class ServerModel:
    """Machines that are created and destroyed; implements `Model`."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._world = setting, World(setting)
        self.rests = self._world.at_rest

    def first(self) -> State:
        """Return an empty world and store."""
        return first(self._setting)

    def key(self, state: State) -> Key:
        """Return the canonical form of a state."""
        return key(state)

    def transitions(self, state: State) -> Iterator[Transition[State]]:
        """Yield every step that may be taken next, each checked."""
        for transition in self._world.transitions(state):
            _check(transition.after, self._setting)
            yield transition


def explore(setting: Setting) -> Found:
    """Explore a small world to its fixed point, or to the first thing that is wrong."""
    return explore_model(ServerModel(setting))


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


def main() -> None:
    """Explore, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m hostler.lab.model_check.servers.explore", description=__doc__
    )
    parser.add_argument("--deep", action="store_true", help="explore the larger worlds too")
    arguments = parser.parse_args()
    sys.exit(print_all(QUICK | DEEP if arguments.deep else QUICK, explore))


if __name__ == "__main__":
    main()
