"""Values: what the small world is made of: its size, its Macs, and its steps, as values."""

import hashlib
import itertools
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, machine_id
from hostler.domain.model.calls import Call

from .calls import HOSTS, POOL, READY
from .observations import Home

ValueT = TypeVar("ValueT")

BY_HAND, THEIRS = f"{POOL}by-hand", "kept-by-a-person"
"""The names that a person gives: one of the pool, and one that is nobody's."""
PERSON = MachineId("a person")


class Fault(StrEnum):
    """What may go wrong; each takes one of the faults that are left.

    `LATE` is an effect that comes after its answer was given up, within the consistency delay;
    `TOO_LATE` comes beyond it. After a `TAKE_OVER` the calls of the process that was paused may
    still go on.
    """

    BUSY = "busy"
    LOST_BEFORE = "lost_before"
    LOST_AFTER = "lost_after"
    LATE = "late"
    TOO_LATE = "too_late"
    CRASH = "crash"
    TAKE_OVER = "take_over"


class Act(StrEnum):
    """What a person may do to a host: each takes one of the acts that are left.

    Name it as if it were free in the pool, as nobody's, or as claimed by a machine; or wipe it.
    """

    POOL = "pool"
    KEEP = "keep"
    CLAIM = "claim"
    WIPE = "wipe"


WITHIN = tuple(fault for fault in Fault if fault is not Fault.TOO_LATE)


class Setting(Struct, frozen=True, kw_only=True):
    """How large the world is: installations, machines of each, the consistency delay in ticks.

    `faults` and `acts` are how often on any path something goes wrong, and a person touches a host;
    `ends` says for how many installations the request that nothing is left may come at any time,
    `ready` how many have their machines at the beginning, `overlaps` whether observations begin
    while calls of the same installation are in flight. `clean` says that the first wiped all hosts;
    `mirrors` may be taken away, to tell apart what has only changed places.
    """

    homes: int = 2
    size: int = 1
    hosts: int = 2
    consistency_delay: int = 1
    faults: int = 0
    acts: int = 0
    kinds: tuple[Fault, ...] = WITHIN
    calls: tuple[Act, ...] = tuple(Act)
    ends: int = 2
    ready: int = 0
    overlaps: bool = True
    clean: bool = False
    mirrors: bool = True

    @property
    def alike(self) -> bool:
        """Whether two worlds are one whose installations have changed their places."""
        return self.homes == 2 and not self.clean and self.mirrors

    def home(self, place: int) -> Home:
        """Return one of the installations; machines of all like the same host best."""
        return Home(
            installation=InstallationId(f"i-{place}"),
            fleet=FleetName(f"fleet{place}"),
            ids=_ids(place, self.size + 1),
            size=self.size,
            consistency_delay=self.consistency_delay,
        )


def _ids(place: int, many: int) -> tuple[MachineId, ...]:
    """Return ids of machines that all like the first host best, so that they compete for it."""
    every = (machine_id(1000 * place + number) for number in itertools.count(1))
    rivals = (m for m in every if _liking(m, HOSTS[0]) < _liking(m, HOSTS[1]))
    return tuple(itertools.islice(rivals, many))


def _liking(machine: MachineId, host: HostId) -> bytes:
    """Return what claims choose by among hosts that are as good: the least one is taken."""
    return hashlib.sha256(f"{machine} {host}".encode()).digest()


class Box(NamedTuple):
    """A Mac, and what nobody can see of it: who used it since its last wipe, and what was done.

    `torn` says that a person renamed it while somebody had it; `double`, that a call took effect
    beyond the consistency delay while somebody had it.
    """

    name: str
    status: str = READY
    user: MachineId | None = PERSON
    torn: bool = False
    double: bool = False


class Late(NamedTuple):
    """A call that nobody waits for any more; `name` is what it read, None where it still reads.

    `holder` is the machine or the host for which it was made; `age` and `limit` are in ticks.
    """

    holder: str
    call: Call
    name: str | None
    age: int
    limit: int


class Touch(NamedTuple):
    """A write that takes effect: on which host, for which machine, and what it does."""

    host: int
    holder: str
    what: str


class Local(NamedTuple):
    """A step of one installation: the Macs and its side after it, and calls that go on alone."""

    label: str
    boxes: int
    side: int
    late: tuple[int, ...] = ()
    fault: bool = False
    good: bool = True
    touch: Touch | None = None
    wrong: str = ""


class State(NamedTuple):
    """Everything, by numbers: Macs, installations, calls that go on alone, what may go wrong.

    A call that goes on alone is twice its number, and one more where it is the second's.
    """

    boxes: int
    sides: tuple[int, ...]
    late: tuple[int, ...]
    faults: int
    acts: int


class Numbered(Generic[ValueT]):
    """Values, each known by a number of its own."""

    def __init__(self) -> None:
        self._numbers = dict[ValueT, int]()
        self._values = list[ValueT]()

    def number(self, value: ValueT) -> int:
        """Return the number of a value, a new one where it was never seen."""
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def __getitem__(self, number: int) -> ValueT:
        """Return the value of a number."""
        return self._values[number]

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self._values)
