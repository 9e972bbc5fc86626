"""The checker of runs in which fleets order hosts, attach networks, have bootstraps."""

from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId
from hostler.domain.model.calls import Call
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host, HostCondition, HostOrigin
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.scaleway.world import ScalewayWorld
from hostler.simulators.scaleway.state.mac_catalogue import LEASE, TYPES
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.testing.invariants import Found, Thing

from .bootstrap import BootstrapCheck
from .checker import MacChecker
from .demands import HOUR
from .faults import MacScenario
from .ground_truth import Change
from .host_jobs import HostJobs
from .images import ImagesOfWipes
from .names import parse_name
from .orders import Purchases
from .ssh import Login, Logins

_ORDER = "mac.order"
"""The kind of call by which a Mac is ordered, as traces and histories show it."""
_SLACK = 300.0
"""How much later than decided an order may be seen, the consistency delay aside."""


class OrderChecker(MacChecker):
    """All checkers of a run of Macs, and those of what its fleets want."""

    def __init__(
        self,
        world: ScalewayWorld,
        trace: Trace,
        consistency_delay: float,
        scenario: MacScenario,
        logins: Logins,
    ) -> None:
        super().__init__(world, trace, consistency_delay, scenario)
        self.purchases = Purchases(self.truth, scenario.demands, consistency_delay + _SLACK)
        self.purchases.known |= {HostId(mac.id) for mac in world.cloud.macs}
        self.bootstraps = BootstrapCheck(self.truth, scenario.demands, logins)
        self.images = ImagesOfWipes(self.truth)
        self.jobs = HostJobs(self.truth, scenario.base.seed)
        self._demands = scenario.demands
        self._logins = logins
        logins.struck = self.struck
        logins.calm = lambda: self.resting

    def tried(self, shadow: ShadowStore, login: Login) -> None:
        """Check a login."""
        self.trace.note(
            f"  login at {login.host}: {login.presented[:15]} {'in' if login.entered else 'out'}",
            login.order.machine,
        )
        self.found(self.bootstraps.tried(shadow, login))
        self.found(self.bootstraps.rolled_out(shadow, login))

    def _ends(self, shadow: ShadowStore, mac: Mac, act: str) -> None:
        """Check a wipe or an end, also by what runs where hosts are asked."""
        super()._ends(shadow, mac, act)
        if self._demands.busy and not self._was_jumped():
            host, drain = HostId(mac.id), self._demands.drain
            self.found(self.jobs.ended(shadow, host, act, drain))

    def doing(self, shadow: ShadowStore, call: Call, *, ahead: float) -> None:
        """Check a call before it is sent."""
        if call.kind == _ORDER:
            self.found(self.purchases.sent(shadow, call))
        super().doing(shadow, call, ahead=ahead)

    def explained(self, shadow: ShadowStore) -> set[ResourceId]:
        """Return what is explained; a host that is on its way is by its record."""
        coming = (h for h in shadow.hosts.values() if h.condition is HostCondition.COMING)
        return super().explained(shadow) | {ResourceId(host.id) for host in coming}

    def _update(self) -> None:
        super()._update()
        self.found(self.purchases.born(self._shadows()) if not self._was_jumped() else ())

    def _was_jumped(self) -> bool:
        """Tell whether a clock jumped: what is counted by days is the engine's own time then."""
        return self.faults["clock_jump"] > 0

    def _judge(self, change: Change) -> None:
        super()._judge(change)
        self.images.noted(change)
        self.bootstraps.noted(change)
        if change.what == "renamed" and not self._handling.is_tainted(change, self.now):
            self.found(self.bootstraps.released(change))

    def _may_move(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether time counts; a list that is run has bounds of its own."""
        return super()._may_move(shadow, machine) and machine.id not in self._logins.prepared

    def _check_shadow(self, shadow: ShadowStore, things: list[Thing], passed: float) -> None:
        super()._check_shadow(shadow, things, passed)
        if not self._was_jumped():
            self.found(self.purchases.within_limits(shadow, passed))

    # ------------------------------------------------------------ what is recorded

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved, and whether what gets ready is prepared and wired."""
        before = shadow.machines.get(machine.id)
        super().machine_saved(shadow, machine, events)
        self.found(self.bootstraps.saved(shadow, before, machine))
        self.jobs.saved(shadow, machine)

    def host_saved(self, shadow: ShadowStore, host: Host) -> None:
        """Check the key that is believed."""
        super().host_saved(shadow, host)
        self.found(self.bootstraps.believed(shadow, host))

    def fleet_saved(
        self,
        shadow: ShadowStore,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
    ) -> None:
        """Note the size that is wished."""
        super().fleet_saved(shadow, row, inserts, events)
        self.purchases.sized(shadow, row)

    def fleets_changed(self, shadow: ShadowStore) -> None:
        """Note that a fleet file was written anew; who is starting has its whole time again."""
        self.bootstraps.changed_list(shadow)
        if shadow.bounds is not None:
            spent = shadow.bounds.spent
            shadow.bounds.spent = {k: t for k, t in spent.items() if k[1] is not Phase.STARTING}

    # ------------------------------------------------------------ at rest

    def may_rest(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether a machine may rest in the end: its host is paid for, and nobody needs it."""
        host = shadow.hosts.get(machine.host) if machine.host else None
        return (
            machine.phase is Phase.STANDBY
            and host is not None
            and host.purchase.origin is HostOrigin.ORDERED
            and self._demands.limits is not None
        )

    def needs_a_person(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether its host shows a key that is a stranger's to whoever pinned another one."""
        return self.bootstraps.shows_a_stranger(shadow, machine)

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return what still keeps a fleet from rest."""
        return super().rested(shadow, fleet) or self.bootstraps.rested(shadow, fleet)

    def _at_work(self, shadow: ShadowStore, fleet: Fleet) -> list[Machine]:
        return [m for m in super()._at_work(shadow, fleet) if not self.may_rest(shadow, m)]

    def _free(self, shadow: ShadowStore, fleet: Fleet) -> list[str]:
        """Return the hosts that a machine could take, those parked and those to be ordered too."""
        found = super()._free(shadow, fleet)
        found += [mac.id for mac in self.world.cloud.macs if self._is_parked(mac, shadow, fleet)]
        resting = [m.id for m in shadow.living(fleet.name) if self.may_rest(shadow, m)]
        return [*found, *resting, *self._to_order(shadow, fleet)]

    def _is_parked(self, mac: Mac, shadow: ShadowStore, fleet: Fleet) -> bool:
        """Tell whether a host that was bought waits for a machine of the fleet, or of its pool.

        Not one that had to be wiped to another system: it is given up at the end of its window.
        """
        owner, record = parse_name(mac.name), shadow.hosts.get(HostId(mac.id))
        if owner is None or owner[0] not in {"parked", "ordered"} or record is None:
            return False
        if self.images.is_spoilt(mac, fleet.offers[0].image):
            return False
        mine = owner[1].installation == shadow.own
        mine = mine and self._pool_of(shadow, owner[1].fleet) == self._pool_of(shadow, fleet.name)
        return mine and record.condition is HostCondition.FREE and mac.status is MacStatus.READY

    def _pool_of(self, shadow: ShadowStore, fleet: FleetName) -> str | None:
        """Return the prefix of the names in a fleet's pool; None where the file has no such."""
        return dict(zip(shadow.fleets, self._scenario.pools, strict=False)).get(fleet)

    def _is_sold(self, offer: Offer) -> bool:
        """Tell whether a type can be had with the system that is asked for."""
        cloud = self.world.cloud
        images = (image for image in cloud.os_images if image.family == offer.image)
        there = any(offer.type in image.types for image in images)
        return there and cloud.stock.get(offer.type) != "no_stock"

    def _to_order(self, shadow: ShadowStore, fleet: Fleet) -> list[MachineId]:
        """Return a stand-in for each host that the fleet may still order.

        None is ordered in place of one whose machine's record was removed: it may be adopted.
        """
        limits, row = self._demands.limits, shadow.rows.get(fleet.name)
        if limits is None or limits.most is None or row is None or self.faults["clock_jump"]:
            return []
        standing = self.purchases.standing(shadow.own, fleet.name)
        if not all(self._is_sold(offer) for offer in fleet.offers):
            return []
        stranded = sum(
            host.fleet == fleet.name
            and host.condition is HostCondition.ALLOCATED
            and shadow.bindings.get(host.id) not in shadow.machines
            for host in shadow.hosts.values()
        )
        room = limits.most - standing - stranded
        if limits.cap is not None:
            day = max(TYPES[offer.type].price for offer in fleet.offers) * LEASE / HOUR
            room = min(room, int((limits.cap - day * len(row.orders)) / day + 1e-9))
        return [MachineId(f"to order {n}") for n in range(max(0, room))]
