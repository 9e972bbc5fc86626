"""The checker: what is recorded and asked of Macs is held against what is true of the hosts.

It notes what is asked and saved, and hands each to those who judge it: what is done to hosts
(handling), who has them (occupancy, doubles), what is chosen, given up, failed and proved.
"""

import re

import msgspec

from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.commands import Decision, Event
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, host_of
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, Request
from hostler.lab.checks import issued_ids
from hostler.lab.checks.checker import HIDDEN_FOR, S1_BOUND
from hostler.lab.checks.host_records import TrueHost, misstated
from hostler.lab.checks.listings import HIDING
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.watched import UNDER_WAY
from hostler.lab.scaleway.checker import ScalewayChecker
from hostler.lab.scaleway.listings import MACS
from hostler.lab.scaleway.world import ScalewayWorld
from hostler.lab.scenario.faults import STORE_RESTORED, STORE_TWINNED
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.ledger import Line
from hostler.simulators.scaleway.state.mac_catalogue import TYPES
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.testing import invariants
from hostler.testing.invariants import Found, Thing, Violation
from hostler.testing.time.clock import BEGINNING

from . import quiescence
from .choices import MacChoices
from .classes import HostClasses
from .demands import PRICES
from .doubles import Doubles
from .effects import Effects
from .faults import MacScenario
from .given_up import GivenUp
from .ground_truth import PERSON, Asked, Change, GroundTruth
from .handling import Handling
from .names import parse_name
from .occupancy import shared, unwiped
from .promptness import Promptness
from .proofs import Proofs
from .quiescence import MAY_REST, free_for, hosts_rest
from .tenants import claimant, ended, paid
from .wipes import FailedWipes

_ID = re.compile(r"/servers/([0-9a-f-]{36})(?:/(\w+))?")
_REFUSED = 400
_COMES_LATE = frozenset({"mac_rename_late", "mac_rename_too_late"})
_HAD = frozenset({HoldKind.RESERVED, HoldKind.MAINTENANCE})
"""The holds by which a person has a host, and may use it."""
_COPIES = (STORE_RESTORED, STORE_TWINNED)
"""After these a store gives the numbers of its requests once more."""
_CLAIMS = frozenset({"pending", "claimed", "standby", "rested"})


