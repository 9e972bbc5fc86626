"""The end of a Host's object: it stays until its host is nobody's, and left as it asks for. Pure.

An older autoscaler forgot a machine whose object was deleted, in the midst of an operation too, and
left it on. Here the host takes no machine any more, what has it keeps it until it ends, and then
its power is as `deletionPolicy` says: only then the object goes, and hostler knows it no longer.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from hostler.domain.model.calls import Shows
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import Host, HostGoal
from hostler.frontends.kubernetes.objects.models import Written
from hostler.ports.power import PowerState

from .hosts import Around, Known, Wanted, is_absent
from .status import Condition

POLICY = "deletionPolicy"
_POWER: Mapping[str, PowerState] = {"on": PowerState.ON, "off": PowerState.OFF}
_HOLDS: Mapping[str, HoldKind] = {"on": HoldKind.ON, "off": HoldKind.OFF}
_CONTRARY: Mapping[str, Shows] = {"on": Shows.REST, "off": Shows.POWER}
_WHY = "its object was deleted"
_SETTLES = timedelta(minutes=10)
"""So long a command may take effect after it was answered: a box shuts down in its own time."""


def wanted_at_end(one: Written, known: Known) -> Wanted:
    """Return how the host of a deleted object is to be held.

    One that is to be on is barred as soon as it was seen on: what only stays on, machines may take.
    """
    policy = str(one.wanted.get(POLICY, ""))
    if policy == "on" and _power(known) is PowerState.ON and known.host.binding is None:
        return Wanted(kind=HoldKind.RESERVED, why=_WHY)
    return Wanted(kind=_HOLDS.get(policy, HoldKind.RESERVED), why=_WHY)


def left(one: Written, known: Known | None, around: Around) -> str:
    """Return what a deleted object still waits for; empty where it may go.

    Where its account has no fleets nobody takes the host, and nobody switches it; nor where it is
    not in force, for it was wrong, and observations lack it. One that is retired takes no machine
    any more, is granted no hold, and may never be seen off. While its Provider is not in force it
    waits for that, if its power is to be anything.
    """
    if known is None or known.host.record is None:
        return ""
    if known.host.binding is not None:
        return f"machine {known.host.binding} has it, and keeps it until it ends"
    if known.host.record.goal is HostGoal.RETIRED or is_absent(known.host.record):
        return ""
    policy, record = str(one.wanted.get(POLICY, "")), known.host.record
    if all(fleet.account != known.host.account for fleet in around.fleets):
        waits = policy in _POWER and known.host.account in around.waiting
        why = "nobody can switch it: its Provider is not in force"
        return f"it is to be {policy}, and {why}" if waits else ""
    held = known.host.record.held(around.now)
    if held is None or not held.kind.bars_machines:
        return "machines are to be kept off it" if held is None else f"it is {held}"
    return _power_left(policy, known) or _changing(policy, record, around.now)


def _changing(policy: str, host: Host, now: datetime) -> str:
    """Return that a host is as it is to be, and was told shortly before to be otherwise."""
    contrary = _CONTRARY.get(policy)
    times = [one.closed or one.at for one in host.asked if contrary and one.shows is contrary]
    if not times or now - max(times) >= _SETTLES:
        return ""
    return f"it was told shortly before to be {'off' if policy == 'on' else 'on'}"


def _power_left(policy: str, known: Known) -> str:
    if known.power is not None and (operation := known.power.operation) is not None:
        return f"{operation.kind} is under way"
    if policy in _POWER and _power(known) is not _POWER[policy]:
        return f"it is to be {policy}, and is {_power(known)}"
    return ""


def left_though(refused: str, text: str, one: Written, known: Known, now: datetime) -> str:
    """Return what a deleted object waits for, where the engine `refused` to hold its host for that.

    What is only to be left as it is waits no more, once no machine has it: it is another's.
    """
    record = known.host.record
    if known.host.binding is not None or (record is not None and record.held(now) is not None):
        return text
    if one.wanted.get(POLICY) not in _POWER:
        return ""
    cure = f"set spec.{POLICY} to leave, and it is left as it is"
    return f"{text}; the engine refused that: {refused}: {cure}"


def end_condition(text: str) -> Condition:
    """Return that an object was deleted, and what it waits for."""
    return Condition(type="Deleting", holds=True, reason="Waiting", message=f"{_WHY}: {text}")


def _power(known: Known) -> PowerState:
    return known.power.power if known.power is not None else PowerState.UNKNOWN
