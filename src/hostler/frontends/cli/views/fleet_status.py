"""Standing: how a fleet stands, read from its records, and what is next for a machine. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import HostId
from hostler.domain.machines.rollout import keeps
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine, cost
from hostler.domain.model.phases import PHASES, Phase, sentence
from hostler.domain.model.snapshot import Orphan, Request
from hostler.frontends.cli.console.format import clock_time, until


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One fleet as its records have it at a time; `row` is None before the first engine."""

    fleet: Fleet
    row: FleetRow | None
    machines: tuple[Machine, ...]
    at: datetime
    orphans: tuple[Orphan, ...] = ()
    requests: tuple[Request, ...] = ()
    runs: bool = False
    past: bool = False
    hosts: Mapping[HostId, Host] = field(default_factory=dict[HostId, Host])

    @property
    def desired(self) -> int:
        """The size in force."""
        return self.row.desired(self.fleet) if self.row else self.fleet.size

    @property
    def counts(self) -> Counter[str]:
        """How many machines are in which phase."""
        return Counter(str(machine.phase) for machine in self.machines)

    @property
    def ready(self) -> int:
        """How many are up and usable."""
        return self.counts[Phase.READY]

    @property
    def cost(self) -> float:
        """What the living machines have cost so far."""
        return sum(cost(machine, self.at) for machine in self.machines)

    def host(self, machine: Machine) -> Host | None:
        """Return the record of a machine's host, where it has one that outlives it."""
        return self.hosts.get(machine.host) if machine.host else None

    def kept_until(self, machine: Machine) -> datetime | None:
        """Return until when a machine that starts is kept because its list is at fault, or None."""
        host, row = self.host(machine), self.row
        if host is None or row is None or machine.phase is not Phase.STARTING:
            return None
        broken = row.revision.broken
        if broken is None or not keeps(host, row.revision):
            return None
        return broken + self.fleet.timers.longest_protection

    @property
    def pause(self) -> str:
        """Who paused the fleet, why and until when; empty where nobody did."""
        hold = self.row.pause if self.row else None
        if hold is None or hold.until <= self.at:
            return ""
        why = f": {hold.why}" if hold.why else ""
        return f"paused by {hold.actor} until {clock_time(hold.until, self.at)}{why}"


_BOUNDS = {
    "admit": "at the latest",
    "start": "broken otherwise",
    "stop": "alarm otherwise",
    "drain": "ended anyhow",
    "max_age": "replaced",
}


def outlook(machine: Machine, fleet: Fleet, now: datetime, kept: datetime | None = None) -> str:
    """Return what is next for a machine as far as its record says; `explain` asks decide().

    `kept` is until when it is kept for a list that is at fault.
    """
    if machine.protection is not None and machine.is_protected(now):
        hold = machine.protection
        then = "; it ends then" if machine.deletion is not None else ""
        return f"held by {hold.actor} until {clock_time(hold.until, now)}{then}"
    if machine.retry_at is not None and machine.retry_at > now:
        return f"next try {until(machine.retry_at, now)}"
    if machine.doubt is not None:
        return f"to be confirmed: {machine.doubt.what}"
    bound = bound_of(machine, fleet)
    if kept is not None:
        return f"its list is at fault; given back {until(kept, now)}"
    if bound is None:
        return ""
    word = _BOUNDS.get(PHASES[machine.phase].bound or "", "")
    return f"{word} {until(machine.since + bound, now)}".strip()


def deletion_of(machine: Machine, now: datetime) -> str:
    """Return who asked for the end of a machine, when and why; empty where nobody did."""
    deletion = machine.deletion
    if deletion is None:
        return ""
    why = f": {sentence(deletion.why)}" if deletion.why else ""
    return f"asked for by {deletion.actor} at {clock_time(deletion.at, now)}{why}"


def bound_of(machine: Machine, fleet: Fleet) -> timedelta | None:
    """Return how long the machine may be in its phase, or None where that is not bounded."""
    name = PHASES[machine.phase].bound
    value: object = getattr(fleet.timers, name) if name else None
    return value if isinstance(value, timedelta) else None


def trouble(machine: Machine) -> str:
    """Return what is wrong with a machine, or an empty string."""
    if machine.fact(CLAIMED_TWICE) is not None:
        return "somebody else may have its host too: see hostler explain"
    if machine.stuck:
        return f"stuck: {machine.error}".removesuffix(": ")
    if machine.error:
        return machine.error
    return sentence(machine.reason) if machine.phase in {Phase.FAILED, Phase.STOPPING} else ""
