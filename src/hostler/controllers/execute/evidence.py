"""Evidence: the only maker of what the gate is shown, at the very moment of sending.

Every field is given for every act: the type checker sees to it that none is forgotten, and what is
not known is given as such, which refuses.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.ids import HostId, ResourceId
from hostler.domain.machines.drain import bars
from hostler.domain.machines.replacement import REPLACE
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.fleet import FleetRow, Timers
from hostler.domain.model.host import OTHERS, Host, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Stage
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.observation.blockers import others_are_right, protection
from hostler.domain.policy.gate import Act, Evidence


class Target(Struct, frozen=True, kw_only=True):
    """What an act is about: whether it is ours to touch, when it was last seen, what it costs.

    `paid_until` is until when it is paid, where the call would end what is paid for.
    """

    ours: bool
    observed: datetime | None
    paid_until: datetime | None


class Proof(Struct, frozen=True, kw_only=True):
    """What speaks for an act that nobody asked for; all of it wanting where somebody asked."""

    reread: bool = False
    age: timedelta | None = None
    sightings: int | None = None
    granted: bool = False
    reclaim: bool = False
    wave: bool = False
    proved: bool = False


class Case(Struct, frozen=True, kw_only=True):
    """One act as the gate is to judge it: by what right, on what, what bars it, what speaks for it.

    `protection` and `world` say what is in the way, and are empty where nothing is; `snapshot` is
    that of its fleet, None for the act of no fleet.
    """

    act: Act
    tenure: Tenure
    target: Target
    protection: str
    world: str
    proof: Proof
    snapshot: Snapshot | None


class Reread(Struct, frozen=True, kw_only=True):
    """What was read again just before a reclaim: when, and whether our store issued its id."""

    at: datetime
    issued: bool


ASKED = Proof()
"""Of an act that somebody asked for: no check wants to see more."""

NOTHING = Target(ours=False, observed=None, paid_until=None)
"""Of an act that makes something new."""


def act_of(call: Call, machine: Machine) -> Act:
    """Return what kind of act this call is: a destruction is judged by why the machine goes."""
    if call.effect is Effect.MAKE:
        return Act.CREATE
    if call.effect is Effect.CHANGE:
        return Act.CHANGE
    surplus = call.target is not None and machine.bound(call.slot) not in {None, call.target}
    if surplus or machine.health.was_ready is None:
        return Act.ROLLBACK
    if machine.deletion is None:
        return Act.REPAIR
    return Act.REPLACE if machine.deletion.actor == REPLACE else Act.DELETE


class EvidenceMaker:
    """Makes the evidence for the calls of one account."""

    def __init__(self, ports: Ports, state: AccountState, leases: Leases) -> None:
        self._ports, self._state, self._leases = ports, state, leases

    def of_machine(
        self, call: Call, machine: Machine, snapshot: Snapshot, tenure: Tenure
    ) -> Evidence:
        """Return the evidence for one call of a machine that has a record."""
        name = snapshot.fleet.name
        return self._made(
            Case(
                act=act_of(call, machine),
                tenure=tenure,
                target=Target(
                    ours=self._is_ours(call, machine, snapshot),
                    observed=self._observed(call, machine),
                    paid_until=self._paid_until(call, machine.host),
                ),
                protection=self._protection(
                    machine, replace(snapshot, now=self._ports.clock.now())
                ),
                world=self._state.world.get(name, "the fleet was not decided on yet"),
                proof=Proof(
                    granted=machine.fact("allowed") is not None,
                    wave=self._state.wave.get(name, False),
                    proved=machine.fact("loss_proved") is not None,
                ),
                snapshot=snapshot,
            )
        )

    def of_host(self, call: Call, host: Host, tenure: Tenure) -> Evidence:
        """Return the evidence for one call on a host that no machine has."""
        resource = self._state.inventory.resource(ResourceId(host.id))
        stage = resource.host.stage if resource is not None else None
        return self._made(
            Case(
                act=Act.DELETE if call.effect is Effect.DESTROY else Act.CHANGE,
                tenure=tenure,
                target=Target(
                    ours=stage is not None and is_ours(host, stage),
                    observed=self._observed_at(ResourceId(host.id)),
                    paid_until=self._paid_until(call, host.id),
                ),
                protection=self.protection_of_host(host),
                world="",
                proof=ASKED,
                snapshot=None,
            )
        )

    def of_orphan(
        self, orphan: Orphan, snapshot: Snapshot, tenure: Tenure, read: Reread
    ) -> Evidence:
        """Return the evidence for the removal of what no record explains, as it was read again."""
        now = self._ports.clock.now()
        seen = max(orphan.first, snapshot.counted_from)
        since = seen if snapshot.capabilities.hosts else orphan.since(seen)
        row = self._state.rows.get(snapshot.fleet.name, snapshot.row)
        return self._made(
            Case(
                act=Act.RECLAIM,
                tenure=tenure,
                target=Target(
                    ours=orphan.installation in snapshot.ours and read.issued,
                    observed=orphan.last,
                    paid_until=None,
                ),
                protection=self._state.protection(snapshot.fleet.name, now),
                world=others_are_right(snapshot),
                proof=Proof(
                    reread=timedelta(0) <= now - read.at <= _JUST,
                    age=now - max(since, snapshot.jumped or since),
                    sightings=orphan.sightings,
                    granted=_is_counted(orphan, snapshot, row),
                    reclaim=snapshot.fleet.reclaim,
                ),
                snapshot=snapshot,
            )
        )

    def of_order(self, snapshot: Snapshot, tenure: Tenure) -> Evidence:
        """Return the evidence for an order of hosts."""
        world = self._state.world.get(snapshot.fleet.name, "")
        return self._made(
            Case(
                act=Act.CREATE,
                tenure=tenure,
                target=NOTHING,
                protection="",
                world=world,
                proof=ASKED,
                snapshot=snapshot,
            )
        )

    def protection_of_host(self, host: Host) -> str:
        """Return why nothing of a host may be destroyed now: its fleet is paused or protected."""
        now = self._ports.clock.now()
        return self._state.protection(host.fleet, now) if host.fleet else ""

    def _made(self, case: Case) -> Evidence:
        """Return the evidence: the one place where any is made."""
        clock, provider, snapshot = self._ports.clock, self._state.account.provider, case.snapshot
        timers = [fleet.timers for fleet in self._state.account.fleets] or [Timers()]
        timers = [snapshot.fleet.timers] if snapshot is not None else timers
        return Evidence(
            act=case.act,
            now=clock.now(),
            boot=clock.boot(),
            lease_until=self._leases.end(case.tenure),
            deadline=provider.capabilities.deadline,
            ours=case.target.ours,
            observed=case.target.observed,
            observation_limit=max(one.observation_limit for one in timers),
            reread=case.proof.reread,
            age=case.proof.age,
            grace=max(one.grace for one in timers),
            sightings=case.proof.sightings,
            protection=case.protection,
            granted=case.proof.granted,
            world=case.world,
            paid_until=case.target.paid_until,
            reclaim=case.proof.reclaim,
            wave=case.proof.wave,
            proved=case.proof.proved,
        )

    def _is_ours(self, call: Call, machine: Machine, snapshot: Snapshot) -> bool:
        if call.target is None:
            return False
        resource = self._state.inventory.resource(call.target)
        if resource is not None and resource.owner_tag is not None:
            tag = resource.owner_tag
            return tag.installation in snapshot.ours and tag.machine == machine.id
        return call.target in machine.ids()

    def _observed(self, call: Call, machine: Machine) -> datetime | None:
        """Return when the target was last seen, in an observation or in a definite answer."""
        if call.target is None:
            return None
        known = machine.place(call.slot).known
        times = [one.since for one in known if one.id == call.target]
        observed = self._observed_at(call.target)
        return max([*times, *([observed] if observed else [])], default=None)

    def _observed_at(self, resource: ResourceId) -> datetime | None:
        sighting = self._state.inventory.sightings.get(resource)
        return self._state.inventory.observed_at(sighting) if sighting else None

    def _paid_until(self, call: Call, host: str | None) -> datetime | None:
        """Return until when a host is paid that this call would end."""
        record = self._state.host_records.hosts.get(HostId(host)) if host else None
        return record.purchase.paid_until if call.ends_payment and record is not None else None

    def _protection(self, machine: Machine, snapshot: Snapshot) -> str:
        """Return what protects a machine by the newest record, row and requests."""
        if held := self._state.protected_by_request(machine):
            return held
        row = self._state.rows.get(snapshot.fleet.name, snapshot.row)
        return protection(machine, row, snapshot) or bars(machine, snapshot)


_JUST = timedelta(seconds=10)
"""How long what was read again counts as read just before the call."""


def _is_counted(orphan: Orphan, snapshot: Snapshot, row: FleetRow) -> bool:
    """Tell whether this removal is counted against the caps, in what is stored."""
    before = (one.tried for one in snapshot.orphans if one.resource == orphan.resource)
    return any(before) or snapshot.now in row.destructions


def is_ours(host: Host, stage: Stage) -> bool:
    """Tell whether the host's name is ours, or somebody named it to be put into the pool."""
    if host.ownership.adopted and stage is Stage.FOREIGN:
        return True
    if host.goal is HostGoal.POOLED:
        return stage is not Stage.FOREIGN
    return stage not in OTHERS
