"""Precedence: what becomes of two requests about one fleet, machine or host: one table says it.

Each row is about a request that was carried out and still stands on the record, each column about
a later one. What is over does not stand: a machine that woke is up like any other. The same holds
whether both are taken in one cycle or days apart (docs/reference/requests.md shows the table).
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from hostler.domain.model.snapshot import RequestKind


class Subject(StrEnum):
    """What a request is about."""

    FLEET = "fleet"
    MACHINE = "machine"
    HOST = "host"


class Precedence(StrEnum):
    """What becomes of two requests: both are carried out, or only one of them, and which."""

    BOTH = "both"
    REPLACED = "replaced"
    REFUSED = "refused"


MEANINGS: Mapping[Precedence, str] = {
    Precedence.BOTH: "both are carried out, in their order",
    Precedence.REPLACED: "the later one replaces the earlier one, and the history says so",
    Precedence.REFUSED: "the earlier one stands; the later one is refused, with a sentence in the "
    "history and a non-zero exit code",
}


class Table(Struct, frozen=True):
    """The precedence of every ordered pair of requests about one sort of subject.

    `later` are the columns, and `rows` have one entry for each of them.
    """

    later: tuple[RequestKind, ...]
    rows: Mapping[RequestKind, tuple[Precedence, ...]]

    def of(self, earlier: RequestKind, later: RequestKind) -> Precedence:
        """Return what becomes of such a pair; both are carried out where they do not meet."""
        if later not in self.later or earlier not in self.rows:
            return Precedence.BOTH
        return self.rows[earlier][self.later.index(later)]


_B, _R, _X = Precedence.BOTH, Precedence.REPLACED, Precedence.REFUSED
_K = RequestKind

TABLES: Mapping[Subject, Table] = {
    Subject.FLEET: Table(
        (_K.SCALE, _K.GROW, _K.PAUSE, _K.RESUME, _K.DELETE, _K.ADOPT, _K.ADOPT_FLEET),
        {
            _K.SCALE: (_R, _B, _B, _B, _B, _B, _B),
            _K.GROW: (_B, _B, _B, _B, _B, _B, _B),
            _K.PAUSE: (_B, _B, _R, _R, _B, _B, _B),
            _K.RESUME: (_B, _B, _B, _B, _B, _B, _B),
            _K.DELETE: (_X, _X, _B, _B, _B, _X, _X),
            _K.ADOPT: (_B, _B, _B, _B, _B, _B, _B),
            _K.ADOPT_FLEET: (_B, _B, _B, _B, _X, _B, _X),
        },
    ),
    Subject.MACHINE: Table(
        (_K.DELETE, _K.RETIRE, _K.STANDBY, _K.WAKE, _K.PROTECT, _K.UNPROTECT),
        {
            _K.GROW: (_R, _B, _B, _B, _B, _B),
            _K.POOL_ADOPT: (_B, _B, _B, _B, _B, _B),
            _K.DELETE: (_B, _B, _X, _X, _B, _B),
            _K.RETIRE: (_B, _B, _X, _X, _B, _B),
            _K.STANDBY: (_R, _R, _B, _R, _B, _B),
            _K.WAKE: (_R, _R, _R, _B, _B, _B),
            _K.PROTECT: (_B, _B, _B, _B, _R, _R),
            _K.UNPROTECT: (_B, _B, _B, _B, _B, _B),
        },
    ),
    Subject.HOST: Table(
        (_K.POOL_ADD, _K.POOL_ADOPT, _K.RETIRE, _K.HOLD, _K.LIFT, _K.CYCLE),
        {
            _K.POOL_ADD: (_B, _B, _R, _B, _B, _B),
            _K.POOL_ADOPT: (_X, _X, _X, _B, _B, _X),
            _K.RETIRE: (_R, _X, _B, _X, _B, _X),
            _K.HOLD: (_B, _X, _B, _R, _R, _B),
            _K.LIFT: (_B, _B, _B, _B, _B, _B),
            _K.CYCLE: (_B, _B, _R, _B, _B, _B),
        },
    ),
}
"""Every ordered pair; a machine is also the subject of the request that makes it."""

REFUSALS: Mapping[tuple[Subject, RequestKind], str] = {
    (Subject.FLEET, _K.DELETE): "it is being deleted with all that it has",
    (Subject.FLEET, _K.ADOPT_FLEET): "it is taking over the machines of another fleet: ask again "
    "once it has them",
    (Subject.MACHINE, _K.DELETE): "it is being deleted",
    (Subject.MACHINE, _K.RETIRE): "it is being deleted, and its host retired",
    (Subject.HOST, _K.POOL_ADOPT): "a machine has it: name the machine instead",
    (Subject.HOST, _K.RETIRE): "it is being retired",
    (Subject.HOST, _K.HOLD): "a person holds it: lift that first",
}
"""Why a later request is refused, by what stands against it."""
