"""Host: what outlives machines (a Mac, a box in a rack), with goals and memory of its own.

Created servers have none; leased and owned hosts are recorded here from the first claim on.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from .ids import AccountName, HostId, MachineId, Zone
from .machine import Asked


class HostCondition(StrEnum):
    """How a host stands with us."""

    FREE = "free"
    HELD = "held"
    DIRTY = "dirty"
    WIPING = "wiping"
    QUARANTINED = "quarantined"
    RETIRING = "retiring"


class HostGoal(StrEnum):
    """What is wanted of a host, apart from any machine on it."""

    WIPED = "wiped"
    OFF = "off"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host: who holds it, its strikes, wipe proof, paid window and unsure calls."""

    id: HostId
    account: AccountName
    zone: Zone
    version: int = 0
    condition: HostCondition = HostCondition.DIRTY
    machine: MachineId | None = None
    goal: HostGoal | None = None
    strikes: int = 0
    quarantined_until: datetime | None = None
    wiped: datetime | None = None
    paid_until: datetime | None = None
    least_on: timedelta = timedelta(0)
    least_off: timedelta = timedelta(0)
    asked: tuple[Asked, ...] = ()
