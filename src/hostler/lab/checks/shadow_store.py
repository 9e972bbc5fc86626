"""A shadow store: what a store holds, as its saves showed, and what its installation saw lately."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.ids import Epoch, FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.commands import Advance, Command
from hostler.domain.model.fleet import Fleet, FleetRow, OnRemove
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan
from hostler.domain.policy.host_keys import HostKey
from hostler.testing.invariants import COUNTED, SLACK, Attempts, Bounds
from hostler.testing.sureness import Failures, Onces, Records
from hostler.testing.time.clock import BEGINNING

from .jobs import ProtectedJobs
from .listings import Listings

FRESH = 75.0
"""An observation so young, in seconds, counts as somebody looking."""


_AHEAD = 50.0
"""How far ahead of true time, in seconds, a date was surely written by a wrong clock."""
_SKEW = 30.0
"""By so many seconds two clocks may differ before what one measures is another time."""

_HELD = (
    "adopted",
    "rows",
    "machines",
    "orphans",
    "hosts",
    "pinned",
    "disks",
    "bought",
    "bindings",
    "epochs",
    "attempts",
    "failures",
    "onces",
    "records",
    "issued",
    "reported",
    "removed",
    "bounds",
    "jobs",
)
"""What is put back with a store; what its installation observed in the world stays observed."""


@dataclass(slots=True)
class Pinned:
    """What one installation believes of a host's key: as it is on record, and when it was shown."""

    host_key: HostKey
    at: float


