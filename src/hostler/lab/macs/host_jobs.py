"""Jobs on hosts: what runs on Macs whose fleets ask them whether they are busy (S6).

A host has a timetable of jobs of its own. One begins where a machine is ready there at its time: a
machine that is on its way out takes none. While it runs nobody of the machine's own installation
wipes or deletes the host, but after the machine was drained for as long as its fleet allows, or
where somebody asked for its end at once. A job is broken, and is nobody's fault, where its host
went down or a person or a late effect named it anew.
"""

from dataclasses import dataclass, field
from random import Random

from hostler.domain.ids import HostId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_records import Disk, MacStatus
from hostler.testing.invariants import Found, Violation

from .ground_truth import GroundTruth

_IDLE, _LONG = (300.0, 7200.0), (300.0, 2700.0)
"""How long a host has no job, and how long a job takes, in seconds."""
_SKEW = 5.0
"""How far apart, in seconds, an engine's clock and ours may be."""


@dataclass(slots=True, kw_only=True)
class Allocation:
    """A machine's time on a host: handed over `since`, and `until` it took no more jobs.

    It is drained from the decision that it leaves, `drained`, which may be saved only later.
    """

    own: str
    machine: Machine
    disk: Disk
    since: float
    until: float | None = None
    drained: float | None = None

    def takes(self, begun: float) -> bool:
        """Tell whether a job could begin at a time."""
        return self.since <= begun and (self.until is None or begun < self.until)


@dataclass(slots=True)
class HostJobs:
    """All jobs of a run of Macs, by the hosts on which they run."""

    truth: GroundTruth
    seed: int
    allocations: dict[HostId, Allocation] = field(default_factory=dict[HostId, Allocation])
    _tables: dict[HostId, list[tuple[float, float]]] = field(
        default_factory=dict[HostId, list[tuple[float, float]]]
    )

    def saved(self, shadow: ShadowStore, machine: Machine) -> None:
        """Note whether the machine of a host takes jobs from now on, or no more."""
        mac = self.truth.mac(machine.host) if machine.host is not None else None
        if mac is None or machine.host is None:
            return
        known = self.allocations.get(machine.host)
        same = known is not None and known.machine.id == machine.id and known.disk is mac.disk
        takes = machine.phase is Phase.READY and machine.goal is Goal.PRESENT
        if known is not None and same:
            known.own, known.machine = shadow.own, machine
            known.until = None if takes else known.until or self.now
            left = shadow.decided_at(machine, self.now)
            known.drained = None if takes else known.drained or left
        elif takes:
            self.allocations[machine.host] = Allocation(
                own=shadow.own, machine=machine, disk=mac.disk, since=self.now
            )

    @property
    def now(self) -> float:
        """True time in seconds."""
        return self.truth.world.cloud.now

    def is_busy(self, host: HostId) -> bool:
        """Tell whether a job runs on a host, as its own command says."""
        allocation, begun = self.allocations.get(host), self._begun(host)
        mac, fact = self.truth.mac(host), self.truth.hosts.get(host)
        if allocation is None or begun is None or mac is None or fact is None:
            return False
        taken = allocation.since <= begun and (allocation.until is None or begun < allocation.until)
        stands = (
            mac.disk is allocation.disk and mac.status is MacStatus.READY and fact.moved <= begun
        )
        return taken and stands

    def ended(self, shadow: ShadowStore, host: HostId, act: str, drain: float) -> Found:
        """Check a wipe or an end that is asked for; `drain` is how long a machine is waited for."""
        allocation, fact = self.allocations.get(host), self.truth.hosts.get(host)
        if (
            allocation is None
            or fact is None
            or not self.is_busy(host)
            or allocation.own != shadow.own
        ):
            return ()
        machine, drained = allocation.machine, allocation.drained
        at_once = machine.deletion is not None and machine.deletion.now
        waited = drained is not None and self.now - drained >= drain - _SKEW
        named = max(fact.handled, fact.late) > allocation.since
        robbed = machine.id in shadow.removed  # it is an orphan, and who reclaims it asks nobody
        if at_once or waited or named or robbed or not self.is_busy(host):
            return ()
        text = f"{act} of {host} while a job runs there for {machine.id}, which is {machine.phase}"
        return (Violation(invariant="S6", text=text, machine=machine.id),)

    def _begun(self, host: HostId) -> float | None:
        """Return when the job began that a host's timetable has for now."""
        table = self._tables.setdefault(host, [])
        rng = Random(f"hostler macs jobs {self.seed} {host} {len(table)}")
        while not table or table[-1][1] <= self.now:
            begun = (table[-1][1] if table else 0.0) + rng.uniform(*_IDLE)
            table.append((begun, begun + rng.uniform(*_LONG)))
        return next((begun for begun, end in reversed(table) if begun <= self.now < end), None)
