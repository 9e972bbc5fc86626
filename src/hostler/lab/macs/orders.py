"""Orders: what was really ordered, and whether it may have been, against the world's own hosts.

S2   nothing is ordered that a fleet does not lack, whatever was lost on the way.
S4   the euros that orders commit to stay within the cap of every day, and their number in bounds.
S11  a host that was ordered is not kept beyond its window for a whole floor without a tenant.
E2   an order is on the fleet's row before it is sent.

An order that the world itself doubles is nobody's fault: a second host of one name is not counted.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId
from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin, host_of
from hostler.domain.model.machine import RESTED, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass, OwnerTag
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_catalogue import LEASE, TYPES
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .demands import HOUR, Demands
from .ground_truth import Fact, GroundTruth

MEMORY = 2 * HOUR
"""So long a size counts for what is ordered: an answer that was lost comes late."""
IDLE = LEASE + 4 * HOUR
"""So long, past its window, nobody may be on a host that is kept: buying another costs less."""
_AT_WORK = frozenset({Phase.STARTING, Phase.READY})
_FREE = frozenset({"ordered", "parked"})
_LOST = frozenset({HostCondition.RETIRING, HostCondition.QUARANTINED, HostCondition.ABSENT})
Fleets = tuple[str, FleetName]


@dataclass(slots=True)
class Purchases:
    """All orders of a run. `slack` is how much later than its decision an order may be seen.

    `wiping` are the hosts that were on record as being wiped when each came to be on its row.
    """

    truth: GroundTruth
    demands: Demands
    slack: float
    known: set[HostId] = field(default_factory=set[HostId])
    names: set[str] = field(default_factory=set[str])
    sizes: dict[Fleets, deque[tuple[float, int]]] = field(
        default_factory=dict[Fleets, deque[tuple[float, int]]]
    )
    idle: dict[HostId, float] = field(default_factory=dict[HostId, float])
    owned: dict[HostId, tuple[str, float]] = field(default_factory=dict[HostId, tuple[str, float]])
    buyers: dict[HostId, Fleets] = field(default_factory=dict[HostId, Fleets])
    wiping: dict[MachineId, set[HostId]] = field(default_factory=dict[MachineId, set[HostId]])

    @property
    def now(self) -> float:
        """True time in seconds."""
        return self.truth.world.cloud.now

    # ------------------------------------------------------------ what is ordered

    def sized(self, shadow: ShadowStore, row: FleetRow) -> None:
        """Note what a fleet is wished to have, and which hosts its new orders do not count on."""
        wiping = {h.id for h in shadow.hosts.values() if h.condition is HostCondition.WIPING}
        for order in row.orders:
            self.wiping.setdefault(order.id, wiping)
        sizes = self.sizes.setdefault((shadow.own, row.name), deque())
        size = row.desired(shadow.fleets[row.name])
        if not sizes or sizes[-1][1] != size:
            sizes.append((self.now, size))
        while len(sizes) > 1 and self.now - sizes[1][0] > MEMORY:
            sizes.popleft()

    def sent(self, shadow: ShadowStore, call: Call) -> Found:
        """Check an order that is about to be sent: its row has it (E2)."""
        fleet, machines = FleetName(str(call.arg("fleet"))), call.arg("machines")
        row = shadow.rows.get(fleet)
        known = {str(order.id) for order in row.orders} if row else set[str]()
        named = set(machines) if isinstance(machines, tuple) else set[str]()
        if named and named <= known:
            return ()
        return (Violation(invariant="E2", text=f"{fleet} orders what is not on its row: {call}"),)

    def born(self, shadows: list[ShadowStore]) -> Found:
        """Check the hosts that came to be since the last time."""
        found, new = list[Violation](), [h for h in self.truth.hosts if h not in self.known]
        for host in new:
            self.known.add(host)
            mac, fact = self.truth.mac(host), self.truth.hosts[host]
            if mac is None or fact.owner is None or fact.owner[0] != "ordered":
                continue
            self.buyers[host] = (fact.owner[1].installation, fact.owner[1].fleet)
            if mac.name in self.names:
                continue
            self.names.add(mac.name)
            owner_tag = fact.owner[1]
            shadow = next((b for b in shadows if b.own == owner_tag.installation), None)
            if shadow is not None:
                self.owned[host] = shadow.own, self.now
                found += self._afford(shadow, owner_tag.fleet, mac)
                found += self._needed(shadow, owner_tag)
                found += self._most(shadow)
        return tuple(found)

    def _rested(self, machine: Machine) -> bool:
        """Tell whether a machine was in standby lately: an order may be of that time."""
        rested = machine.fact(RESTED)
        return rested is not None and self.now - (rested - BEGINNING).total_seconds() < MEMORY

    def standing(self, installation: str, fleet: FleetName) -> int:
        """Return how many hosts there truly are that a fleet ordered, doubled ones too."""
        buyer = installation, fleet
        return sum(self.buyers[host] == buyer and self._stands(host) for host in self.buyers)

    def _stands(self, host: HostId) -> bool:
        return self.truth.mac(host) is not None

    def _afford(self, shadow: ShadowStore, fleet: FleetName, mac: Mac) -> Found:
        """The spend cap of a day holds, whatever was lost; effects may be late.

        A store that was put back knows no order that came after its backup.
        """
        euros = TYPES[mac.type_name].price * LEASE / HOUR
        bought = shadow.bought.setdefault(fleet, [])
        bought.append((self.now, euros))
        limits = self.demands.limits
        cap = limits.cap if limits is not None else None
        day = [euros for at, euros in bought if self.now - at < LEASE - self.slack]
        if cap is None or sum(day) <= cap:
            return ()
        text = f"orders of {fleet} commit to €{sum(day):.2f} in a day; the cap is €{cap:.2f}"
        return (Violation(invariant="S4", text=text),)

    def _needed(self, shadow: ShadowStore, order: OwnerTag) -> Found:
        """No more is ordered than was lacking: what is at work or free of its own is counted.

        Not what was being wiped as the order was placed: an order may be long under way.

        Both hosts of an order that the world doubled are there before the first is judged: they
        count as one for as long as they bear its name. What is to end, and is only held, is no
        supply; nor is what was in standby when the order was sent, and was asked back since.
        """
        fleet, later = order.fleet, self.wiping.get(order.machine, set())
        bound = set[str | None](shadow.bindings) | later
        living = [m for m in shadow.living(fleet) if m.deletion is None]
        at_work = {m.host for m in living if m.phase in _AT_WORK and m.host and not self._rested(m)}
        at_work -= later
        free = {
            fact.name if fact.owner is not None and fact.owner[0] == "ordered" else host
            for host, fact in self.truth.hosts.items()
            if host not in bound | at_work and self._is_free(host, fact, shadow, fleet)
        }
        size = max((many for _, many in self.sizes.get((shadow.own, fleet), ())), default=0)
        there = len(at_work) + len(free)
        if there <= size:
            return ()
        text = f"{fleet} has {there} hosts with what it ordered just now, and asked for {size}"
        return (Violation(invariant="S2", text=text),)

    def _most(self, shadow: ShadowStore) -> Found:
        """No more hosts stand that were ordered than all fleets of an installation may have.

        A store that was put back knows of none that came after its backup what it once was.
        """
        limits = self.demands.limits
        if limits is None or limits.most is None:
            return ()
        owned = self.owned.items()
        mine = [h for h, (own, at) in owned if own == shadow.own and not shadow.has_forgotten(at)]
        standing = sum(self._is_standing(host, shadow) for host in mine)
        most = limits.most * len(shadow.fleets)
        if standing <= most:
            return ()
        text = f"{standing} hosts stand that {shadow.own} ordered, {most} may"
        return (Violation(invariant="S2", text=text),)

    def _is_standing(self, host: HostId, shadow: ShadowStore) -> bool:
        mac, record = self.truth.mac(host), shadow.hosts.get(host)
        if mac is None or record is None or record.goal is not HostGoal.RETIRED:
            return mac is not None
        # what never came, or after all, is known by an observation
        return record.purchase.delivered is not None

    def _is_free(self, host: HostId, fact: Fact, shadow: ShadowStore, fleet: FleetName) -> bool:
        mac, owner = self.truth.mac(host), fact.owner
        if mac is None or owner is None or owner[0] not in _FREE or mac.deletion_scheduled:
            return False
        if fact.by_person:  # a person copied that name
            return False
        if (owner[1].installation, owner[1].fleet) != (shadow.own, fleet):
            return False
        record = shadow.hosts.get(host)
        if record is None:
            return True
        lent = record.fleet not in {None, fleet}  # another fleet of its pool had it last
        barred = record.hold is not None and record.hold.kind.bars_machines
        over = record.condition in _LOST or record.goal is HostGoal.RETIRED
        return not (lent or barred or over)

    # ------------------------------------------------------------ what is kept

    def within_limits(self, shadow: ShadowStore, passed: float) -> Found:
        """Check that nothing is kept past its window unwanted; `passed`: an engine could act."""
        for host, record in shadow.hosts.items():
            if not self._is_idle(host, record, shadow):
                self.idle.pop(host, None)
                continue
            time = self.idle[host] = self.idle.get(host, 0.0) + passed
            if time > IDLE:
                text = f"host {host} is paid for {time:.0f} s past its window, and unused"
                return (Violation(invariant="S11", text=text),)
        return ()

    def _is_idle(self, host: HostId, record: Host, shadow: ShadowStore) -> bool:
        """Tell whether an ordered host is free, its window over, and nobody said to keep it."""
        mac = self.truth.mac(host)
        if mac is None or mac.deletable is None or self.now < mac.deletable:
            return False
        if not mac.delivered:  # the provider refuses to delete what it has not handed over
            return False
        fact = self.truth.hosts[host]
        tag = fact.owner[1] if fact.owner is not None else None
        if tag is None or tag.installation not in shadow.ours or fact.by_person:
            return False  # somebody took it out of its hands, or lent it to another
        apart = fact.late >= fact.named or tag.machine not in shadow.issued
        if apart and host in map(host_of, shadow.orphans):  # only people may end it
            return False
        barred = record.is_barred(BEGINNING + timedelta(seconds=self.now))
        wanted = record.purchase.policy is not None or barred
        if record.purchase.origin is not HostOrigin.ORDERED or wanted:  # a person wants it
            return False
        held = shadow.bindings.get(host)
        machine = shadow.machines.get(held) if held is not None else None
        rests = machine is None or machine.phase is Phase.STANDBY
        row = shadow.rows.get(record.fleet) if record.fleet is not None else None
        paused = row is not None and (shadow.is_held_back(row.name) or self._is_barred(row, shadow))
        reported = held in shadow.removed and self._waits_for_people(host, record, shadow)
        return rests and not (paused or reported or (machine is not None and machine.protection))

    def _waits_for_people(self, host: HostId, record: Host, shadow: ShadowStore) -> bool:
        """Tell whether a host is told whose machine's record somebody removed, and only told.

        What its provider locked, or has in error, is not taken back: the provider is to be asked.
        """
        fleet = shadow.fleets.get(record.fleet) if record.fleet is not None else None
        orphan, reclaim = shadow.orphans.get(ResourceId(host)), fleet is not None and fleet.reclaim
        return orphan is not None and (not reclaim or orphan.cls is OrphanClass.LOCKED)

    def _is_barred(self, row: FleetRow, shadow: ShadowStore) -> bool:
        """Tell whether a fleet lacks machines, and may make none: its name is another's too."""
        if not self.truth.is_shared(row.name, shadow.ours):
            return False
        at_work = sum(machine.phase in _AT_WORK for machine in shadow.living(row.name))
        return at_work < row.desired(shadow.fleets[row.name])
