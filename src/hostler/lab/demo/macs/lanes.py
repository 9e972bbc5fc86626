"""Lanes: what each host was at which time of the week, told from names, statuses and the ledger."""

from dataclasses import dataclass, field
from enum import StrEnum

from hostler.lab.macs.names import parse_name
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus

from .engines import IOS, POOL

SAMPLE = 120.0
"""Hosts are looked at as often, in simulated seconds."""


class State(StrEnum):
    """What a host is just now."""

    COMING = "coming"
    FREE = "free"
    IOS = "ios"
    TESTS = "tests"
    WIPING = "wiping"
    PARKED = "parked"
    LENT = "lent"
    ORPHAN = "stray"
    RETIRING = "retiring"
    GONE = "gone"


DESCRIPTIONS = {
    State.COMING: "is ordered",
    State.FREE: "is free",
    State.IOS: "is claimed for ios",
    State.TESTS: "is claimed for tests",
    State.WIPING: "is being wiped",
    State.PARKED: "is in standby: paid for anyway, and clean",
    State.LENT: "is ann's",
    State.ORPHAN: "is stranded: it bears our name, and no record explains it",
    State.RETIRING: "is retired: it is deleted at the end of its paid period",
    State.GONE: "is deleted",
}
"""What is told when a host becomes so."""

_STAGES = {
    "standby": State.WIPING,
    "rested": State.PARKED,
    "releasing": State.WIPING,
    "wiping": State.WIPING,
    "parked": State.PARKED,
    "ordered": State.FREE,
    "quarantined": State.WIPING,
    "retiring": State.RETIRING,
}
"""What a host is by the stage that its name tells; in any other it is its fleet's."""


def state_of(mac: Mac, *, orphan: bool = False) -> State:
    """Return what a host is. Pure."""
    if orphan:
        return State.ORPHAN
    if not mac.delivered:
        return State.COMING
    if mac.status is MacStatus.REINSTALLING:
        return State.WIPING
    return _named(mac.name)


def _named(name: str) -> State:
    words = parse_name(name)
    if words is None:
        return State.FREE if name.startswith(POOL) else State.LENT
    display, owner_tag = words
    return _STAGES.get(display, State.IOS if owner_tag.fleet == IOS else State.TESTS)


@dataclass(slots=True)
class Lane:
    """One host's week: since when it was what, in samples; `own` if it was in the pool at first."""

    host: str
    label: str
    own: bool
    runs: list[tuple[int, State]] = field(default_factory=list[tuple[int, State]])

    def note(self, sample: int, state: State) -> bool:
        """Note what the host is now; tell whether that is new."""
        if self.runs and self.runs[-1][1] is state:
            return False
        self.runs.append((sample, state))
        return True


_WEIGHT = {
    State.ORPHAN: 9,
    State.WIPING: 8,
    State.RETIRING: 7,
    State.COMING: 6,
    State.IOS: 5,
    State.TESTS: 5,
    State.PARKED: 4,
    State.LENT: 3,
    State.FREE: 2,
    State.GONE: 1,
}
"""What is shown of a column in which a host was several things: the weightiest, the last first."""


def cells(lane: Lane, now: int, samples: int, columns: int) -> list[State | None]:
    """Return a lane as that many columns, of a week of so many samples. Pure."""
    states: list[State | None] = [None] * columns
    ends = [start for start, _ in lane.runs[1:]] + [now + 1]
    for (start, state), end in zip(lane.runs, ends, strict=True):
        first = start * columns // samples
        last = min(columns - 1, (end - 1) * columns // samples)
        for column in range(first, last + 1):
            older = states[column]
            if older is None or _WEIGHT[state] >= _WEIGHT[older]:
                states[column] = state
    return states
