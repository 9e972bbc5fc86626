"""Laws: how settings must stand to each other; a combination that cannot work is refused. Pure.

A value alone is judged where its table is decoded; here stands what two keys say to each other.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Generic, TypeVar

from msgspec import Struct

from hostler.controllers.runtime.settings import Settings
from hostler.domain.model.fleet import Fleet, ProbeKind
from hostler.ports.kind import Timing

from .errors import Faults, join
from .units import format_duration

T = TypeVar("T")


class Law(Struct, Generic[T], frozen=True, kw_only=True):
    """What a key must be for the others; `value` returns what stands there, None for nothing."""

    key: str
    expected: str
    value: Callable[[T], object]
    holds: Callable[[T], bool]


class Timed(Struct, Generic[T], frozen=True, kw_only=True):
    """Settings beside the times of the provider whose calls they are for."""

    of: T
    timing: Timing


ENGINE: tuple[Law[Settings], ...] = (
    Law(
        key="lease_beat",
        expected="at most half of lease_ttl",
        value=lambda s: s.lease_beat,
        holds=lambda s: s.lease_beat * 2 <= s.lease_ttl,
    ),
    Law(
        key="busy_first",
        expected="at most busy_last",
        value=lambda s: s.busy_first,
        holds=lambda s: s.busy_first <= s.busy_last,
    ),
)

ENGINE_AND_CALLS: tuple[Law[Timed[Settings]], ...] = (
    Law(
        key="lease_ttl",
        expected="longer than lease_beat and the longest call of the provider together: a call "
        "begins only while the lease outlives it",
        value=lambda s: s.of.lease_ttl,
        holds=lambda s: s.of.lease_ttl - s.of.lease_beat > s.timing.deadline,
    ),
)


def _replaces(fleet: Fleet) -> bool:
    return fleet.replace_outdated or fleet.timers.max_age is not None


def needed(fleet: Fleet) -> int:
    """Return how many machines a fleet must be able to have at once for all that it asks for."""
    return fleet.size + (min(fleet.surge, fleet.size) if _replaces(fleet) else 0)


FLEET: tuple[Law[Fleet], ...] = (
    Law(
        key="maximum",
        expected="at least the size",
        value=lambda f: f.maximum,
        holds=lambda f: f.maximum is None or f.maximum >= f.size,
    ),
    Law(
        key="maximum",
        expected="at least the size and the surge together, for a machine is replaced only when "
        "another one stands in for it (or surge = 0: the old one goes first)",
        value=lambda f: f.maximum,
        holds=lambda f: f.maximum is None or f.maximum < f.size or f.maximum >= needed(f),
    ),
    Law(
        key="size",
        expected="0 with renews = false: each machine is asked for by itself",
        value=lambda f: f.size,
        holds=lambda f: f.renews or f.size == 0,
    ),
    Law(
        key="timers.max_age",
        expected="longer than timers.start, or no machine is ever young enough",
        value=lambda f: f.timers.max_age,
        holds=lambda f: f.timers.max_age is None or f.timers.max_age > f.timers.start,
    ),
    Law(
        key="ready.command",
        expected='a command with probe = "command", and with no other probe',
        value=lambda f: list(f.probe.command) or None,
        holds=lambda f: (f.probe.kind is ProbeKind.COMMAND) == bool(f.probe.command),
    ),
    Law(
        key="ready.commands",
        expected='probe = "ssh" with it',
        value=lambda f: list(f.probe.commands),
        holds=lambda f: not f.probe.commands or f.probe.kind is ProbeKind.SSH,
    ),
    Law(
        key="ready.busy",
        expected='probe = "ssh" with it',
        value=lambda f: f.probe.busy,
        holds=lambda f: not f.probe.busy or f.probe.kind is ProbeKind.SSH,
    ),
    Law(
        key="ready.busy",
        expected="none beside node.managed: the Node's pods say whether it is busy",
        value=lambda f: f.probe.busy,
        holds=lambda f: not f.probe.busy or f.workload is None,
    ),
    Law(
        key="ready.probe",
        expected="node.managed beside it: the Nodes of this fleet are known by that",
        value=lambda f: f.probe.kind,
        holds=lambda f: f.probe.kind is not ProbeKind.NODE or f.workload is not None,
    ),
    Law(
        key="ready.key",
        expected='probe = "ssh" with it',
        value=lambda f: f.probe.key,
        holds=lambda f: not f.probe.key or f.probe.kind is ProbeKind.SSH,
    ),
    Law(
        key="ready.timeout",
        expected="shorter than timers.start, within which a probe must pass",
        value=lambda f: f.probe.timeout,
        holds=lambda f: f.probe.kind is ProbeKind.API or f.probe.timeout < f.timers.start,
    ),
    Law(
        key="timers.probe_every",
        expected="shorter than timers.start, within which a probe must pass",
        value=lambda f: f.timers.probe_every,
        holds=lambda f: f.probe.kind is ProbeKind.API or f.timers.probe_every < f.timers.start,
    ),
)

FLEET_AND_CALLS: tuple[Law[Timed[Fleet]], ...] = (
    Law(
        key="timers.start",
        expected="longer than the provider's consistency_delay: no effect is known before",
        value=lambda f: f.of.timers.start,
        holds=lambda f: f.of.timers.start > f.timing.consistency_delay,
    ),
    Law(
        key="timers.stop",
        expected="longer than the provider's consistency_delay: nothing is known to be gone before",
        value=lambda f: f.of.timers.stop,
        holds=lambda f: f.of.timers.stop > f.timing.consistency_delay,
    ),
)


def apply(laws: tuple[Law[T], ...], settings: T, path: str, faults: Faults) -> None:
    """Note each law that these settings, found at a path, break."""
    for law in _broken(laws, settings):
        value = law.value(settings)
        text = format_duration(value) if isinstance(value, timedelta) else value
        faults.add(_joined(path, law.key), text, law.expected)


def _broken(laws: tuple[Law[T], ...], settings: T) -> Iterator[Law[T]]:
    return (law for law in laws if not law.holds(settings))


def _joined(path: str, keys: str) -> str:
    for key in keys.split("."):
        path = join(path, key)
    return path
