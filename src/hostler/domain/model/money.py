"""Money: what a machine, a fleet or a suspect has cost so far, in euros."""

from dataclasses import replace
from datetime import datetime, timedelta

from .machine import Machine

_HOUR = timedelta(hours=1)


def cost_between(price: float, start: datetime | None, end: datetime) -> float:
    """Return what `price` euros per hour come to between two times; nothing before a start."""
    if start is None or end <= start:
        return 0.0
    return price * ((end - start) / _HOUR)


def cost(machine: Machine, now: datetime) -> float:
    """Return what the machine has cost up to now."""
    return machine.spent + cost_between(machine.price, machine.billed_from, now)


def reprice(machine: Machine, price: float, now: datetime) -> Machine:
    """Return the record with what it has cost written down, and a new price from now on."""
    if abs(price - machine.price) < 1e-9:
        return machine
    return replace(machine, spent=cost(machine, now), price=price, billed_from=now)