class MacChecker(ScalewayChecker):
    """All checkers of one run of Macs."""

    listed = MACS

    def __init__(
        self, world: ScalewayWorld, trace: Trace, consistency_delay: float, scenario: MacScenario
    ) -> None:
        super().__init__(world, trace, consistency_delay, S1_BOUND + 2 * scenario.quiet)
        self.truth = GroundTruth(world, consistency_delay, scenario.fresh)
        self._scenario = scenario
        self._pools = tuple(dict.fromkeys(scenario.pools))
        bound = consistency_delay + S1_BOUND + 2 * scenario.quiet
        self._classes = HostClasses(self._pools, bound, self.looking)
        self._choices = MacChoices(self.truth, bound)
        self._doubles = Doubles(self.truth, bound, self.looking)
        self._given_up = GivenUp(self.truth)
        self._failed = FailedWipes()
        self._proofs = Proofs(bound)
        self._effects = Effects(self.truth)
        self._promptness = Promptness(self.truth, self.faults)
        self._hidden = 0, 0.0
        self._handling = Handling(self.truth, lambda: self.shadows, self.faults)

    # ------------------------------------------------------------ what is true

    def things(self) -> list[tuple[Thing, Zone]]:
        """Return every host, with the tag of its name; those that are claimed are *servers*."""
        return [(self._thing(mac), Zone(mac.zone)) for mac in self.world.cloud.macs]

    def _thing(self, mac: Mac) -> Thing:
        owner, fact = parse_name(mac.name), self.truth.hosts.get(HostId(mac.id))
        return Thing(
            id=ResourceId(mac.id),
            kind="server" if owner and owner[0] in _CLAIMS and not self._by_person(mac) else "host",
            created=fact.named if fact is not None else self.now,
            owner_tag=None if owner is None else owner[1],
        )

    def _by_person(self, mac: Mac) -> bool:
        """Tell whether a person copied the name that a host bears."""
        fact = self.truth.hosts.get(HostId(mac.id))
        return fact is not None and fact.by_person

    def is_healthy(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether its host is ready, bears its name, and nothing happened to it for long.

        One that was wiped since it was claimed is not: its disk is another one. Nor is one that was
        wiped since a backup was made, which is the store by now: its record is of another disk.
        """
        host = machine.host
        if host is None or host not in self.truth.hosts or machine.goal is Goal.STANDBY:
            return False
        owner = self.truth.hosts[host].owner
        mine = owner is not None and (owner[0], owner[1].machine) == ("claimed", machine.id)
        mac = self.truth.mac(host)
        known = mac is not None and shadow.disks.get(host) == mac.installs
        return mine and known and self.truth.is_steady(host) and not self.truth.is_clean(host)

    def left_of(self, machine: Machine) -> list[Thing]:
        """Return the hosts whose names tell that a machine has them; those it let go of apart."""
        mine = quiescence.left_of(machine, self.truth)
        return [thing for thing, _ in self.things() if thing.id in mine]

    def explained(self, shadow: ShadowStore) -> set[ResourceId]:
        """Return the hosts that a machine has, that have work of their own, or that are told."""
        found = {ResourceId(host_of(resource)) for resource in shadow.orphans}
        found |= {ResourceId(m.host) for m in shadow.living() if m.host is not None}
        found |= {ResourceId(host_of(resource)) for m in shadow.living() for resource in m.ids()}
        found |= {ResourceId(h.id) for h in shadow.hosts.values() if self._has_work(h)}
        return found

    def _has_work(self, host: Host) -> bool:
        if host.goal is not None or host.condition in MAY_REST:
            return True
        mac = self.truth.mac(host.id)
        return (
            host.condition is HostCondition.FREE
            and mac is not None
            and mac.name == host.ownership.name
        )

    # ------------------------------------------------------------ what is asked

    def asked(self, shadow: ShadowStore, request: HttpRequest, *, holds_lease: bool) -> None:
        """Note in whose name a request is made; the lease is checked where its call begins."""
        del holds_lease
        if request.method == "GET":
            return
        self._update()
        match, doing = _ID.search(request.path), UNDER_WAY.get()
        if match is None or doing is None:
            return
        host, machine = HostId(match[1]), str(doing.call.arg("machine") or "")
        act = match[2] or ("delete" if request.method == "DELETE" else "update")
        name = ""
        if act == "update":
            name = _name_in(request)
        asked = Asked(ours=shadow.ours, machine=machine, act=act, name=name, begun=doing.begun)
        self.truth.ask(host, asked)
        mac = self.truth.mac(host)
        if mac is not None and act in {"delete", "reinstall"}:
            self._ends(shadow, mac, act)
        if mac is not None and act == "delete" and not self.faults["clock_jump"]:
            self.found(paid(mac, self.now))

    def _ends(self, shadow: ShadowStore, mac: Mac, act: str) -> None:
        self.found(ended(shadow, mac, act, self.now))

    def counted(self, process: str, request: HttpRequest) -> None:
        """Check a claim: the machine that it is for began when the count was known."""
        del process
        if (machine := claimant(request)) is not None:
            self.found(self.known_counts.creates(machine, f"claim at {request.path}"))

    def answered(self, request: HttpRequest, source: str, line: Line) -> None:
        """Note what became of a request, and of all hosts by then."""
        super().answered(request, source, line)
        self._classes.note_disguises(self.world.cloud.macs)
        self._choices.note_disguises()
        self._wiped(request, source, line)
        self._update()
        match = _ID.search(request.path)
        if match is None or line.status >= _REFUSED:
            return
        if request.method == "PATCH":
            self._effects.promised(HostId(match[1]))
        if line.fault in _COMES_LATE:
            self.truth.promise(HostId(match[1]), _name_in(request))

    def _wiped(self, request: HttpRequest, source: str, line: Line) -> None:
        match = _ID.search(request.path)
        shadow = next((one for one in self.shadows if source in one.runs), None)
        if match is None or match[2] != "reinstall" or shadow is None or line.status >= _REFUSED:
            return
        self.found(self._failed.answered(shadow.own, HostId(match[1]), line.fault, self.now))

    def _is_tagged(self, request: HttpRequest) -> bool:
        """Every observation of a single host at rest is one too many."""
        del request
        return True

    def doing(self, shadow: ShadowStore, call: Call, *, ahead: float) -> None:
        """Check a call before it is sent."""
        del ahead
        record = next((m for m in shadow.living() if m.id == call.arg("machine")), None)
        self.found(shadow.onces.sending(call, record, self.now, there=False))
        host = HostId(host_of(call.target or ResourceId("")))
        if host not in shadow.bindings:
            self.found(self.held(shadow).touched(shadow.hosts.get(host), call))
        if call.effect is Effect.MAKE and record is not None:
            self.creation_tried(shadow, record.fleet)
        orders = call.arg("machines")
        for order in orders if isinstance(orders, tuple) else ():
            self.found(self.known_counts.creates(MachineId(str(order)), str(call)))

    # ------------------------------------------------------------ what happens to hosts

    def decided(self, shadow: ShadowStore, process: str, fleet: FleetName, made: Decision) -> None:
        """Judge which hosts a decision gives to machines, unless a listing hid one lately."""
        super().decided(shadow, process, fleet, made)
        if not self._is_hidden():
            self.found(self._choices.made(shadow, fleet, made, self.held(shadow)))

    def has_host(self, host: HostId) -> bool:
        """Tell whether a host is there: people delete them."""
        return self.truth.mac(host) is not None

    def orphans_saved(
        self, shadow: ShadowStore, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]
    ) -> None:
        """Check the changes of an orphan report, and what it calls what was never issued."""
        super().orphans_saved(shadow, orphans, cleared)
        self.found(issued_ids.disowned(shadow, orphans))

    def host_saved(self, shadow: ShadowStore, host: Host) -> None:
        """Note a free host that a person has from now on, with how often it was wiped by then."""
        super().host_saved(shadow, host)
        self._choices.saved(shadow, host)
        if not any(self.faults[fault] for fault in (*_COPIES, "clock_jump")):
            bound = host.id in shadow.bindings  # its machine may have used it
            steady = None if bound else self._choices.steady(host.id, self.held(shadow))
            self.found(self._proofs.host_saved(shadow.own, host, steady=steady))
        hold, mac = host.hold, self.truth.mac(host.id)
        if mac is None or hold is None or host.condition is not HostCondition.FREE:
            return
        if hold.kind in _HAD and (hold.until - BEGINNING).total_seconds() > self.now:
            self._handling.reserved(shadow.own, host.id, self.now, mac.installs)

    def happened(self, fault: str, *, done: bool) -> None:
        """Note what a person did."""
        super().happened(fault, done=done)
        if done:
            self.trace.note(f"a person: {fault}")
            self._update()

    def tick(self, *, awake: bool) -> None:
        """Check what only time can break."""
        self.world.advance()
        self._update()
        super().tick(awake=awake)

    def _check(self, passed: float) -> None:
        super()._check(passed)
        macs, time = tuple(self.world.cloud.macs), 0.0 if self._is_hidden() else passed
        self.found(self._classes.check(macs, self._shadows(), time))
        self.found(self._doubles.check(self._shadows(), time))

    def _snapshot_by(self, thing: Thing, zone: Zone) -> bool:
        return not self._is_hidden() and super()._snapshot_by(thing, zone)

    def _check_shadow(self, shadow: ShadowStore, things: list[Thing], passed: float) -> None:
        super()._check_shadow(shadow, things, passed)
        alone = (m for m in shadow.living() if self.is_left_alone(shadow, m, passed))
        self.found(self._promptness.check(shadow.own, alone, passed))

    def _is_hidden(self) -> bool:
        """Tell whether a listing passed over a host lately: no report has it until the next one."""
        many = sum(self.faults[fault] for fault in HIDING)
        if many > self._hidden[0]:
            self._hidden = many, self.now
        return (
            self._hidden[0] > 0 and self.now - self._hidden[1] < HIDDEN_FOR + self._scenario.quiet
        )

    def _update(self) -> None:
        """Judge each change of a host by what the records are at this moment."""
        for change in self.truth.changes():
            self.changed = True
            self._tell(change)
            self._judge(change)
            self._proofs.changed(change, self.now)
            self._effects.changed(change, self.now)
            if not any(self.faults[fault] for fault in _COPIES):
                hold = self._hold_on(change.host)
                self.found(self._given_up.changed(change, self._requests(), hold))
        self.found(
            (*shared(self._shadows(), self.truth, self.now), *unwiped(self.truth, self._pools))
        )

    def _judge(self, change: Change) -> None:
        """Judge what was done to a host, and who gets it."""
        self.found(self._handling.changed(change, self.now))

    def _hold_on(self, host: HostId) -> Hold | None:
        """Return the hold that everybody knows to be on a host."""
        holds = (self.held(shadow).heard(shadow.hosts.get(host)) for shadow in self.shadows)
        return next((hold for hold in holds if hold is not None), None)

    def _requests(self) -> list[Request]:
        """Return all that people asked of machines and hosts, whichever store had it."""
        return [one for shadow in self.shadows for one in self.held(shadow).wanted.values()]

    def _tell(self, change: Change) -> None:
        fact, before = self.truth.hosts.get(change.host), change.before
        name = f"{before.name} > {fact.name}" if fact and fact.name != before.name else before.name
        owner = fact.owner if fact is not None else None
        by = f"{change.by.ours[0]} {change.by.machine}" if change.by else PERSON
        late = " LATE" if change.late else ""
        about = str(owner[1].machine) if owner is not None else ""
        self.trace.note(f"  host {change.host} {change.what} by {by}{late}: {name}", about)

    def _shadows(self) -> list[ShadowStore]:
        return [shadow for shadow in self.shadows if not shadow.lost]

    # ------------------------------------------------------------ what is recorded

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved: its host is bound to it, and to nobody else (S13)."""
        self.world.advance()
        self._update()
        for asked in machine.asked:
            # an observation proved it: what undoes it later is another matter
            if asked.call_state is CallState.DONE:
                shadow.onces.proved(machine.id, asked)
        before = shadow.machines.get(machine.id)
        super().machine_saved(shadow, machine, events)
        self._doubles.saved(machine, events)
        if not any(self.faults[fault] for fault in (*_COPIES, "clock_jump")):
            self.found(self._proofs.saved(shadow.own, before, machine))
            self.found(self._effects.saved(before, machine))
        if machine.host is None or machine.phase is Phase.DELETED:
            return
        if machine.phase is Phase.READY and (before is None or before.phase is not Phase.READY):
            self._gets_ready(shadow, machine.host, before)
        if shadow.bindings.get(machine.host) != machine.id:
            text = f"{machine.id} has host {machine.host}, which is not bound to it"
            self.found((Violation(invariant="S13", text=text, machine=machine.id),))

    def _gets_ready(self, shadow: ShadowStore, host: HostId, before: Machine | None) -> None:
        """Note how often a host's disk was written, for its store knows its machine on that one.

        What a person had written anew while it started may be known as it was before.
        """
        shadow.disks.pop(host, None)
        began = (before.since - BEGINNING).total_seconds() if before is not None else self.now
        mac = self.truth.mac(host)
        if mac is not None and self.truth.hosts[host].reinstalled < began:
            shadow.disks[host] = mac.installs

    # ------------------------------------------------------------ at rest

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return what still keeps a fleet from rest: a machine, a host, or a size not reached."""
        size, machines = shadow.desired(fleet), self._at_work(shadow, fleet)
        ready = sum(machine.phase is Phase.READY for machine in machines)
        things = [
            thing
            for thing, _ in self.things()
            if thing.owner_tag
            and thing.owner_tag.installation in shadow.ours
            and thing.owner_tag.fleet == fleet.name
        ]
        free = self._free(shadow, fleet)
        barred = self.truth.is_shared(fleet.name, shadow.ours)
        reachable = size if ready + len(free) >= size and not barred else ready
        explained = self.explained(shadow) - self._reclaimable(shadow, fleet)
        return (
            invariants.rested(reachable, machines, things, explained)
            or hosts_rest(shadow)
            or self._misstated(shadow)
        )

    def _misstated(self, shadow: ShadowStore) -> Found:
        """Return what the record of a host says, and is not so.

        No API tells a price: of a type whose price the account does not name nobody knows it.
        """
        for mac in self.world.cloud.macs:
            record, kind = shadow.hosts.get(HostId(mac.id)), mac.type_name
            price = TYPES[kind].price if kind in PRICES else None
            true = TrueHost(type=mac.type_name, name=mac.name, price=price, switched=False)
            if record is not None and (wrong := misstated(record, true)):
                return wrong
        return ()

    def _reclaimable(self, shadow: ShadowStore, fleet: Fleet) -> set[ResourceId]:
        """Return the hosts that are told, and that the program is to take back by itself."""
        return {
            orphan.resource
            for orphan in shadow.orphans.values()
            if fleet.reclaim
            and orphan.fleet == fleet.name
            and orphan.cls is OrphanClass.UNRECORDED
            and orphan.installation in shadow.ours
            and orphan.machine in shadow.issued
        }

    def _at_work(self, shadow: ShadowStore, fleet: Fleet) -> list[Machine]:
        """Return the machines that must be ready in the end."""
        return shadow.living(fleet.name)

    def _free(self, shadow: ShadowStore, fleet: Fleet) -> list[str]:
        """Return the hosts that a machine of the fleet could take now."""
        return free_for(self.world, self._scenario, shadow, fleet)


def _name_in(request: HttpRequest) -> str:
    """Return the name that an update of a host asks for; empty where it changes another thing."""
    return str(msgspec.json.decode(request.body, type=dict[str, object]).get("name") or "")
