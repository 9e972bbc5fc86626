"""The prediction check: what decisions say comes next, against what comes next (E1, E2, S10).

It also counts how far plans are carried out: what `plan` would print at each decision.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from hostler.controllers.expected_calls import SEE
from hostler.controllers.plan import Planned, planned_machines
from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.calls import Call, Done, Outcome
from hostler.domain.model.commands import Decision, Reclaim
from hostler.domain.model.provider import Planner
from hostler.domain.model.snapshot import RequestKind, Snapshot
from hostler.testing.invariants import Found, Violation, delayed, wedged

MOST_WAIT = 60.0
MOST_GAP = 240.0
ANY = "whatever its answer calls for"
ANSWER, OBSERVATION, INTERRUPTION, REQUEST, RIVAL, RECALL = (
    "answer",
    "observation",
    "interruption",
    "request",
    "rival",
    "recall",
)
"""What cuts a plan short: what a call of its own came to, what was seen, what interfered with the
process, what a person asked for, another fleet that took the host, or a later decision that wants
the machine no longer while its call waits for the rate."""
OTHERWISE = "otherwise"
"""The fate of a plan that fell short although nothing spoke against it."""
_FINE: Found = ()


@dataclass(slots=True)
class Predicted:
    """What one machine's step was said to do, and how far it has come.

    `invalidated`: why anything may come by now: something was observed, an outcome was not
    definite, or somebody interfered. `followed` counts the calls that came as planned even so.
    """

    calls: tuple[str, ...]
    announced: str
    at: float
    done: int = 0
    followed: int = 0
    invalidated: str = ""

    @property
    def firm(self) -> tuple[str, ...]:
        """The calls that depend on no answer."""
        return self.calls[: self.calls.index(ANY)] if ANY in self.calls else self.calls

    def follow(self, line: str) -> None:
        """Take in a call that is about to be made."""
        firm = self.firm
        if self.followed < len(firm) and _same(firm[self.followed], line):
            self.followed += 1

    @property
    def fate(self) -> str:
        """What became of it: it was carried out whole, or what cut it short, or neither."""
        return "whole" if self.followed == len(self.firm) else self.invalidated or OTHERWISE

    def invalidate(self, why: str) -> None:
        """Let anything come from now on; of several reasons its own answer counts."""
        if why == ANSWER or not self.invalidated:
            self.invalidated = why


Steps = dict[MachineId, Predicted]


class PredictionCheck:
    """Watches the decisions and calls of one incarnation of a process."""

    def __init__(
        self,
        time: Callable[[], float],
        gap: float = MOST_GAP,
        fates: Counter[str] | None = None,
    ) -> None:
        self._time, self._gap = time, gap
        self._fates = Counter[str]() if fates is None else fates
        self._steps = dict[FleetName, dict[MachineId, Predicted]]()
        self._coming = dict[tuple[FleetName, int], Predicted]()
        self._sweeps = set[MachineId]()
        self._reconciled = dict[FleetName, float]()
        self._took: float | None = None
        self.observed = 0.0

    def invalidate(self) -> None:
        """Something was refused or stopped: what was said before binds no more."""
        self._invalidate(INTERRUPTION)
        self._reconciled, self._took = {}, None

    def invalidate_steps(self) -> None:
        """Something new was observed: what steps were said to do may change."""
        self._invalidate(OBSERVATION)

    def _invalidate(self, why: str) -> None:
        steps = (step for steps in self._steps.values() for step in steps.values())
        for step in (*steps, *self._coming.values()):
            step.invalidate(why)

    def took(self) -> None:
        """A fleet's lease was taken: until now cycles were another's, from now on they are ours."""
        self._reconciled, self._took = {}, self._time()

    def decided(self, snapshot: Snapshot, planner: Planner, decision: Decision) -> Found:
        """Take in a decision; hold the last steps to what was said of them."""
        now, fleet = self._time(), snapshot.fleet.name
        since = self._reconciled.get(fleet, self._took)
        found = [] if since is None else list(wedged(now - since, self._gap))
        self._reconciled[fleet] = now
        before = self._steps.get(fleet, {})
        for request in snapshot.requests:
            if request.machine is not None and request.kind is RequestKind.DELETE:
                stopped = before.get(request.machine)
                if stopped is not None:
                    stopped.invalidate(REQUEST)
        for machine in snapshot.machines:
            if (step := before.get(machine.id)) is not None:
                found += self._check_step(machine.id, step, snapshot, now)
        verdicts = {verdict.machine: verdict for verdict in decision.verdicts}
        plan = tuple(planned_machines(decision, snapshot, planner))
        lines = {entry.subject: _lines(entry) for entry in plan if entry.subject is not None}
        self._sweeps -= {machine.id for machine in snapshot.machines}  # adopted since
        self._sweeps |= {c.placeholder.id for c in decision.commands if isinstance(c, Reclaim)}
        moving = {m: s for m, s in before.items() if m in snapshot.moving}
        for name in moving.keys() & set(decision.recalled):
            moving[name].invalidate(RECALL)
        for name, verdict in verdicts.items():
            if name not in snapshot.moving:
                announced = f"{verdict.next.kind} {verdict.next.detail}"
                calls = lines.get(name, ())
                moving[name] = Predicted(calls=calls, announced=announced, at=now)
                found += _matches(name, announced, calls, is_call=verdict.next.kind == "call")
        found += self._ended(before, moving, snapshot)
        self._steps[fleet] = moving
        made = [entry for entry in plan if entry.subject is None]
        for serial, entry in enumerate(made, snapshot.row.serial + 1):
            self._coming[fleet, serial] = Predicted(calls=_lines(entry), announced="", at=now)
        return tuple(found)

    def _ended(self, before: Steps, after: Steps, snapshot: Snapshot) -> Found:
        """Count what became of the plans that end here, and say which fell short without a reason.

        A plan that stays the same goes on. Fleets of one pool may plan with the same free host.
        """
        ended = {name: step for name, step in before.items() if after.get(name) is not step}
        for machine in snapshot.machines:
            coming = self._coming.pop((machine.fleet, machine.serial), None)
            new = after.get(machine.id)
            if coming is not None and snapshot.requests:
                coming.invalidate(REQUEST)
            if coming is not None and (new is None or not _alike(coming, new)):
                if new is not None and not new.calls and len(self._steps) > 1:
                    coming.invalidate(RIVAL)
                ended[machine.id] = coming
        fates = {name: step.fate for name, step in ended.items() if step.firm}
        self._fates.update(fates.values())
        return tuple(
            Violation(
                invariant="E2",
                text=f"{name}: planned {', '.join(ended[name].firm)}; nothing spoke against it, "
                f"and {ended[name].followed} came",
                machine=name,
            )
            for name, fate in fates.items()
            if fate == OTHERWISE
        )

    def _check_step(
        self, machine: MachineId, step: Predicted, snapshot: Snapshot, now: float
    ) -> Found:
        if step.invalidated or step.done or not step.calls:
            return _FINE
        if machine in snapshot.moving:
            return delayed(machine, now - step.at, MOST_WAIT)
        text = f"{machine}: explain said {step.announced!r}, and nothing was called"
        return (Violation(invariant="E1", text=text, machine=machine),)

    def _step_of(self, machine: str) -> Predicted | None:
        found = (steps.get(MachineId(machine)) for steps in self._steps.values())
        return next((step for step in found if step is not None), None)

    def doing(self, call: Call) -> Found:
        """Take in a call that is about to be made."""
        machine = call.arg("machine")
        step = self._step_of(machine) if isinstance(machine, str) else None
        if step is None or not isinstance(machine, str) or machine in self._sweeps:
            return _FINE
        line, place = _line(call), step.done
        step.follow(line)
        if step.invalidated:
            return _FINE
        if ANY in step.calls[: place + 1]:
            return _FINE
        step.done += 1
        if place < len(step.calls) and _same(step.calls[place], line):
            return _FINE
        planned = step.calls[place] if place < len(step.calls) else "nothing"
        invariant = "E2" if step.calls else "E1"
        text = f"{machine}: planned {planned!r} (said {step.announced!r}), called {line!r}"
        return (Violation(invariant=invariant, text=text, machine=MachineId(machine)),)

    def done(self, call: Call, outcome: Outcome) -> None:
        """Take in an outcome: after one that is not definite and good, anything may come.

        So after the world's word that there is nothing left to do it to, or that what is planned
        next was done already. A refusal keeps the machines of the fleet that come next, too: its
        offer is at fault.
        """
        machine = call.arg("machine")
        step = self._step_of(machine) if isinstance(machine, str) else None
        if step is None:
            return
        if not isinstance(outcome, Done):
            for fleet in (name for name, steps in self._steps.items() if machine in steps):
                for coming in (one for key, one in self._coming.items() if key[0] == fleet):
                    coming.invalidate(ANSWER)
        if not isinstance(outcome, Done) or outcome.missing or _is_done(step.calls, outcome):
            step.invalidate(ANSWER)


def _is_done(planned: tuple[str, ...], answer: Done) -> bool:
    """Tell whether an answer shows more networks than the call joined, of those planned to be."""
    kinds = {line.split(" ", 1)[0] for line in planned}
    nics = (nic for resource in answer.resources for nic in resource.note("nics").split(","))
    listed = {nic.partition(":")[0] for nic in nics}
    return sum(kind.rpartition(".")[2] in listed for kind in kinds) > 1


def _matches(name: MachineId, announced: str, calls: tuple[str, ...], *, is_call: bool) -> Found:
    if is_call == bool(calls):
        return _FINE
    text = f"{name}: explain says {announced!r}, plan lists {len(calls)} calls"
    return (Violation(invariant="E1", text=text, machine=name),)


def _lines(entry: Planned) -> tuple[str, ...]:
    """Return what a plan lists of a machine, as lines; ANY stands where the plan itself ends."""
    more = (ANY,) if entry.ready.waits == SEE else ()
    return (*(_line(call) for call in entry.ready.calls), *more)


def _alike(one: Predicted, other: Predicted) -> bool:
    """Tell whether two plans list the same calls, whatever they are about."""
    return [_act(line) for line in one.calls] == [_act(line) for line in other.calls]


def _act(line: str) -> tuple[str, str]:
    return line.split(" ", 1)[0], line.rsplit(" ", 1)[-1]


def _line(call: Call) -> str:
    return f"{call.kind} {call.slot} {call.target or '-'} {call.attempt if call.once else 0}"


def _same(planned: str, line: str) -> bool:
    if planned == line:
        return True
    if "<" not in planned:
        return False
    before, _, rest = planned.partition("<")
    return line.startswith(before) and rest.rsplit(">", 1)[-1] == " " + line.rsplit(" ", 1)[-1]
