"""Day: how many machines are wanted at each hour, and what goes wrong in it."""

from dataclasses import dataclass

from hostler.simulators.power.rack.faults import Fault, Order
from hostler.simulators.power.rack.rack import Rack

HOURS = 24
DEMAND = (2, 1, 1, 1, 1, 2, 4, 7, 9, 10, 10, 8, 7, 9, 10, 10, 9, 7, 5, 4, 4, 3, 2, 2)
"""Machines that are wanted from each hour on: a morning, a lunch, an afternoon, a night."""

_HUNG_FOR = 2.0
"""Hours for which the controller hangs."""

TROUBLES = (
    (5.0, Fault.BMC_HUNG, "redfish", "the next command to a controller will make it hang"),
    (5.0, Fault.PACKET_LOST, "wake-on-lan", "the next packets that wake machines will be lost"),
    (12.0, Fault.COMMAND_IGNORED, "", "the next command to each machine will be ignored"),
)
"""From which hour on what befalls the machines of a method, or all of them, in words too."""

REPEATS = 3
"""Packets that are sent for one start: all of them are lost."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the day goes: `seconds` are real ones, for all of its hours."""

    seconds: float

    @property
    def hour(self) -> float:
        """How many real seconds an hour takes."""
        return self.seconds / HOURS

    @property
    def factor(self) -> float:
        """How many seconds of the day one real second is."""
        return 3600 / self.hour

    def wanted(self, passed: float) -> int:
        """Return how many machines are wanted after so many real seconds."""
        return DEMAND[min(int(passed / self.hour), HOURS - 1)]

    def clock(self, passed: float) -> str:
        """Return the time of the day after so many real seconds: "07:30"."""
        minutes = min(int(passed / self.hour * 60), HOURS * 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"


@dataclass(slots=True)
class Troubles:
    """What is still to go wrong."""

    pace: Pace
    left: list[tuple[float, Fault, str, str]]

    def due(self, passed: float, rack: Rack) -> tuple[str, ...]:
        """Arm what is due after so many real seconds; return how it is announced."""
        now = [one for one in self.left if passed >= one[0] * self.pace.hour]
        self.left = [one for one in self.left if one not in now]
        for _, fault, method, _ in now:
            self._arm(fault, method, rack)
        return tuple(text for *_, text in now)

    def _arm(self, fault: Fault, method: str, rack: Rack) -> None:
        lasts = fault is Fault.BMC_HUNG
        for machine in rack.machines.values():
            if method in {"", machine.method}:
                rack.arm(
                    Order(
                        fault=fault,
                        machine=machine.name,
                        count=REPEATS if fault is Fault.PACKET_LOST else 1,
                        seconds=_HUNG_FOR * self.pace.hour if lasts else 30.0,
                        at_command=lasts,
                    )
                )
