"""Provider: what its machines are like, and its pure half, as far as decisions depend on it."""

from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from hostler.domain.ids import Zone

from .calls import Call
from .capabilities import HostCapabilities, PowerLimits
from .machine import BootstrapFormat, Machine
from .phases import Goal
from .resource import Resource, Slot


class Capabilities(Struct, frozen=True, kw_only=True):
    """How this provider's machines behave.

    `main` is the slot whose resource must be up; `kinds` are all kinds of resource that its
    observations list, in the order in which they are listed; `consistency_delay` bounds how long
    effects and listings may lag, with `consistency_delays` for single kinds of call; `standby` says
    whether a machine may be kept while off; `hosts` is what is true of its hosts, where machines
    are allocations of hosts that outlive them, and None where they are created and destroyed;
    `own_templates` says whether a single machine may have a template of its own, and `bootstraps`
    in which formats it may have bootstrap data of its own (see MachineSpec). `quiet` is how long
    nothing is observed at least while nothing is expected.
    """

    main: Slot = Slot("server")
    kinds: tuple[str, ...] = ("server",)
    consistency_delay: timedelta = timedelta(seconds=60)
    consistency_delays: tuple[tuple[str, timedelta], ...] = ()
    standby: bool = False
    hosts: HostCapabilities | None = None
    deadline: timedelta = timedelta(seconds=20)
    page: int = 100
    own_templates: bool = False
    bootstraps: frozenset[BootstrapFormat] = frozenset()
    zones: tuple[Zone, ...] = ()
    quiet: timedelta = timedelta(0)

    @property
    def host_kind(self) -> str:
        """The kind of the resources that are hosts; empty where there are none."""
        return "" if self.hosts is None else self.hosts.kind

    @property
    def power(self) -> PowerLimits | None:
        """How often a host may be switched; None where its power is not ours to decide."""
        return None if self.hosts is None else self.hosts.power

    def consistency_delay_of(self, kind: str) -> timedelta:
        """Return the consistency delay of one kind of call, or the general one."""
        return next(
            (time for name, time in self.consistency_delays if name == kind), self.consistency_delay
        )


class Planner(Protocol):
    """How to get from the resources that exist to a goal."""

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now, in order; empty means wait, or nothing to do.

        Pure: the same arguments, the same calls. Creating, resuming, rolling back and cleaning up
        are this one function with another goal. Calls whose answers are needed by later ones are
        returned first; the caller applies answers to `resources` and asks again.
        """
        ...
