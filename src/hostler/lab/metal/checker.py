"""The checker: what is recorded and asked of boxes is held against what truly became of them.

S5     a box that a machine is using is never switched off by us.
S12    nobody gets a box that is not clean since somebody else had it, as its capability says.
S13    no box is two machines', and no machine has one that is not bound to it.
hold   what people hold is left alone, and is soon on or off as they want it.
power  boxes are switched no oftener, and no more at a time, than their limits allow (limits).
"""

from collections.abc import Iterator, Mapping
from functools import partial

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.commands import Decision, Event
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, host_of
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Observation, OwnerTag
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.holds import HEARD, STOOD_STILL
from hostler.lab.checks.host_choices import chosen
from hostler.lab.checks.host_records import TrueHost, Wear, misstated
from hostler.lab.checks.lag import Lag
from hostler.lab.checks.listings import Listed
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.macs.quiescence import MAY_REST, hosts_rest
from hostler.lab.scenario.faults import OTHER_STORES, STORE_COPIED, STORE_RESTORED
from hostler.testing import invariants
from hostler.testing.fakes.metal_planner import CLEAN, SWITCH_ON
from hostler.testing.invariants import Found, Thing, Violation

from .choices import BoxChoices
from .faults import MetalScenario
from .ground_truth import MetalTruth
from .holds import Cycles, Switched
from .limits import Limits
from .sightings import Sightings
from .strikes import Strikes

BOXES: Listed = {"server": ("boxes",), "host": ("boxes",)}
"""What must be listed for somebody to know all boxes of a rack."""
STEADY = 240.0
"""So long, in seconds, a box is up before nobody may take it for lost."""
_USED = frozenset({Phase.READY, Phase.DRAINING})
_ON = frozenset({Condition.STARTING, Condition.UP})
_IS_ON = {Condition.UP: True, Condition.OFF: False}
_OLDER = (STORE_COPIED, *OTHER_STORES)
"""After these a store may say what an older one said."""
_OTHERWISE: Mapping[tuple[Phase, Condition | None], str] = {
    (Phase.READY, Condition.OFF): "its box is off",
    (Phase.STANDBY, Condition.UP): "its box is on",
}
_LEFT_OFF = "its box is off, and nothing is done for it"
LATE = dict.fromkeys((*_OTHERWISE.values(), _LEFT_OFF), 300.0)
"""How long, in seconds in which its zone was listed, a record may lag behind the rack."""


