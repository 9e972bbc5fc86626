"""The checker: what objects say, and what becomes of boxes when objects come and go.

kept      what a machine has is not dropped because an object went or became wrong: the account that
          is run has its box, and neither its Host nor its Provider leaves; and a Fleet that was in
          force stays so.
apart     no machine of a fleet has a box of another namespace.
current   none of a Fleet's machines ends as one too many that was never one too many while this
          process led, and for a minute before.
policy    a deleted Host leaves once nobody has its box, and its power is as it asks for.
status    each Fleet and Host says how it stands, and whether what was written is in force.
leaves    no object that was deleted stays, and no finalizer.
fight     at rest nothing is written to the API.
"""

from collections.abc import Collection, Container, Iterator, Mapping
from math import inf

from hostler.domain.ids import FleetName, HostId
from hostler.domain.model.commands import RESIZE, Event
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.kubernetes.checker import ObjectsChecker
from hostler.lab.kubernetes.simulated_cluster import Raw
from hostler.lab.macs.quiescence import MAY_REST
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.lab.power.faults import PowerScenario

from .edits import FLEETS
from .objects import PROVIDER, Objects, Space, is_going
from .people import Aim

_ON = frozenset({Condition.UP, Condition.STARTING})
_POWERS = {Condition.UP: "on", Condition.STARTING: "on", Condition.OFF: "off"}
_LOCK = "homelab-autoscaler.dev/operation-lock"
_LEARNT = 60.0
"""So long, in seconds, before a process leads it may have read how many machines are wanted."""
_LEFT = 120.0
"""So long, in seconds, before its Host leaves a box was in force, if an engine looked after it."""
_TOUCHED = 180.0
"""So long, in seconds, after a person touched a box nobody answers for how it stands."""
Objected = Mapping[tuple[Space, str], Raw]
"""Objects of one kind by their namespaces and names."""


