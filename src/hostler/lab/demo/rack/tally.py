"""Tally: what came of the day, counted by the rack itself. Pure."""

from dataclasses import dataclass, field

from hostler.simulators.power.rack.rack import Rack

from .day import HOURS

EUROS = 0.25
"""What a kilowatt-hour costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackTally:
    """What happened. `kwh` is for the hours of the day; `kwh_always_on` had nothing been off."""

    machines: int
    wanted: int
    ready: int
    starts: int
    stops: int
    failed_commands: int
    recovered: int
    kwh: float
    kwh_always_on: float
    wrong_power_actions: int
    faults: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def saved(self) -> float:
        """Euros saved against always-on."""
        return (self.kwh_always_on - self.kwh) * EUROS

    def as_json(self) -> dict[str, object]:
        """Return it as one object."""
        return {
            "machines": self.machines,
            "wanted": self.wanted,
            "ready": self.ready,
            "starts": self.starts,
            "stops": self.stops,
            "failed_commands": self.failed_commands,
            "recovered": self.recovered,
            "kwh": round(self.kwh, 3),
            "kwh_always_on": round(self.kwh_always_on, 3),
            "euros_saved": round(self.saved, 2),
            "wrong_power_actions": self.wrong_power_actions,
            "faults": self.faults,
        }


def tally(rack: Rack, kwh: float, *, wanted: int, ready: int, wrong: int) -> RackTally:
    """Return what a rack says of its day, in which it drew so many kilowatt-hours."""
    commands = [command for one in rack.machines.values() for command in one.commands]
    changes = [change for one in rack.machines.values() for change in one.changes]
    failed = [command for command in commands if command.failed]
    always = sum(machine.watts[1] for machine in rack.machines.values()) * HOURS / 1000
    return RackTally(
        machines=len(rack.machines),
        wanted=wanted,
        ready=ready,
        starts=sum(change.on for change in changes),
        stops=sum(not change.on for change in changes),
        failed_commands=len(failed),
        recovered=sum(command.recovered is not None for command in failed),
        kwh=kwh,
        kwh_always_on=always,
        wrong_power_actions=wrong,
        faults=rack.struck(),
    )