@dataclass(slots=True)
class ShadowStore:
    """What one installation's store holds, as its saves told it; `lost`: nobody has it any more.

    `issued` are the ids that it ever gave to machines; `reported` is since when each orphan stands
    in its report; `removed` are machines whose records somebody removed by force; `disks` are how
    often the disk of a host was written when its machine last got ready; `bought` are when the
    hosts came to be that a fleet ordered, and how many euros each commits to; `decided` is when it
    was last decided into which phase each machine is to move; `ending` are the machines that a
    fleet's newest decision ends; `runs` are the names of all runs of its processes; `forgotten` is
    the time, in seconds, from a backup until it was put back; `unnoticed` are the fleets that each
    run has not led since its clock jumped.
    """

    own: InstallationId
    fleets: dict[FleetName, Fleet]
    adopted: tuple[InstallationId, ...] = ()
    rows: dict[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    machines: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    orphans: dict[ResourceId, Orphan] = field(default_factory=dict[ResourceId, Orphan])
    hosts: dict[HostId, Host] = field(default_factory=dict[HostId, Host])
    pinned: dict[HostId, Pinned] = field(default_factory=dict[HostId, Pinned])
    disks: dict[HostId, int] = field(default_factory=dict[HostId, int])
    bought: dict[FleetName, list[tuple[float, float]]] = field(
        default_factory=dict[FleetName, list[tuple[float, float]]]
    )
    bindings: dict[HostId, MachineId] = field(default_factory=dict[HostId, MachineId])
    bound_at: dict[HostId, float] = field(default_factory=dict[HostId, float])
    epochs: dict[str, Epoch] = field(default_factory=dict[str, Epoch])
    attempts: dict[FleetName, Attempts] = field(default_factory=dict[FleetName, Attempts])
    failures: Failures = field(default_factory=lambda: Failures(25.0))
    onces: Onces = field(default_factory=lambda: Onces(60.0))
    records: Records = field(default_factory=Records)
    issued: set[MachineId] = field(default_factory=set[MachineId])
    reported: dict[ResourceId, float] = field(default_factory=dict[ResourceId, float])
    removed: set[MachineId] = field(default_factory=set[MachineId])
    bounds: Bounds | None = None
    jobs: ProtectedJobs = field(default_factory=ProtectedJobs)
    decided: dict[MachineId, tuple[Phase, float]] = field(
        default_factory=dict[MachineId, tuple[Phase, float]]
    )
    ending: dict[FleetName, set[MachineId]] = field(default_factory=dict[FleetName, set[MachineId]])
    forgotten: tuple[float, float] = (0.0, 0.0)
    runs: set[str] = field(default_factory=set[str])
    ahead: dict[FleetName, float] = field(default_factory=dict[FleetName, float])
    leaders: dict[FleetName, str] = field(default_factory=dict[FleetName, str])
    unnoticed: set[tuple[FleetName, str]] = field(default_factory=set[tuple[FleetName, str]])
    lost: bool = False
    fresh: float = FRESH

    @property
    def ours(self) -> tuple[InstallationId, ...]:
        """Every installation whose tags are ours."""
        return (self.own, *self.adopted)

    def desired(self, fleet: Fleet) -> int:
        """Return how many machines a fleet asks for; none where it left the file to end, or did."""
        row = self.rows.get(fleet.name)
        if fleet.removed and (row is None or fleet.on_remove is OnRemove.END):
            return 0
        return row.desired(fleet) if row is not None else fleet.size

    def living(self, fleet: FleetName | None = None) -> list[Machine]:
        """Return the machines that are not gone."""
        return [
            m
            for m in self.machines.values()
            if m.phase is not Phase.DELETED and fleet in {None, m.fleet}
        ]

    def clock_jumped(self, process: str, by: float) -> None:
        """The clock of a process jumped by so many seconds: what the engine measures begins anew.

        Who does not lead notices that only when it does.
        """
        self.unnoticed |= {(fleet, process) for fleet in self.fleets}
        for attempts in self.attempts.values():
            attempts.jumped(by)
        self.failures.last.clear()
        self.jobs.forget()
        if self.bounds is not None:
            self.bounds.spent.clear()

    def led_by(self, fleet: FleetName, process: str, ahead: float) -> None:
        """A fleet is led by a process whose clock is so many seconds ahead of true time.

        By a clock behind that of its last leader, what that one dated began later; by one that
        jumped meanwhile, it all begins anew.
        """
        self.leaders[fleet] = process
        before, self.ahead[fleet] = self.ahead.get(fleet, ahead), ahead
        jumped = (fleet, process) in self.unnoticed
        self.unnoticed.discard((fleet, process))
        if (jumped or ahead < before - _SKEW) and self.bounds is not None:
            theirs = {machine.id for machine in self.living(fleet)}
            spent = self.bounds.spent
            self.bounds.spent = {key: time for key, time in spent.items() if key[0] not in theirs}

    def begun_anew(self, before: Machine, after: Machine, now: float) -> None:
        """A phase that was dated in the future, by a wrong clock, is measured from now on.

        So is that of a machine that takes another host.
        """
        early = before.since > BEGINNING + timedelta(seconds=now + _AHEAD)
        again = (early and before.since != after.since) or after.host not in {None, before.host}
        if again and self.bounds is not None:
            self.bounds.forget(after)

    def leads(self, process: str, fleet: FleetName) -> bool:
        """Tell whether no other process has taken a fleet since this one did."""
        return self.leaders.get(fleet, process) == process

    def is_held_back(self, fleet: FleetName) -> bool:
        """Tell whether a fleet is paused, protected, or gone from its file to stay."""
        row, written = self.rows.get(fleet), self.fleets.get(fleet)
        paused = row is not None and (row.pause is not None or row.is_kept)
        return paused or (written is not None and written.protected)

    def ready(self, fleet: FleetName) -> int:
        """Return how many machines of a fleet stay and are ready, saved so or about to be."""
        staying = (one for one in self.living(fleet) if one.deletion is None)
        ready = (Phase.READY in {m.phase, self.decided.get(m.id, (m.phase, 0))[0]} for m in staying)
        return sum(ready)

    def decides(self, fleet: FleetName, commands: Iterable[Command], now: float) -> None:
        """Note which machines a decision moves: a process may stand still before that is saved."""
        self.ending[fleet] = set()
        for command in commands:
            if isinstance(command, Advance):
                before = self.machines.get(command.machine.id)
                if command.machine.phase not in COUNTED or command.machine.deletion is not None:
                    self.ending[fleet].add(command.machine.id)
                if before is None or before.phase is not command.machine.phase:
                    self.decided[command.machine.id] = command.machine.phase, now

    def left_by(
        self, fleet: FleetName, commands: Iterable[Command]
    ) -> list[tuple[Machine, Machine]]:
        """Return a fleet's machines, each as it is saved and as a decision leaves it."""
        newer = {c.machine.id: c.machine for c in commands if isinstance(c, Advance)}
        return [(one, newer.get(one.id, one)) for one in self.living(fleet)]

    def decided_at(self, machine: Machine, now: float) -> float:
        """Return when it was decided that a machine, which is saved now, is in its phase."""
        phase, at = self.decided.get(machine.id, (machine.phase, now))
        return at if phase is machine.phase else now

    def inserted(self, machines: Iterable[Machine]) -> None:
        """Note new machines, whose ids are issued with their records."""
        for machine in machines:
            self.machines[machine.id] = replace(machine, version=1)
            self.issued.add(machine.id)
            self.removed.discard(machine.id)

    def forget_record(self, machine: MachineId) -> None:
        """Somebody removed a record by force: what was known by it is known no more."""
        del self.machines[machine]
        self.removed.add(machine)
        self.records.saved.pop(machine, None)
        for key in [key for key in self.onces.last if key[0] == machine]:
            del self.onces.last[key]

    def copy(self) -> "ShadowStore":
        """Return what the store holds now, which `put_back` takes."""
        return deepcopy(self)

    def put_back(self, backup: "ShadowStore", made: float, now: float) -> None:
        """Hold again what was held when the backup was made, and nothing of what came since."""
        held, self.forgotten = deepcopy(backup), (made, now)
        for name in _HELD:
            setattr(self, name, getattr(held, name))

    def has_forgotten(self, at: float) -> bool:
        """Tell whether what happened then was on record only until the store was put back."""
        made, put_back = self.forgotten
        return made <= at < put_back

    def explained(self) -> Iterable[ResourceId]:
        """Return every id that a record or the ledger explains."""
        for machine in self.living():
            yield from machine.ids()
        yield from self.orphans

    def looking(self, zone: Zone, listings: Listings, names: Iterable[str], now: float) -> bool:
        """Tell whether each of these was listed whole to one of our processes just now."""
        ended, since = listings.ended, now - self.fresh
        return all(
            any(ended.get((run, zone, name), since) > since for run in self.runs) for name in names
        )

    def read_at(self, listings: Listings, thing: ResourceId) -> float | None:
        """Return when one of our processes was last answered about this thing alone."""
        asked = ResourceId(thing.partition("@")[0])
        return max(
            (at for run in self.runs if (at := listings.read.get((run, asked)))), default=None
        )


def shadow_for(own: InstallationId, fleets: Iterable[Fleet], quiet: float) -> ShadowStore:
    """Return the empty shadow store of a new installation that looks so often where all is quiet.

    A phase may end later than its bound by an observation, and by what a jump of the clock is
    noticed late.
    """
    by_name = {fleet.name: fleet for fleet in fleets}
    timers = next(iter(by_name.values())).timers
    slow = timedelta(seconds=max(0.0, 1.5 * quiet - FRESH))
    bounds = Bounds(timers, SLACK + slow)
    return ShadowStore(own=own, fleets=by_name, bounds=bounds, fresh=max(FRESH, 1.5 * quiet))
