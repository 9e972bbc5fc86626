"""Lanes: what each box was at which time of the day, as the rack itself has it."""

from dataclasses import dataclass, field
from enum import IntEnum

from hostler.simulators.power.rack.machine import Machine


class Light(IntEnum):
    """What is seen of a box; where it was several things in one column, the greatest is drawn."""

    OFF = 0
    ON = 1
    UP = 2
    FAULT = 3


SIGNS = {
    Light.OFF: ("·", "dim"),
    Light.ON: ("▒", "yellow"),
    Light.UP: ("█", "green"),
    Light.FAULT: ("!", "red bold"),
}
"""How each is drawn; as a sign too, for who sees no colours."""
MEANINGS = {
    Light.OFF: "off",
    Light.ON: "starting or ending",
    Light.UP: "up",
    Light.FAULT: "does not answer, or loses a command",
}


def light(machine: Machine, failed: int) -> Light:
    """Return what a box shows now; it had so many failed commands when it was last looked at."""
    fails = sum(bool(command.failed) for command in machine.commands) > failed
    if fails or machine.in_force() is not None:
        return Light.FAULT
    if machine.is_up():
        return Light.UP
    return Light.ON if machine.has_power() else Light.OFF


@dataclass(slots=True)
class Lane:
    """One box's day so far: what it was at which hours of the day, as parts of it."""

    seen: list[tuple[float, Light]] = field(default_factory=list[tuple[float, Light]])
    failed: int = 0

    def note(self, hour: float, machine: Machine) -> None:
        """Note what the box is now."""
        self.seen.append((hour, light(machine, self.failed)))
        self.failed = sum(bool(command.failed) for command in machine.commands)


def cells(lane: Lane, hours: float, columns: int) -> list[Light | None]:
    """Return a lane as so many columns of a day of so many hours. Pure."""
    found: list[Light | None] = [None] * columns
    for hour, seen in lane.seen:
        column = min(columns - 1, int(hour / hours * columns))
        older = found[column]
        found[column] = seen if older is None else max(older, seen)
    return found
