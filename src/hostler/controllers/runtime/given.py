"""Ports that every controller of one process shares."""

from collections.abc import Callable
from dataclasses import dataclass

from hostler.domain.ids import MachineId
from hostler.ports.clock import Clock
from hostler.ports.command import Asker
from hostler.ports.metrics import Meters
from hostler.ports.preparer import Preparer
from hostler.ports.prober import Prober
from hostler.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The store, the clock, the prober, the meters, and a source of fresh machine ids.

    Without a `preparer`, hosts that are asked to be logged in to are probed as servers are; without
    an `asker` nobody knows whether a host is busy.
    """

    store: Store
    clock: Clock
    prober: Prober
    meters: Meters
    fresh: Callable[[], MachineId]
    preparer: Preparer | None = None
    asker: Asker | None = None
