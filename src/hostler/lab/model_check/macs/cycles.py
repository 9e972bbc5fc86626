"""What one installation does by itself: observe, go through a cycle, go on with a call.

The decisions are the program's own: `decide`, `decide_hosts`, `allowed`, `host_allowed`, the
provider's next calls, the gate, and both folds. The order of saves is that of a cycle, and each
save is kept, so that a process may die after any of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hostler.controllers.execute.evidence import act_of
from hostler.domain.decide import decide
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import Times, host_allowed
from hostler.domain.ids import HostId, ResourceId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.commands import Advance, Bind, Decision, SaveFleet, Unbind
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCleaning, HostCondition, HostGoal, HostOwnership
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Resource
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import resources_of
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources
from hostler.domain.policy.gate import Act, Evidence, pass_gate

from .calls import OFFER, PLACE, POOL, Sighting
from .canonical import aged, settled
from .installation import LONG_AGO, MINE, NOW, OLDER, Saw, Side, Task
from .observations import ACCOUNT, Home, Observer


@dataclass(slots=True)
class Saves:
    """A side while it takes a step, and what its store held after each save."""

    side: Side
    stores: list[Side] = field(default_factory=list[Side])

    def save(self, side: Side) -> None:
        """Go on from here, and remember it."""
        self.side = side
        self.stores.append(side)


class Caller:
    """Begins the calls of one installation, and takes in their answers."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    # ------------------------------------------------------------ calls of machines

    def go_on(
        self, saves: Saves, machine: Machine, resources: tuple[Resource, ...], goal: Goal
    ) -> None:
        """Begin the next call of a machine, recorded first; or end the step with a save."""
        while True:
            ready = allowed(
                machine,
                goal,
                resources,
                self._observer.snapshot(saves.side),
                self._observer.provider,
            )
            if not ready.calls or self._is_recalled(saves.side, machine, ready.calls[0]):
                break
            call = ready.calls[0]
            machine = ask(machine, call, NOW, MINE)
            saves.save(saves.side.with_machine(machine))
            if not self._barred(saves.side, call, machine):
                task = Task(holder=machine, resources=resources, goal=str(goal), call=call)
                self._keep_task(saves, task)
                return
            machine = apply_outcome(machine, call, _NOT_SENT, NOW)
            break
        if saves.side.machine(machine.id) != machine:
            saves.save(saves.side.with_machine(machine))

    def _is_recalled(self, side: Side, machine: Machine, call: Call) -> bool:
        going = machine.goal is Goal.PRESENT and machine.id in side.recalled
        return going and call.effect is not Effect.DESTROY

    def _keep_task(self, saves: Saves, task: Task) -> None:
        others = (t for t in saves.side.tasks if t.holder.id != task.holder.id)
        tasks = tuple(sorted((*others, task), key=lambda t: t.holder.id))
        saves.side = replace(saves.side, tasks=tasks)

    def _barred(self, side: Side, call: Call, machine: Machine) -> bool:
        """Pass the gate, as far as it asks whose a part is and how old the look at it."""
        inventory, target = self._observer.inventory(side.saw), call.target
        resource = inventory.resource(target) if target is not None else None
        ours = target in machine.ids()
        if resource is not None and resource.owner_tag is not None:
            own = resource.owner_tag.installation == self._observer.home.installation
            ours = own and resource.owner_tag.machine == machine.id
        known = [k.since for k in machine.place(call.slot).known if k.id == target]
        times = [*known, *([side.saw.at] if resource is not None and side.saw.at else [])]
        act = act_of(call, machine)
        return bool(pass_gate(self._evidence(act, max(times, default=None), ours=ours)))

    def _evidence(self, act: Act, observed: datetime | None, *, ours: bool) -> Evidence:
        """Return the evidence for a call: leases, caps and worlds are not what is checked here."""
        return Evidence(
            act=act,
            now=NOW,
            boot=0.0,
            lease_until=1e9,
            deadline=self._observer.provider.capabilities.deadline,
            ours=ours,
            observed=observed,
            observation_limit=self._observer.fleet.timers.observation_limit,
            reread=True,
            age=None,
            grace=self._observer.fleet.timers.grace,
            sightings=None,
            protection="",
            granted=True,
            world="",
            paid_until=None,
            reclaim=False,
            wave=False,
            proved=True,
        )

    # ------------------------------------------------------------ calls of hosts

    def go_on_host(self, saves: Saves, host: Host, resource: Resource, goal: HostGoal) -> None:
        """Begin the next call of a host that no machine holds, recorded first; or end the step."""
        at = saves.side.saw.at
        if at is None or saves.side.binding(host.id) is not None:
            return
        found = host_allowed(host, goal, resource, Times(at, NOW), self._observer.provider).calls
        if not found:
            return
        call = found[0]
        host = ask(host, call, NOW, MINE)
        saves.save(saves.side.with_host(host))
        snapshot = self._observer.inventory(saves.side.saw).resource(ResourceId(host.id))
        ours = snapshot is not None and snapshot.host.stage not in {
            "foreign",
            "other",
            "unnamed",
        }
        act = Act.DELETE if call.effect is Effect.DESTROY else Act.CHANGE
        if pass_gate(self._evidence(act, at, ours=ours)):
            saves.save(saves.side.with_host(apply_outcome(host, call, _NOT_SENT, NOW)))
            return
        self._keep_task(saves, Task(holder=host, resources=(resource,), goal=str(goal), call=call))

    # ------------------------------------------------------------ answers

    def machine_answered(self, saves: Saves, holder: Machine, task: Task, outcome: Outcome) -> None:
        """Take in what came of a machine's call, and begin the next one where that was done."""
        machine = apply_outcome(holder, task.call, outcome, NOW)
        resources = apply_to_resources(task.resources, outcome)
        if isinstance(outcome, Done):
            self.go_on(saves, machine, resources, Goal(task.goal))
        else:
            saves.save(saves.side.with_machine(machine))

    def host_answered(self, saves: Saves, holder: Host, task: Task, outcome: Outcome) -> None:
        """Take in what came of a host's call, and begin the next one where that was done."""
        host = apply_outcome(holder, task.call, outcome, NOW)
        saves.save(saves.side.with_host(host))
        resources = apply_to_resources(task.resources, outcome)
        if isinstance(outcome, Done) and resources:
            self.go_on_host(saves, host, resources[0], HostGoal(task.goal))


