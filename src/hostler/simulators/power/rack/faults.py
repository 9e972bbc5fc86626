"""Faults: what can be armed in a rack, and how long each lasts."""

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct


class Fault(StrEnum):
    """What can be armed: the first two befall commands and packets, the others last for a time."""

    COMMAND_IGNORED = "command_ignored"
    PACKET_LOST = "packet_lost"
    BMC_HUNG = "bmc_hung"
    PLUG_OFFLINE = "plug_offline"
    BROWN_OUT = "brown_out"


FOR_A_TIME = frozenset({Fault.BMC_HUNG, Fault.PLUG_OFFLINE, Fault.BROWN_OUT})
LONGEST = 86_400.0
MOST = 1000


@dataclass(slots=True, kw_only=True)
class Armed:
    """A fault that waits, or is in force.

    `left` is how many commands or packets it still befalls; one of those that last does so for
    `seconds` from `began` on, which is when the next command comes where it is None.
    """

    fault: Fault
    left: int = 1
    seconds: float = 0.0
    began: float | None = None

    def is_in_force(self, now: float) -> bool:
        """Tell whether it lasts just now."""
        return self.began is not None and now < self.began + self.seconds

    def is_over(self, now: float) -> bool:
        """Tell whether it befalls nothing any more."""
        if self.fault in FOR_A_TIME:
            return self.began is not None and not self.is_in_force(now)
        return self.left <= 0


class Order(Struct, frozen=True, kw_only=True):
    """A fault as somebody asks for it; without a machine it befalls the whole rack."""

    fault: Fault
    machine: str = ""
    count: int = 1
    seconds: float = 30.0
    at_command: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise ValueError(f"count: expected 1 to {MOST}, not {self.count}")
        if not 0 < self.seconds <= LONGEST:
            raise ValueError(f"seconds: expected more than 0, and {LONGEST:.0f} at most")
        if self.fault is Fault.BROWN_OUT and (self.machine or self.at_command):
            raise ValueError("brown_out: it befalls the whole rack at once: name fault and seconds")

    def armed(self, now: float) -> Armed:
        """Return it as a machine has it from now on."""
        lasts = self.fault in FOR_A_TIME
        return Armed(
            fault=self.fault,
            left=self.count,
            seconds=self.seconds if lasts else 0.0,
            began=now if lasts and not self.at_command else None,
        )
