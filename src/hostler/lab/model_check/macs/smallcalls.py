"""Smallcalls: how one installation goes on with its calls: recorded, gated, sent and folded.

What may be asked is the program's own `allowed`, `host_allowed` and gate.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from hostler.controllers.execute.evidence import act_of
from hostler.domain.hosts.next_calls import fold_host, host_allowed, host_part
from hostler.domain.ids import PartId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.host import Host, HostGoal, ask_host
from hostler.domain.model.machine import Machine, ask
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Part
from hostler.domain.observation.outcomes import fold, fold_parts
from hostler.domain.policy.gate import Act, Evidence, pass_gate

from .installation import MINE, NOW, Side, Task
from .observations import Eyes


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

    def __init__(self, eyes: Eyes) -> None:
        self._eyes = eyes

    # ------------------------------------------------------------ calls of machines

    def go_on(self, saves: Saves, machine: Machine, parts: tuple[Part, ...], goal: Goal) -> None:
        """Begin the next call of a machine, recorded first; or end the step with a save."""
        while True:
            ready = allowed(machine, goal, parts, self._eyes.seen(saves.side), self._eyes.provider)
            if not ready.calls or self._is_recalled(saves.side, machine, ready.calls[0]):
                break
            call = ready.calls[0]
            machine = ask(machine, call, NOW, MINE)
            saves.save(saves.side.with_machine(machine))
            if not self._barred(saves.side, call, machine):
                task = Task(holder=machine, parts=parts, goal=str(goal), call=call)
                self._keep_task(saves, task)
                return
            machine = fold(machine, call, _NOT_SENT, NOW)
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
        view, target = self._eyes.view(side.saw), call.target
        part = view.part(target) if target is not None else None
        ours = target in machine.ids()
        if part is not None and part.mark is not None:
            own = part.mark.installation == self._eyes.home.installation
            ours = own and part.mark.machine == machine.id
        known = [k.since for k in machine.place(call.slot).known if k.id == target]
        times = [*known, *([side.saw.at] if part is not None and side.saw.at else [])]
        act = act_of(call, machine)
        return bool(pass_gate(self._evidence(act, max(times, default=None), ours=ours)))

    def _evidence(self, act: Act, looked: datetime | None, *, ours: bool) -> Evidence:
        """Return the evidence for a call: leases, caps and worlds are not what is checked here."""
        return Evidence(
            act=act,
            now=NOW,
            boot=0.0,
            lease_until=1e9,
            deadline=self._eyes.provider.traits.deadline,
            ours=ours,
            looked=looked,
            look_limit=self._eyes.fleet.timers.look_limit,
            granted=True,
            proved=True,
        )

    # ------------------------------------------------------------ calls of hosts

    def go_on_host(self, saves: Saves, host: Host, part: Part, goal: HostGoal) -> None:
        """Begin the next call of a host that no machine holds, recorded first; or end the step."""
        at = saves.side.saw.at
        if at is None or saves.side.tie(host.id) is not None:
            return
        found = host_allowed(goal, host, part, at, NOW, self._eyes.provider)
        if not found:
            return
        call = found[0]
        host = ask_host(host, call, NOW, MINE)
        saves.save(saves.side.with_host(host))
        seen = self._eyes.view(saves.side.saw).part(PartId(host.id))
        ours = seen is not None and seen.note("stage") not in {"foreign", "other", "unnamed"}
        act = Act.END if call.effect is Effect.DESTROY else Act.CHANGE
        if pass_gate(self._evidence(act, at, ours=ours)):
            saves.save(saves.side.with_host(fold_host(host, call, _NOT_SENT, NOW)))
            return
        self._keep_task(saves, Task(holder=host, parts=(part,), goal=str(goal), call=call))

    # ------------------------------------------------------------ answers

    def machine_answered(self, saves: Saves, holder: Machine, task: Task, outcome: Outcome) -> None:
        """Take in what came of a machine's call, and begin the next one where that was done."""
        machine = fold(holder, task.call, outcome, NOW)
        parts = fold_parts(task.parts, outcome)
        if isinstance(outcome, Done):
            self.go_on(saves, machine, parts, Goal(task.goal))
        else:
            saves.save(saves.side.with_machine(machine))

    def host_answered(self, saves: Saves, holder: Host, task: Task, outcome: Outcome) -> None:
        """Take in what came of a host's call, and begin the next one where that was done."""
        host = fold_host(holder, task.call, outcome, NOW)
        saves.save(saves.side.with_host(host))
        part = host_part(task.parts[0], outcome)
        if isinstance(outcome, Done) and part is not None:
            self.go_on_host(saves, host, part, HostGoal(task.goal))


_NOT_SENT = Refused(why=Refusal.NOT_SENT, text="the gate")
