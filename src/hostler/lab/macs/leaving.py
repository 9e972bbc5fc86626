"""Leaving: which hosts are left of machines that are gone, and which are left to people?"""

from collections.abc import Iterable

from hostler.domain.ids import HostId, PartId
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import LEFT, Machine
from hostler.domain.model.reasons import Reason
from hostler.domain.model.snapshot import SuspectClass
from hostler.lab.checks.shadow_store import Book

from .ground_truth import Fact, Truth

_LET_GO = frozenset(
    map(str, (Reason.HOST_TAKEN, Reason.RELEASE_SKIPPED, Reason.HOST_LOST, Reason.NOT_PREPARED))
)
"""Reasons for which a machine is gone although its host may still bear its name.

One that shows a stranger's key is not wiped, for nobody knows what answers there: its own record
keeps it apart, and names it so next.
"""
_TENANT = frozenset({"pending", "claimed", "resting", "rested", "releasing"})


def to_people(book: Book, books: Iterable[Book]) -> list[str]:
    """Return the hosts that a book's ledger tells as doubles, and that nobody's machine has."""
    held = {machine.host for one in books for machine in one.living()}
    told = (s for s in book.suspects.values() if s.cls is SuspectClass.DOUBLE)
    return [host for s in told if (host := host_of(s.part)) not in held]


def left_of(machine: Machine, truth: Truth) -> set[PartId]:
    """Return the hosts whose names tell that a machine has them; those it let go of apart.

    A claim that shows after its machine let go of the host came later than settle: nobody may undo
    it, it is told as a double for as long as it shows, and the machine goes without it.
    """
    if machine.reason in _LET_GO:
        return set()
    return {
        PartId(host)
        for host, fact in truth.hosts.items()
        if (whose := fact.whose) is not None
        and not fact.given
        and (machine.host == host or (machine.host is None and not _left(machine, host, fact)))
        and (whose[0] in _TENANT and whose[1].machine == machine.id)
    }


def _left(machine: Machine, host: HostId, fact: Fact) -> bool:
    """Tell whether a host's name came beyond settle, for a machine that had let go of it."""
    return machine.fact(f"{LEFT} {host}") is not None and fact.late >= fact.named