class FleetsChecker(ObjectsChecker):
    """All checkers of one run of Fleets, beside those of the machines and their boxes."""

    objects: Objects
    join_late = True

    def __init__(
        self, truth: MetalTruth, trace: Trace, consistency_delay: float, scenario: PowerScenario
    ) -> None:
        super().__init__(truth, trace, consistency_delay, scenario)
        self._boxes_run = dict[str, Mapping[str, Collection[str]]]()
        self._fleets_run = dict[str, Mapping[str, Fleet]]()
        self._hosts: Objected = {}
        self._providers: Objected = {}
        self._ran = dict[str, set[str]]()
        self._led = dict[FleetName, tuple[str, float]]()
        self._ran_at = dict[str, float]()
        self._sizes = dict[FleetName, list[tuple[float, int]]]()
        self._ran_lately = frozenset[str]()

    def rack_of(self, box: HostId) -> str:
        """Return the namespace of a box: each is a rack of its own."""
        return self._space(box).name

    def look_at_nodes(self) -> None:
        """Check how Nodes stand now: no engine cares for them while no boxes are in force."""
        if not self.in_force:
            self._cared_for = self.now
        super().look_at_nodes()

    # ------------------------------------------------------------ what is dropped

    @property
    def in_force(self) -> Mapping[str, Collection[str]]:
        """The boxes of each account that are run by every process that has read of any fleets."""
        runs = tuple(self._boxes_run.values())
        accounts = {account for run in runs for account in run if all(account in o for o in runs)}
        return {
            account: [box for box in runs[0][account] if all(box in run[account] for run in runs)]
            for account in accounts
        }

    def takes(
        self,
        process: str,
        in_force: Mapping[str, Collection[str]],
        fleets: Mapping[str, Fleet] | None,
        read: Container[str],
    ) -> None:
        """Note the boxes and fleets of an engine that begins now: what it needs is among them.

        Boxes of machines that it leads are, and each Fleet that was in force before, in an account
        that is. It has no `fleets` before it has read of any; `read` are the uids of the objects
        that it has: of two Fleets of a name, one after the other, it may have the older one yet.
        """
        if fleets is None:
            self._boxes_run.pop(process, None)
            self._fleets_run.pop(process, None)
            return
        self._boxes_run[process], self._fleets_run[process] = in_force, fleets
        self._fleets_stay(process, in_force, fleets, read)
        for fleet, (leader, _) in self._led.items():
            if leader == process:
                self._boxes_stay(process, fleet)

    def has_host(self, host: HostId) -> bool:
        """Tell whether a box is there: none is listed that is not in force, as its Host is wrong.

        So it is where that left, and what was asked for its sake is still to be answered.
        """
        known = any(host in boxes for boxes in self.in_force.values())
        return known and super().has_host(host)

    def written(self, shadow: ShadowStore, process: str, fleet: FleetName) -> Fleet:
        """Return a fleet as it is in force in a process, which may read a newer one later."""
        runs = self._fleets_run.get(process.partition(".")[0], {})
        return runs.get(fleet, shadow.fleets[fleet])

    def _boxes_stay(self, process: str, fleet: FleetName) -> None:
        in_force = self._boxes_run.get(process, {})
        for shadow in self.shadows:
            for machine in shadow.living(fleet):
                account, box = self._account(shadow, machine), machine.host
                if box is not None and account in in_force and box not in in_force[account]:
                    text = f"{box} is {machine.id}'s, and not in force any more"
                    self.wrong("kept", text, machine.id)

    def _fleets_stay(
        self,
        process: str,
        in_force: Container[str],
        fleets: Container[str],
        read: Container[str],
    ) -> None:
        ran, now = self._ran.get(process, set[str]()), set[str]()
        self._ran[process] = now
        for (space, name), one in self._all("fleets").items():
            uid = str(one["metadata"]["uid"])
            if space.named(name) in fleets:
                if uid in read:
                    now.add(uid)
            elif uid in ran and self._is_kept(space, name, in_force) and not is_going(one):
                self.wrong("kept", f"Fleet {space.named(name)} was in force, and is not any more")

    def _is_kept(self, space: Space, name: str, in_force: Container[str]) -> bool:
        """Tell whether a Fleet is to be in force, if it was: a process that begins knows its row.

        Before an engine has written that, it is judged as if it were new.
        """
        on_record = any(FleetName(space.named(name)) in shadow.rows for shadow in self.shadows)
        return on_record and space.named(PROVIDER) in in_force

    # ------------------------------------------------------------ how many are wanted

    def led_by(self, fleet: FleetName, process: str) -> None:
        """Note since when a process leads a fleet, whatever run of it; it has what that needs."""
        super().led_by(fleet, process)
        name, before = process.partition(".")[0], self._led.get(fleet)
        if before is None or before[0] != name:
            self._led[fleet] = name, self.now
            self._boxes_stay(name, fleet)

    def look_at_sizes(self) -> None:
        """Note how many machines each Fleet asks for; none where it is not there."""
        wanted = {
            FleetName(space.named(name)): 0 if is_going(one) else int(one["spec"].get("size", 0))
            for (space, name), one in self._all("fleets").items()
        }
        for fleet in wanted.keys() | self._sizes.keys():
            sizes, size = self._sizes.setdefault(fleet, []), wanted.get(fleet, 0)
            if not sizes or sizes[-1][1] != size:
                sizes.append((self.now, size))

    def _least_wanted(self, fleet: FleetName) -> int:
        """Return the smallest size that a fleet had since who leads it may have read it first."""
        sizes, since = self._sizes.get(fleet, []), self._led[fleet][1] - _LEARNT
        before = [size for at, size in sizes if at <= since][-1:]
        return min((*before, *(size for at, size in sizes if at > since)), default=0)

    def _is_one_too_many(self, shadow: ShadowStore, machine: Machine) -> None:
        """Check a machine that ends as one too many, before its record is known.

        One that the same decision found well again counts, whichever of them is saved first.
        """
        before, deletion = shadow.machines.get(machine.id), machine.deletion
        if deletion is None or before is None or not before.wanted:
            return
        if deletion.actor == RESIZE and machine.fleet in self._led:
            many = sum(_counts(one, shadow) for one in shadow.living(machine.fleet))
            if many <= (least := self._least_wanted(machine.fleet)):
                text = f"{machine.id} ends as one too many of {many}, and {least} were wanted"
                self.wrong("current", text, machine.id)

    def _account(self, shadow: ShadowStore, machine: Machine) -> str:
        fleet = shadow.fleets.get(machine.fleet)
        return str(fleet.account) if fleet is not None else ""

    def look(self) -> None:
        """Judge the Hosts and Providers that have left since the last look, and Nodes."""
        self.look_at_sizes()
        self.look_at_nodes()
        self._ran_at |= {box: self.now for boxes in self.in_force.values() for box in boxes}
        hosts, providers = self._all("hosts"), self._all("providers")
        for place, one in self._hosts.items():
            if place not in hosts or not _same(hosts[place], one):
                self._host_left(*place, one)
        for (space, name), one in self._providers.items():
            stays = (space, name) in providers and _same(providers[space, name], one)
            if not stays and name == PROVIDER:
                self._provider_left(space)
        self._hosts, self._providers = hosts, providers
        self._ran_lately = frozenset(name for run in self._fleets_run.values() for name in run)
        for space in self.objects.spaces:
            boxes = self.in_force.get(space.named(PROVIDER))
            for name in space.hosts:
                box = space.box(name)
                if (space, name) not in hosts or (boxes is not None and box not in boxes):
                    self.truth.touch(box)  # whatever befalls it now, nobody sees it

    def _all(self, plural: str) -> Objected:
        spaces, of = self.objects.spaces, self.objects.of
        return {(space, name): one for space in spaces for name, one in of(space, plural).items()}

    def _provider_left(self, space: Space) -> None:
        for shadow in self.shadows:
            for machine in shadow.living():
                if machine.host is not None and self._is_in(space, machine.host):
                    text = f"the Provider of {machine.host} left, which is {machine.id}'s"
                    self.wrong("kept", text, machine.id)

    def _host_left(self, space: Space, name: str, one: Raw) -> None:
        """Judge a box whose Host left just now: with its last word on what is to be of it."""
        box = space.box(name)
        for shadow in self.shadows:
            if (machine := shadow.bindings.get(box)) is not None:
                self.wrong("kept", f"Host {box} left, and the box is {machine}'s", machine)
            elif self._is_switched(space, name, one, shadow.hosts.get(box)):
                self._power_of_left(box, str(one["spec"].get("deletionPolicy", "")))

    def _is_switched(self, space: Space, name: str, one: Raw, record: Host | None) -> bool:
        """Tell whether an engine looks after a box that leaves, for a Fleet may have it.

        One whose Host was wrong for long was in force no more, or is no more once another process
        leads; nor does a Fleet count that came in force since, for before it nobody switched the
        box.
        """
        secret = "secretName" not in one["spec"] or self.objects.has_secret(space)
        right = secret and one["spec"]["power"] == space.host_spec(name)["power"]
        lately = self.now - (_LEFT if right else 0.0)
        if record is None or self._ran_at.get(record.id, -inf) < lately:
            return False
        if record.condition is HostCondition.ABSENT or record.goal is HostGoal.RETIRED:
            return False
        fleets = self.objects.of(space, "fleets").items()
        stay = [space.named(name) for name, one in fleets if not is_going(one)]
        return space.named(PROVIDER) in self.in_force and not self._ran_lately.isdisjoint(stay)

    def _power_of_left(self, box: HostId, policy: str) -> None:
        condition = self.truth.condition(box)
        right = {"on": condition in _ON, "off": condition is Condition.OFF}.get(policy, True)
        touched = self.now - self.truth.handled.get(box, -inf) < _TOUCHED
        if not right and not touched:
            self.wrong("policy", f"Host {box} left to be {policy}, and is {condition}")

    # ------------------------------------------------------------ each rack by itself

    def _is_in(self, space: Space, box: HostId) -> bool:
        """Tell whether a box is of a namespace, whether it has a Host there or not."""
        return box in {space.box(name) for name in space.hosts}

    def _space(self, box: HostId) -> Space:
        return next(space for space in self.objects.spaces if self._is_in(space, box))

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved; its box is of the namespace of its fleet."""
        self._is_one_too_many(shadow, machine)
        super().machine_saved(shadow, machine, events)
        if machine.host is not None:
            names = {self._space(machine.host).named(name) for name in FLEETS}
            if machine.fleet not in names:
                text = f"{machine.id} of {machine.fleet} has {machine.host}"
                self.wrong("apart", text, machine.id)

    def _boxes_of(self, shadow: ShadowStore, fleet: Fleet) -> list[tuple[HostId, Host | None]]:
        """Return the boxes of the namespace of a fleet."""
        return [
            (box, host)
            for box, host in self._boxes(shadow)
            if fleet.name in {self._space(box).named(name) for name in FLEETS}
        ]

    def _is_asked_off(self, box: HostId) -> bool:
        """Tell whether a box is to be off where nobody has it: no other than a Host asks for that.

        One without a Host is nobody's business.
        """
        hosts = (
            one
            for space in self.objects.spaces
            for name, one in self.objects.of(space, "hosts").items()
            if space.box(name) == box
        )
        return any(one["spec"].get("desiredPowerState") != "on" for one in hosts)

    def _is_usable(self, box: HostId, host: Host | None) -> bool:
        """Tell whether a machine may have a box."""
        usable = super()._is_usable(box, host)
        return usable and self._is_asked_off(box) and not _is_left_alone(host)

    def _goes_off(self, box: HostId, host: Host | None) -> bool:
        """Tell whether a box is off in the end where nobody has it, as its Host asks."""
        return super()._goes_off(box, host) and self._is_asked_off(box)

    # ------------------------------------------------------------ at rest

    def untrue(self, shadow: ShadowStore, space: Space, aim: Aim) -> str:
        """Return what objects say at rest that is not so; empty where all is true."""
        if text := self._presence(shadow, space, aim):
            return text
        fleets, hosts = self.objects.of(space, "fleets"), self.objects.of(space, "hosts")
        named = {name: FleetName(space.named(name)) for name in fleets}
        texts = [
            text
            for name, size in aim.sizes.items()
            for text in _fleet(fleets[name], named[name], shadow, size)
        ]
        texts += [
            text for name, one in hosts.items() for text in self._host(one, space.box(name), shadow)
        ]
        for one in self.objects.of(space, "providers").values():
            texts += _in_force(one)
        return "; ".join(texts)

    def _presence(self, shadow: ShadowStore, space: Space, aim: Aim) -> str:
        """Return which objects are there that are not to be, or lack.

        A host that is left alone for its failures is not switched, whoever waits for that.
        """
        wanted = {"fleets": {*aim.sizes}, "hosts": {*aim.hosts}, "providers": {PROVIDER}}
        alone = {host.id for host in shadow.hosts.values() if _is_left_alone(host)}
        for plural, names in wanted.items():
            there = {
                name: one
                for name, one in self.objects.of(space, plural).items()
                if plural != "hosts" or not is_going(one) or space.box(name) not in alone
            }
            if going := [name for name, one in there.items() if is_going(one)]:
                return f"leaves: {plural} {sorted(going)} were deleted, and are there still"
            if set(there) != names:
                return f"leaves: there are {plural} {sorted(there)}, and {sorted(names)} are to be"
        return ""

    def _host(self, one: Raw, box: HostId, shadow: ShadowStore) -> Iterator[str]:
        status = one.get("status", {})
        yield from _in_force(one)
        condition = self.truth.condition(box)
        power = _POWERS.get(condition) if condition is not None else None
        if power is not None and status.get("power") != power:
            yield f"status: Host {box} says {status.get('power')}, and is {condition}"
        asked = one["spec"].get("desiredPowerState") == "on"
        if asked and condition not in _ON and not _is_left_alone(shadow.hosts.get(box)):
            yield f"status: Host {box} is to be on, and is {condition}"
        machine = shadow.bindings.get(box, "")
        if status.get("machine", "") != machine:
            yield f"status: Host {box} has {status.get('machine')!r}, on record is {machine!r}"
        if _LOCK in one["metadata"].get("annotations", {}):
            yield f"status: Host {box} is locked, and nothing is done"


def _counts(machine: Machine, shadow: ShadowStore) -> bool:
    """Tell whether a machine counts towards a size, or is about to, for it is well again."""
    decided, _ = shadow.decided.get(machine.id, (machine.phase, 0.0))
    recovers = machine.phase is Phase.FAILED and decided is Phase.READY
    return machine.wanted or (recovers and machine.deletion is None)


def _is_left_alone(host: Host | None) -> bool:
    """Tell whether a host failed too often: it stays so while it is not in force, too."""
    return host is not None and (
        host.condition in MAY_REST or host.health.quarantined_until is not None
    )


def _same(one: Raw, other: Raw) -> bool:
    """Tell whether two are the same object, not another one of its name."""
    return bool(one["metadata"]["uid"] == other["metadata"]["uid"])


def _fleet(one: Raw, name: FleetName, shadow: ShadowStore, size: int) -> Iterator[str]:
    status, living = one.get("status", {}), shadow.living(name)
    ready = sum(machine.phase is Phase.READY for machine in living)
    says = tuple(status.get(key) for key in ("size", "machines", "ready"))
    if says != (size, len(living), ready):
        yield f"status: Fleet {name} says {says}, and it is {(size, len(living), ready)}"
    yield from _in_force(one)


def _in_force(one: Raw) -> Iterator[str]:
    """Yield that an object does not say that its newest spec is in force."""
    name, status = str(one["metadata"]["name"]), one.get("status", {})
    accepted = {c["type"]: c["status"] for c in status.get("conditions", ())}.get("Accepted")
    written, seen = one["metadata"].get("generation"), status.get("observedGeneration")
    if accepted != "True" or seen != written:
        yield f"status: {name} is accepted: {accepted}, of generation {seen} and not {written}"
