"""Every state that the small world of Macs can reach, breadth first, to its end.

Checked in each: a host is never two machines' (S13), is never claimed nor put into the pool unwiped
(S12), and is wiped or renamed for nobody but who has it (S5). At the end: from every state, without
another fault, all come to rest (L1): wanted machines are ready or told why not, and ended ones are
gone with their hosts wiped.
"""

import argparse
import sys
from collections.abc import Iterator
from functools import partial

from hostler.lab.model_check.explore import MOST, Found, Transition, Violated, print_all
from hostler.lab.model_check.explore import explore as explore_model

from .model import World
from .properties import Properties
from .values import Fault, Setting, State

QUICK: dict[str, Setting] = {
    "2 hosts, 2 installations that claim": Setting(ends=0, overlaps=False),
    "2 hosts, one claims while the other releases": Setting(ends=1, ready=1, overlaps=False),
    "2 hosts, 2 installations that release": Setting(ready=2, overlaps=False),
    "2 hosts that one of 2 installations wiped": Setting(ends=0, overlaps=False, clean=True),
    "1 host, 2 installations that claim and release": Setting(hosts=1, overlaps=False),
    "1 installation that claims and releases": Setting(homes=1),
    "1 installation with 2 machines": Setting(homes=1, size=2, ends=0),
    "1 installation, any fault": Setting(homes=1, hosts=1, faults=1, overlaps=False),
    "1 host, 2 installations, a claim that comes too late": Setting(
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
    "1 host, a consistency delay of 2 ticks": Setting(
        hosts=1, consistency_delay=2, ends=0, overlaps=False
    ),
    "2 hosts, 2 installations that claim and release, and a person": Setting(
        overlaps=False, acts=1
    ),
}
"""What is explored on demand, up to a number of states."""


class MacModel:
    """Macs, installations that claim them, and a person; implements `Model`."""

    def __init__(self, setting: Setting) -> None:
        self._world = World(setting)
        self._properties = Properties(self._world)
        self.first, self.rests = self._world.first, self._properties.rests

    def key(self, state: State) -> State:
        """Return the state: it is numbers already."""
        return state

    def transitions(self, state: State) -> Iterator[Transition[State]]:
        """Return every step that may be taken next, where nothing is wrong with the state."""
        if wrong := self._properties.wrong(state):
            raise Violated(wrong)
        return self._world.transitions(state)


def explore(setting: Setting, most: int = MOST) -> Found:
    """Explore a small world to its end, or to the first thing that is wrong."""
    return explore_model(MacModel(setting), most)


def main() -> None:
    """Explore, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m hostler.lab.model_check.macs.explore", description=__doc__
    )
    parser.add_argument("--person", action="store_true", help="explore what a person may do too")
    parser.add_argument("--deep", action="store_true", help="explore the larger worlds too")
    parser.add_argument("--most", type=int, default=MOST, help="states of each at most")
    arguments = parser.parse_args()
    more = WHOLE | PERSON if arguments.person or arguments.deep else {}
    settings = QUICK | more | (DEEP if arguments.deep else {})
    sys.exit(print_all(settings, partial(explore, most=arguments.most)))


if __name__ == "__main__":
    main()
