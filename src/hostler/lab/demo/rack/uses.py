"""Uses: which machine had which box from when to when, by the history. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hostler.domain.model.commands import Event
from hostler.domain.model.phases import Phase
from hostler.simulators.power.rack.machine import Change

_SLACK = timedelta(milliseconds=100)
"""The history is written just after what it tells of."""
_COMMANDS = frozenset({"on", "off_soft", "off_hard", "cycle"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One machine's use of a box: taken, ready for jobs, let go of; None: not yet."""

    box: str
    taken: datetime
    ready: datetime | None = None
    ended: datetime | None = None


def uses(events: Iterable[Event]) -> tuple[Use, ...]:
    """Return each machine's use of its box, in the order in which they were taken."""
    found = dict[tuple[str, str], Use]()
    current = dict[str, tuple[str, str]]()
    for event in events:
        machine = str(event.machine or "")
        if event.kind == "host" and event.host is not None:
            key = current[machine] = machine, str(event.host)
            found[key] = Use(box=str(event.host), taken=event.at)
        if event.kind != "moved" or machine not in current:
            continue
        key, phase = current[machine], event.detail.partition(":")[0].partition(">")[2]
        use = found[key]
        if phase == Phase.READY and use.ready is None:
            found[key] = replace(use, ready=event.at)
        if phase in {Phase.STOPPING, Phase.DELETED, Phase.FAILED} and use.ended is None:
            found[key] = replace(use, ended=event.at)
    return tuple(found.values())


def wrong_actions(
    changes: Mapping[str, Sequence[Change]], known: Iterable[Use], begin: datetime
) -> tuple[str, ...]:
    """Return each change of power that no use allows, as a sentence; `begin` is time 0 of changes.

    A command may cut a box only while no machine is ready on it, and power it only for a machine
    that has it. What a fault did, or a person, is nobody's command.
    """
    by_box = dict[str, list[Use]]()
    for use in known:
        by_box.setdefault(use.box, []).append(use)
    return tuple(
        f"{box} went {'on' if change.on else 'off'} by {change.by} at {change.at:.1f} s"
        for box, entries in changes.items()
        for change in entries
        if change.by in _COMMANDS
        and _is_wrong(change, begin + timedelta(seconds=change.at), by_box.get(box, []))
    )


def _is_wrong(change: Change, at: datetime, known: Iterable[Use]) -> bool:
    if change.on:
        return not any(use.taken - _SLACK <= at for use in known if _lasts(use, at))
    return any(
        use.ready is not None and use.ready <= at - _SLACK and _lasts(use, at + _SLACK)
        for use in known
    )


def _lasts(use: Use, at: datetime) -> bool:
    return use.ended is None or at <= use.ended
