"""The prediction check: what decisions say comes next, against what comes next (E1, E2, S10)."""

from collections.abc import Callable
from dataclasses import dataclass

from hostler.controllers.expected_calls import SEE, MachineSteps, expected_calls
from hostler.domain.ids import MachineId
from hostler.domain.model.calls import Call, Done, Outcome
from hostler.domain.model.commands import Advance, Decision, Reclaim
from hostler.domain.model.provider import Planner
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.certainty import resources_of
from hostler.testing.invariants import Found, Violation, delayed, wedged

MOST_WAIT = 60.0
MOST_GAP = 240.0
ANY = "whatever its answer calls for"
_FINE: Found = ()


@dataclass(slots=True)
class Predicted:
    """What one machine's step was said to do, and how far it has come.

    `invalidated`: something else was observed, or an outcome was not definite; then anything may
    come.
    """

    calls: tuple[str, ...]
    announced: str
    at: float
    done: int = 0
    invalidated: bool = False


class PredictionCheck:
    """Watches the decisions and calls of one incarnation of a process."""

    def __init__(self, time: Callable[[], float], gap: float = MOST_GAP) -> None:
        self._time, self._gap = time, gap
        self._steps = dict[MachineId, Predicted]()
        self._sweeps = set[MachineId]()
        self._reconciled: float | None = None
        self.observed = 0.0

    def invalidate(self) -> None:
        """Something was refused or stopped: what was said before binds no more."""
        self.invalidate_steps()
        self._reconciled = None

    def invalidate_steps(self) -> None:
        """Something new was observed: what steps were said to do may change."""
        for step in self._steps.values():
            step.invalidated = True

    def took(self) -> None:
        """A fleet's lease was taken: until now cycles were another's, from now on they are ours."""
        self._reconciled = self._time()

    def decided(self, snapshot: Snapshot, planner: Planner, decision: Decision) -> Found:
        """Take in a decision; hold the last steps to what was said of them."""
        now = self._time()
        found = (
            list(wedged(now - self._reconciled, self._gap)) if self._reconciled is not None else []
        )
        self._reconciled = now
        for machine in snapshot.machines:
            found += self._check_step(machine.id, snapshot, now)
        verdicts = {verdict.machine: verdict for verdict in decision.verdicts}
        advances = {c.machine.id: c for c in decision.commands if isinstance(c, Advance)}
        self._sweeps |= {c.placeholder.id for c in decision.commands if isinstance(c, Reclaim)}
        moving = {m: s for m, s in self._steps.items() if m in snapshot.moving}
        for name, verdict in verdicts.items():
            if name not in snapshot.moving:
                announced = f"{verdict.next.kind} {verdict.next.detail}"
                calls = self._calls(advances.get(name), snapshot, planner)
                moving[name] = Predicted(calls=calls, announced=announced, at=now)
                found += _matches(name, announced, calls, is_call=verdict.next.kind == "call")
        self._steps = moving
        return tuple(found)

    def _calls(
        self, advance: Advance | None, snapshot: Snapshot, planner: Planner
    ) -> tuple[str, ...]:
        if advance is None or advance.goal is None:
            return ()
        resources = resources_of(advance.machine, snapshot)
        steps = MachineSteps(advance.goal, snapshot, planner)
        ready = expected_calls(advance.machine, resources, steps)
        more = (ANY,) if ready.waits == SEE else ()
        return (*(_line(call) for call in ready.calls), *more)

    def _check_step(self, machine: MachineId, snapshot: Snapshot, now: float) -> Found:
        step = self._steps.get(machine)
        if step is None or step.invalidated or step.done or not step.calls:
            return _FINE
        if machine in snapshot.moving:
            return delayed(machine, now - step.at, MOST_WAIT)
        text = f"{machine}: explain said {step.announced!r}, and nothing was called"
        return (Violation(invariant="E1", text=text, machine=machine),)

    def doing(self, call: Call) -> Found:
        """Take in a call that is about to be made."""
        machine = call.arg("machine")
        step = self._steps.get(MachineId(machine)) if isinstance(machine, str) else None
        if step is None or step.invalidated or not isinstance(machine, str):
            return _FINE
        if machine in self._sweeps:
            return _FINE
        line, place = _line(call), step.done
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
        """Take in an outcome: after one that is not definite and good, anything may come."""
        machine = call.arg("machine")
        step = self._steps.get(MachineId(machine)) if isinstance(machine, str) else None
        if step is not None and not isinstance(outcome, Done):
            step.invalidated = True


def _matches(name: MachineId, announced: str, calls: tuple[str, ...], *, is_call: bool) -> Found:
    if is_call == bool(calls):
        return _FINE
    text = f"{name}: explain says {announced!r}, plan lists {len(calls)} calls"
    return (Violation(invariant="E1", text=text, machine=name),)


def _line(call: Call) -> str:
    return f"{call.kind} {call.slot} {call.target or '-'} {call.attempt if call.once else 0}"


def _same(planned: str, line: str) -> bool:
    if planned == line:
        return True
    if "<" not in planned:
        return False
    before, _, rest = planned.partition("<")
    return line.startswith(before) and rest.rsplit(">", 1)[-1] == " " + line.rsplit(" ", 1)[-1]
