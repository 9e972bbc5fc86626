"""Rack: all machines of a simulated rack, what is armed in it, and what it has seen."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from .faults import Armed, Fault, Order
from .machine import Machine

_LAST = 100


@dataclass(slots=True)
class Rack:
    """The machines by name; `time` is theirs."""

    time: Callable[[], float]
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])

    def arm(self, order: Order) -> None:
        """Let a fault befall a machine, or all of them; raise ValueError where there is none."""
        now = self.time()
        if order.machine and order.machine not in self.machines:
            raise ValueError(f"machine: expected {', '.join(self.machines)}, not {order.machine}")
        for machine in self.machines.values():
            if order.machine in {"", machine.name}:
                machine.armed.append(order.armed(now))
        if order.fault is Fault.BROWN_OUT:
            for machine in self.machines.values():
                machine.cut(order.fault)

    def clear(self) -> None:
        """Let all faults cease; what broke stays as it is."""
        for machine in self.machines.values():
            for armed in machine.armed:
                armed.seconds, armed.left = 0.0, 0
            machine.armed.clear()

    def struck(self) -> dict[str, int]:
        """Return how often each fault befell anything."""
        total = Counter[str]()
        for machine in self.machines.values():
            total.update(machine.struck)
        return dict(sorted(total.items()))

    def kilowatt_hours(self) -> float:
        """Return what all of them drew so far."""
        return sum(machine.kilowatt_hours() for machine in self.machines.values())

    def up(self) -> dict[str, str]:
        """Return the names of the machines whose systems are up, by their addresses."""
        return {one.address: one.name for one in self.machines.values() if one.is_up()}

    def state(self) -> dict[str, object]:
        """Return how everything stands, as JSON."""
        machines = [_state(machine) for machine in self.machines.values()]
        return {
            "machines": machines,
            "on": sum(machine.has_power() for machine in self.machines.values()),
            "up": len(self.up()),
            "watts": round(sum(one.draw() for one in self.machines.values()), 1),
            "kwh": round(self.kilowatt_hours(), 6),
            "struck": self.struck(),
        }

    def faults(self) -> dict[str, object]:
        """Return what can be armed, what is, and how often each struck."""
        for machine in self.machines.values():
            machine.in_force()
        armed = {
            name: [_armed(one, self.time()) for one in machine.armed]
            for name, machine in self.machines.items()
            if machine.armed
        }
        return {"faults": [str(fault) for fault in Fault], "armed": armed, "struck": self.struck()}

    def journal(self) -> list[dict[str, object]]:
        """Return the last commands, the newest last."""
        entries = [
            (command.at, name, asdict(command))
            for name, machine in self.machines.items()
            for command in machine.commands
        ]
        entries.sort(key=lambda entry: entry[:2])
        return [{"machine": name, **command} for _, name, command in entries[-_LAST:]]


def _state(machine: Machine) -> dict[str, object]:
    machine.in_force()
    return {
        "name": machine.name,
        "method": machine.method,
        "address": machine.address,
        "power": "on" if machine.has_power() else "off",
        "up": machine.is_up(),
        "watts": machine.draw(),
        "kwh": round(machine.kilowatt_hours(), 6),
        "starts": sum(change.on for change in machine.changes),
        "faults": [str(armed.fault) for armed in machine.armed],
    }


def _armed(armed: Armed, now: float) -> dict[str, object]:
    left = armed.began + armed.seconds - now if armed.began is not None else armed.seconds
    return {
        "fault": str(armed.fault),
        "waits": armed.began is None,
        "seconds": round(max(0.0, left), 1),
        "count": max(0, armed.left),
    }