_NOT_SENT = Refused(why=Refusal.NOT_SENT, text="the gate")


_NONE: Mapping[HostId, str] = {}


class TooManyBorn(Exception):
    """More machines were made than the setting foresees: the world is not closed."""


class Actor:
    """Takes the private steps of one installation."""

    def __init__(self, home: Home) -> None:
        self.home, self.observer = home, Observer(home)
        self.provider, self.fleet = self.observer.provider, self.observer.fleet
        self._caller = Caller(self.observer)

    def first(self, wiped: Mapping[HostId, str] = _NONE) -> Side:
        """Return the side at its beginning: nothing was seen yet; these hosts it wiped itself."""
        hosts = tuple(
            Host(
                id=host,
                account=ACCOUNT,
                zone=PLACE,
                condition=HostCondition.FREE,
                type=OFFER.type,
                ownership=HostOwnership(name=name, pool=POOL),
                cleaning=HostCleaning(image=OFFER.image, wiped=LONG_AGO, wiping=LONG_AGO),
            )
            for host, name in wiped.items()
        )
        row = FleetRow(name=self.home.fleet, created=LONG_AGO, version=1)
        return self._settled(Side(row=row, hosts=hosts))

    def _settled(self, side: Side) -> Side:
        return settled(side, self.home.longest)

    # ------------------------------------------------------------ observations and cycles

    def observe(self, side: Side, observed_at: tuple[Sighting, ...]) -> Side:
        """Return the side after a listing of the zone, and looks at the ids that are in doubt."""
        return self._settled(self.observer.observed(side, observed_at))

    def reconcile(self, side: Side) -> tuple[Side, tuple[Side, ...]]:
        """Return the side after a cycle of its fleet and its hosts, and the store save by save."""
        saves = Saves(replace(side, observed=False))
        snapshot = self.observer.snapshot(side)
        decision = decide(snapshot, self.provider)
        advances = self._record(saves, decision)
        self._keep_hosts(saves)
        asked = tuple(s for advance in advances for s in advance.close)
        recalled = set(side.recalled) - {m.id for m in snapshot.machines} | set(decision.recalled)
        saves.side = replace(saves.side, asked=asked, recalled=tuple(sorted(recalled)))
        for advance in advances:
            machine = saves.side.machine(advance.machine.id)
            if advance.goal is not None and machine is not None:
                resources = resources_of(machine, snapshot)
                self._caller.go_on(saves, machine, resources, advance.goal)
        return self._settled(saves.side), tuple(saves.stores)

    def _record(self, saves: Saves, decision: Decision) -> list[Advance]:
        """Save what was decided in the order of a cycle; return the machines to be worked on."""
        commands = decision.commands
        rows = [c for c in commands if isinstance(c, SaveFleet)]
        advances = [c for c in commands if isinstance(c, Advance)]
        for row in rows:
            saves.save(replace(saves.side, row=self._row(row, saves.side)))
        for take in commands:
            if isinstance(take, Bind):
                saves.save(saves.side.bound(take.host.id, take.machine))
                saves.save(saves.side.with_host(take.host))
        for advance in advances:
            if advance.changed:
                saves.save(saves.side.with_machine(advance.machine))
        for unbind in commands:
            if isinstance(unbind, Unbind):
                saves.save(saves.side.loosened(unbind.host, unbind.machine))
        for row in rows:
            self._bear(saves, row)
        return [advance for advance in advances if advance.machine.phase is not Phase.DELETED]

    def _row(self, command: SaveFleet, side: Side) -> FleetRow:
        lacks = command.row.condition.startswith(Reason.NO_AVAILABLE_HOST)
        condition = str(Reason.NO_AVAILABLE_HOST) if lacks else ""
        return replace(command.row, condition=condition, serial=side.row.serial)

    def _bear(self, saves: Saves, command: SaveFleet) -> None:
        for offer in command.inserts:
            born = saves.side.born
            if born >= len(self.home.ids):
                raise TooManyBorn(self.home.ids)
            machine = Machine(
                id=self.home.ids[born],
                fleet=self.home.fleet,
                serial=born + 1,
                created=LONG_AGO,
                since=NOW,
                phase=Phase.PENDING,
                offer=offer,
                version=1,
            )
            after = replace(saves.side, born=born + 1)
            saves.save(after.with_machine(machine))

    def _keep_hosts(self, saves: Saves) -> None:
        side = saves.side
        snapshot = self.observer.hosts_snapshot(side)
        for step in decide_hosts(snapshot):
            if step.changed:
                saves.save(saves.side.with_host(step.host))
            if step.unbind is not None:
                saves.save(saves.side.loosened(step.host.id, step.unbind))
            if (
                step.goal is not None
                and step.resource is not None
                and step.host.id not in snapshot.moving
            ):
                self._caller.go_on_host(saves, step.host, step.resource, step.goal)

    # ------------------------------------------------------------ answers

    def reads(self, side: Side, place: int, name: str) -> Side:
        """Return the side whose call has read its host, and now writes."""
        task = replace(side.tasks[place], name=name)
        tasks = (*side.tasks[:place], task, *side.tasks[place + 1 :])
        return self._settled(replace(side, tasks=tasks))

    def answered(self, side: Side, place: int, outcome: Outcome) -> tuple[Side, tuple[Side, ...]]:
        """Return the side after an answer, with the next call begun, and the store save by save."""
        task = side.tasks[place]
        saves = Saves(replace(side, tasks=(*side.tasks[:place], *side.tasks[place + 1 :])))
        holder = task.holder
        if isinstance(holder, Machine):
            self._caller.machine_answered(saves, holder, task, outcome)
        else:
            self._caller.host_answered(saves, holder, task, outcome)
        return self._settled(saves.side), tuple(saves.stores)

    # ------------------------------------------------------------ ends and beginnings

    def dead(self, store: Side) -> Side:
        """Return what is left when the process dies over this store, and another one starts."""
        return self._settled(
            replace(
                store,
                machines=tuple(_of_old(m) for m in store.machines),
                hosts=tuple(
                    replace(h, asked=tuple(replace(a, epoch=OLDER) for a in h.asked))
                    for h in store.hosts
                ),
                saw=Saw(),
                asked=(),
                observed=False,
                recalled=(),
                tasks=(),
                took=NOW,
            )
        )

    def aged(self, side: Side) -> Side:
        """Return the side a tick later."""
        return aged(side, self.home.longest)

    def dated(self, side: Side, host: HostId) -> Side:
        """Return the side to which a host bearing its pending tag shows that it just changed."""
        others = (entry for entry in side.dates if entry[0] != host)
        return self._settled(replace(side, dates=tuple(sorted((*others, (host, NOW))))))

    def desired(self, side: Side, size: int = 0) -> Side:
        """Return the side after the request for so many machines: that nothing is left."""
        return self._settled(replace(side, row=replace(side.row, size=size)))

    def stranded(self, side: Side) -> Iterator[Resource]:
        """Yield the hosts that the ledger tells of."""
        yield from self.observer.snapshot(side).unexplained


def _of_old(machine: Machine) -> Machine:
    return replace(machine, asked=tuple(replace(a, epoch=OLDER) for a in machine.asked))