class MetalChecker(Checker):
    """All checkers of one run of metal."""

    listed = BOXES
    join_late = False
    """Whether boxes become known, and unknown, while they stand."""

    def __init__(
        self, truth: MetalTruth, trace: Trace, consistency_delay: float, scenario: MetalScenario
    ) -> None:
        super().__init__(truth, trace, consistency_delay)
        self.truth, self._scenario = truth, scenario
        self._let_go = dict[HostId, tuple[float, int]]()
        self._obeyed = set[tuple[str, str]]()
        self._began = dict[MachineId, float]()
        self._sightings = Sightings()
        self._limits = Limits(
            truth=truth,
            scenario=scenario,
            sightings=self._sightings,
            faults=self.faults,
            now=lambda: self.now,
            rack_of=self.rack_of,
            join_late=self.join_late,
        )
        self._strikes = Strikes(self._sightings, self.faults)
        self._switched = dict[InstallationId, Switched]()
        self._cycles = dict[InstallationId, Cycles]()
        self._wear = dict[InstallationId, Wear]()
        self.lag = Lag(LATE)

    def rack_of(self, box: HostId) -> str:
        """Return in which rack a box takes its turn with the others."""
        del box
        return ""

    # ------------------------------------------------------------ what is true

    def things(self) -> list[tuple[Thing, Zone]]:
        """Return every box; one that is bound is its machine's server, by the newest records."""
        owners = {
            host: (shadow, machine)
            for shadow in self.shadows
            for host, machine in shadow.bindings.items()
        }
        return [
            (self._thing(HostId(box.id), owners.get(HostId(box.id))), box.zone)
            for box in self.truth.rack.boxes()
        ]

    def has_host(self, host: HostId) -> bool:
        """Tell whether a box is there under this name: people rename and remove them."""
        return self.truth.rack.box(ResourceId(host)) is not None

    def _thing(self, box: HostId, owner: tuple[ShadowStore, MachineId] | None) -> Thing:
        if owner is None:
            return Thing(id=ResourceId(box), kind="host", created=0.0)
        shadow, machine = owner
        record = shadow.machines.get(machine)
        fleet = record.fleet if record is not None else next(iter(shadow.fleets))
        tag = OwnerTag(installation=shadow.own, fleet=fleet, machine=machine, attempt=0)
        created = self._began.get(machine, self.now)
        return Thing(id=ResourceId(box), kind="server", created=created, owner_tag=tag)

    def is_healthy(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether its box is up for long, and nothing happened to it."""
        del shadow
        if machine.host is None or machine.goal is Goal.STANDBY:
            return False
        return self.truth.is_steady(machine.host, STEADY)

    def left_of(self, machine: Machine) -> list[Thing]:
        """Nothing of a machine is outside our records: what its box still does is the box's own."""
        del machine
        return []

    def explained(self, shadow: ShadowStore) -> set[ResourceId]:
        """Return the boxes that a machine has, or that have a record of their own."""
        found = {ResourceId(m.host) for m in shadow.living() if m.host is not None}
        return found | {ResourceId(host) for host in shadow.hosts}

    # ------------------------------------------------------------ what is decided

    def decided(self, shadow: ShadowStore, process: str, fleet: FleetName, made: Decision) -> None:
        """Judge which boxes a decision gives to machines; what is known is known by listings."""
        super().decided(shadow, process, fleet, made)
        stood_still = self.faults["paused"] or self.faults["suspended"]
        settled = HEARD + (STOOD_STILL if stood_still else 0.0)
        limits, may_be_chosen = self._scenario.power, self._may_be_chosen
        choices = BoxChoices(self.truth, limits, settled, self.cost, may_be_chosen)
        if not self.faults["clock_jump"]:
            self.found(choices.made(shadow, fleet, made, self.held(shadow)))
        for machine, box in chosen(made, fleet, shadow):
            if self._sightings.is_ill(box, self.now):
                text = f"{machine.id} takes {box}, which is listed as failed, or as not known"
                self._wrong("choice", text, machine.id)

    def _may_be_chosen(self, box: HostId) -> bool:
        """Tell whether a box was listed just now as on or off, and is not left on for its Node."""
        left_on = self.stays_on(box) and self.truth.condition(box) is Condition.UP
        return self._sightings.is_well(box, self.now) and not left_on

    def cost(self, box: HostId) -> float | None:
        """Return what an hour of a box costs; None where that is not told."""
        del box
        return None

    # ------------------------------------------------------------ what is asked

    def observed(self, observation: Observation) -> None:
        """Note which boxes were listed as off, as up, or as failed."""
        self._sightings.note(observation, self.now)

    def led_by(self, fleet: FleetName, process: str) -> None:
        """Note that another engine leads, which knows what was recorded."""
        super().led_by(fleet, process)
        self._sightings.led()

    def doing(self, shadow: ShadowStore, call: Call, *, ahead: float) -> None:
        """Check a call before it is sent."""
        del ahead
        if call.shows is Shows.POWER:
            box = HostId(host_of(call.target or ResourceId("")))
            self.found(self._limits.started(box, call))
        if call.kind == SWITCH_ON:
            self.found(self.known_counts.creates(MachineId(str(call.arg("machine"))), str(call)))
        if call.shows is Shows.REST or call.kind == CLEAN:
            self._ends(shadow, HostId(host_of(call.target or ResourceId(""))), str(call))
        record = next((m for m in shadow.living() if m.id == call.arg("machine")), None)
        self.found(shadow.onces.sending(call, record, self.now, there=False))

    def _ends(self, shadow: ShadowStore, box: HostId, call: str) -> None:
        """A box on which a job runs is neither switched off nor cleaned by us (S6)."""
        user = next((machine for machine in shadow.living() if machine.host == box), None)
        if user is not None and self.truth.condition(box) is Condition.UP:
            self.found(shadow.jobs.ended(user.id, call, self.now))

    def obeyed(self, call: Call, box: HostId, *, stopped: bool) -> None:
        """Judge a command of ours at the moment of its effect.

        Where its process was `stopped` before it was sent, for longer than effects may be late,
        only the bound of its machine's phase keeps that in mind; and whose clock jumped had
        written when that phase began.
        """
        self.changed = True
        self.trace.note(f"{box} obeys {call}", str(call.target or "").partition("#")[2])
        self._obeyed.add((str(call.arg("machine")), call.kind))
        moves = call.shows is not Shows.REST or self.truth.condition(box) is not Condition.OFF
        for shadow in self.shadows:
            if box not in shadow.bindings:
                held, record = self.held(shadow), shadow.hosts.get(box)
                self.found(held.touched(record, call, moves=moves))
        if call.shows is not Shows.REST or self.truth.condition(box) not in _ON:
            return
        forgiven = stopped and self.faults["clock_jump"] > 0
        for shadow in self.shadows:
            for machine in shadow.living():
                if machine.host == box and machine.phase in _USED and not forgiven:
                    text = f"{box} was switched off by {call} while {machine.id} is {machine.phase}"
                    self._wrong("S5", text, machine.id)
            self.found(self._limits.stopped(shadow.hosts.get(box), call))

    # ------------------------------------------------------------ what is recorded

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved, and the box that its machine takes or lets go of."""
        self.truth.advance()
        for asked in machine.asked:
            # Its effect was seen: what undoes that later is another matter.
            if asked.call_state is CallState.DONE and (machine.id, asked.kind) in self._obeyed:
                shadow.onces.proved(machine.id, asked)
        before = shadow.machines.get(machine.id)
        super().machine_saved(shadow, machine, events)
        held = before.host if before is not None else None
        if held is not None and machine.phase is not Phase.DELETED and machine.host != held:
            self._lets_go(machine, held)
        if machine.phase is Phase.DELETED:
            if (
                machine.host is not None
                and before is not None
                and before.phase is not machine.phase
            ):
                self._lets_go(machine, machine.host)
            return
        if machine.host is None:
            return
        if shadow.bindings.get(machine.host) != machine.id:
            text = f"{machine.id} has {machine.host}, which is not bound to it"
            self._wrong("S13", text, machine.id)
        if machine.host != held:
            self._taken(shadow, machine, machine.host)
        self._is_alone(machine)

    def host_saved(self, shadow: ShadowStore, host: Host) -> None:
        """Check a host's record: what counts against it, how often it went on, and its cycles."""
        super().host_saved(shadow, host)
        self._sightings.saved(host.id)
        self.found(self._strikes.saved(shadow.own, host, self.now))
        if not any(self.faults[fault] for fault in _OLDER):
            wear = self._wear.setdefault(shadow.own, Wear())
            self.found(wear.saved(host, self.truth.times(host.id, Condition.STARTING)))
            cycles = self._cycles.setdefault(shadow.own, Cycles(self.truth))
            self.found(cycles.saved(host))

    def _is_alone(self, machine: Machine) -> None:
        for shadow in self.shadows:
            for other in shadow.living():
                if other.id != machine.id and other.host == machine.host:
                    text = f"{machine.host} is {other.id}'s and {machine.id}'s"
                    self._wrong("S13", text, machine.id)

    def _taken(self, shadow: ShadowStore, machine: Machine, box: HostId) -> None:
        """Judge a box that a machine takes: is it clean, and may it be switched on now?"""
        if self.truth.condition(box) is None:  # somebody took it away: nobody gets it
            return
        let_go, restored = self._let_go.get(box, (None, 0))
        known = restored == self.faults[STORE_RESTORED]
        if let_go is not None and known and not self._is_clean(box, let_go):
            self._wrong("S12", f"{box} goes to {machine.id}, not clean since", machine.id)
        self._began[machine.id] = self.now
        self.found(self._limits.taken(shadow, machine, box))

    def _lets_go(self, machine: Machine, box: HostId) -> None:
        """Note that a machine lets go of a box; a backup that is put back may not know of it.

        Nothing of it is on a box that was off for as long as it had it.
        """
        taken = self._began.get(machine.id)
        off = self.truth.condition(box) is Condition.OFF
        if not off or taken is None or self.truth.off_since(box) > taken:
            self._let_go[box] = self.now, self.faults[STORE_RESTORED]

    def _is_clean(self, box: HostId, since: float) -> bool:
        """Tell whether a box is clean, as its capability says, since a machine let go of it."""
        match self._scenario.cleaning:
            case Cleaning.POWER_CYCLE:
                off = self.truth.last(box, Condition.OFF)
                stays = self.truth.condition(box) is Condition.OFF
                was_off = self.truth.was(box, Condition.OFF, since)
                return stays or was_off or (off is not None and off >= since)
            case Cleaning.COMMAND:
                return self.truth.cleanings.get(box, -1.0) >= since
            case Cleaning.TRUSTED | Cleaning.WIPE:
                return True

    def stays_on(self, box: HostId) -> bool:
        """Tell whether a box may never be switched off, whatever people want of it."""
        del box
        return False

    def _check_shadow(self, shadow: ShadowStore, things: list[Thing], passed: float) -> None:
        """Check what only time can break; free boxes that answer come to be as people hold them."""
        super()._check_shadow(shadow, things, passed)
        self.found(self.lag.check(shadow.own, self._lagging(shadow, passed), passed))
        hosts = (host for host in shadow.hosts.values() if host.id not in shadow.bindings)
        moved = (host for host in hosts if not (host.fleet and shadow.is_held_back(host.fleet)))
        free = (host for host in moved if host.condition is HostCondition.FREE)
        has_room = partial(self._limits.has_room, shadow)
        made = Switched(self.truth, self.held(shadow), has_room, self._scenario.power.exercise)
        switched = self._switched.setdefault(shadow.own, made)
        moves = (host for host in free if not self.stays_on(host.id))
        answer = (host for host in moves if self._sightings.is_recent(host.id, self.now))
        self.found(switched.late((h for h in answer if self.looking(shadow, h.zone)), passed))

    def _lagging(self, shadow: ShadowStore, passed: float) -> Iterator[tuple[Machine, str]]:
        """Yield the machines of which a box that was listed just now tells otherwise."""
        for machine in shadow.living():
            box = machine.host
            if box is None or not self.looking(shadow, machine.offer.zone):
                continue
            condition = self.truth.condition(box)
            true = _OTHERWISE.get((machine.phase, condition))
            off = _is_wanted_on(machine) and condition is Condition.OFF
            if off and self.is_left_alone(shadow, machine, passed) and not self._limits.waits(box):
                true = _LEFT_OFF
            if true is not None and self._sightings.is_recent(box, self.now):
                yield machine, true

    def _wrong(self, invariant: str, text: str, machine: MachineId | None) -> None:
        self.found((Violation(invariant=invariant, text=text, machine=machine),))

    # ------------------------------------------------------------ at rest

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return what still keeps a fleet from rest: a machine, a box, or a size not reached."""
        size, machines = shadow.desired(fleet), shadow.living(fleet.name)
        boxes = self._boxes_of(shadow, fleet)
        usable = [box for box, host in boxes if self._is_usable(box, host)]
        reachable = min(size, len(usable))
        return (
            invariants.rested(reachable, machines, (), ())
            or hosts_rest(shadow)
            or self._boxes_rest(shadow)
            or self._misstated(shadow)
        )

    def _misstated(self, shadow: ShadowStore) -> Found:
        """Return what the record of a box says, and is not so."""
        for box in self.truth.rack.boxes():
            record, on = shadow.hosts.get(HostId(box.id)), _IS_ON.get(box.condition)
            price = self.cost(HostId(box.id)) if on else None
            true = TrueHost(type=box.type, name=box.name, price=price, on=on)
            if record is not None and (wrong := misstated(record, true)):
                return wrong
        return ()

    def _boxes(self, shadow: ShadowStore) -> list[tuple[HostId, Host | None]]:
        boxes = (HostId(box.id) for box in self.truth.rack.boxes())
        return [(box, shadow.hosts.get(box)) for box in boxes]

    def _boxes_of(self, shadow: ShadowStore, fleet: Fleet) -> list[tuple[HostId, Host | None]]:
        """Return the boxes that a fleet may have, with their records."""
        del fleet
        return self._boxes(shadow)

    def _is_usable(self, box: HostId, host: Host | None) -> bool:
        quarantined = host is not None and host.condition in MAY_REST
        return self.truth.condition(box) is not Condition.FAILED and not quarantined

    def _goes_off(self, box: HostId, host: Host | None) -> bool:
        """Tell whether a box is off in the end where nobody has it: also one in quarantine is.

        One that is broken cannot be.
        """
        del host
        return self.truth.condition(box) is not Condition.FAILED

    def _boxes_rest(self, shadow: ShadowStore) -> Found:
        """A box that nobody has is off in the end, also where it is left alone for its failures."""
        for box, host in self._boxes(shadow):
            nobodys = box not in shadow.bindings and self._goes_off(box, host)
            hold = self._lasting_hold(host)
            if (
                nobodys
                and (hold is None or hold.kind is not HoldKind.ON)
                and self.truth.condition(box) is not Condition.OFF
            ):
                text = f"{box} is nobody's, and {self.truth.condition(box)}"
                return (Violation(invariant="L1", text=text),)
        return ()

    def _lasting_hold(self, host: Host | None) -> Hold | None:
        """Return the hold by which an engine whose clock jumped back may still go: its own time."""
        return host.hold if host is not None and self.faults["clock_jump"] else None


def _is_wanted_on(machine: Machine) -> bool:
    """Tell whether a machine starts, and is to: its box is to be switched on."""
    starts = machine.phase is Phase.STARTING and machine.goal is Goal.PRESENT
    return starts and machine.deletion is None
