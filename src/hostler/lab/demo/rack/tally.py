"""Tally: what came of a day, read from the rack itself and not from what hostler says of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct, field

from hostler.simulators.power.rack.faults import Fault
from hostler.simulators.power.rack.rack import Rack

HOUR = 3600.0
KILO = 1000.0
_FAULTS = frozenset(str(fault) for fault in Fault)


class Meter(Struct, frozen=True, kw_only=True):
    """What a rack drew, in kilowatt-hours of the day, and what it had drawn had it always been on.

    Both are for the same time.
    """

    kwh: float = 0.0
    always_on: float = 0.0

    @property
    def saved(self) -> float:
        """What was saved, as a part of what had been drawn."""
        return 1 - self.kwh / self.always_on if self.always_on else 0.0


class Counts(Struct, frozen=True, kw_only=True):
    """What the machines of a rack saw; only what commands did, no fault, is a start or a stop.

    `failed` are commands that met a fault, `recovered` those of them whose power was as they asked
    for after all.
    """

    starts: int = 0
    stops: int = 0
    failed: int = 0
    recovered: int = 0
    faults: Mapping[str, int] = field(default_factory=dict[str, int])


class RackTally(Struct, frozen=True, kw_only=True):
    """What happened. `price` is in euros for a kilowatt-hour, `seconds` are real ones.

    `wrong` says of each power command that was wrong what it was, and why.
    """

    machines: int
    asked: int
    up: int
    counts: Counts
    meter: Meter
    wrong: tuple[str, ...]
    price: float
    scale: float
    seconds: float

    @property
    def saved_euros(self) -> float:
        """What was saved in the day, against all machines always on."""
        return (self.meter.always_on - self.meter.kwh) * self.price

    def as_json(self) -> dict[str, object]:
        """Return it as one object."""
        return {
            "machines": self.machines,
            "asked": self.asked,
            "up": self.up,
            "starts": self.counts.starts,
            "stops": self.counts.stops,
            "failed_commands": self.counts.failed,
            "recovered": self.counts.recovered,
            "wrong_power_actions": len(self.wrong),
            "kwh": round(self.meter.kwh, 3),
            "kwh_always_on": round(self.meter.always_on, 3),
            "euros_per_kwh": self.price,
            "euros_saved": round(self.saved_euros, 3),
            "faults": dict(sorted(self.counts.faults.items())),
            "scale": round(self.scale, 1),
            "seconds": round(self.seconds, 1),
        }


def count(rack: Rack) -> Counts:
    """Count what the machines of a rack saw so far."""
    machines = tuple(rack.machines.values())
    changes = [one for machine in machines for one in machine.changes if one.by not in _FAULTS]
    failed = [one for machine in machines for one in machine.commands if one.failed]
    return Counts(
        starts=sum(change.on for change in changes),
        stops=sum(not change.on for change in changes),
        failed=len(failed),
        recovered=sum(command.recovered is not None for command in failed),
        faults=rack.struck(),
    )


@dataclass(slots=True)
class Metering:
    """Reads a rack's meter from now on; one real second is `scale` seconds of the day."""

    rack: Rack
    scale: float
    begun: float = 0.0
    before: float = 0.0

    def __post_init__(self) -> None:
        self.begun, self.before = self.rack.time(), self.rack.kilowatt_hours()

    def read(self) -> Meter:
        """Return what was drawn so far."""
        passed = (self.rack.time() - self.begun) / HOUR
        most = sum(machine.watts[True] for machine in self.rack.machines.values()) / KILO
        return Meter(
            kwh=(self.rack.kilowatt_hours() - self.before) * self.scale,
            always_on=most * passed * self.scale,
        )
