"""The calls of one installation: begun one by one behind the gate, recorded first, and answered."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.controllers.execute.evidence import act_of
from hostler.domain.hosts.next_calls import Times, host_allowed
from hostler.domain.ids import ResourceId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Resource
from hostler.domain.model.subject import ask
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources
from hostler.domain.observation.ready import Observed
from hostler.domain.policy.gate import Act, Evidence, pass_gate

from .installation import MINE, NOW, Side, Task
from .observations import Observer


def _at_once(kind: str) -> timedelta:
    """Return that a call shows at once: no time passes here, so that none could be waited for."""
    del kind
    return timedelta(0)


_NOT_SENT = Refused(why=Refusal.NOT_SENT, text="the gate")


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
        times, provider = Times(Observed(at, _at_once), NOW), self._observer.provider
        found = host_allowed(host, goal, resource, times, provider).calls
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
