"""Endpoints: what methods lead to, as one run of a process reaches it; a judge counts there.

The devices are simulated; the switches over them, with their turns and deadlines, are the real
ones.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.calls import Call, Refusal
from hostler.domain.model.resource import Condition
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.metal.checker import MetalChecker
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.power import LOCKOUT, PowerAction, PowerState, Turn
from hostler.providers.power.switch import Reading, refused
from hostler.testing.invariants import Violation

CALL: ContextVar[Call] = ContextVar("the call of the engine that is being made")
_HUNG, _ANSWER, _SLOW = 3600.0, 0.05, 0.4
_STATES = {
    Condition.UP: PowerState.ON,
    Condition.STARTING: PowerState.ON,
    Condition.STOPPING: PowerState.ON,
    Condition.FAILED: PowerState.UNKNOWN,
    Condition.OFF: PowerState.OFF,
}


class Rack(Protocol):
    """What endpoints stand in: the truth and its judge, what is drawn, and what obeys a command.

    `away` are the endpoints that nobody reaches, `locked` those that refuse every login.
    """

    truth: MetalTruth
    away: set[str]
    locked: set[str]

    @property
    def judge(self) -> MetalChecker:
        """The checker of the run."""
        ...

    def draw(self) -> str | None:
        """Draw what befalls a command."""
        ...

    def lateness(self) -> timedelta:
        """Draw how late a command is obeyed."""
        ...

    def obey(self, call: Call, box: ResourceId, action: PowerAction) -> None:
        """Let a command have its effect."""
        ...


@dataclass(slots=True)
class Reached:
    """One endpoint as a run of a process reaches it: its turn, and what the judge knows of it."""

    name: str
    turn: Turn = field(default_factory=Turn)
    under_way: int = 0
    refused_at: float | None = None

    @contextmanager
    def asked(self, rack: Rack) -> Generator[None]:
        """Note a call that arrives; it is the only one, and no login was refused just before."""
        checker, now = rack.judge, rack.truth.now
        self.under_way += 1
        if self.under_way > 1:
            self._wrong(rack, f"{self.name} is asked for two things at once")
        jumped = checker.faults["clock_jump"] > 0
        again = self.refused_at is not None and now - self.refused_at < LOCKOUT.total_seconds() - 1
        if again and not jumped:
            self._wrong(rack, f"{self.name} is asked again after a refused login")
        try:
            yield
        finally:
            self.under_way -= 1

    def _wrong(self, rack: Rack, text: str) -> None:
        rack.judge.found((Violation(invariant="power", text=text),))


@dataclass(slots=True)
class LabDevice:
    """One method to one box at an endpoint. Implements `hostler.providers.power.switch.Device`.

    `answers` is whether anybody says what became of a command; a magic packet is never answered.
    """

    box: ResourceId
    endpoint: Reached
    run: ProcessRun
    rack: Rack
    answers: bool = True

    async def act(self, action: PowerAction) -> None:
        """Take a command, and let befall it what is drawn for it."""
        with self.endpoint.asked(self.rack):
            call, world = CALL.get(), self.rack
            fault = world.draw()
            if fault is not None:
                world.judge.struck(fault)
                world.judge.trace.note(f"{fault}: {action} {self.box}", str(call.target))
            await self._reach()
            if self._is_silent():
                await self._hang()
            match fault:
                case "power_busy":
                    raise refused(Refusal.BUSY, "the controller is at something else")
                case "power_unsent":
                    raise NotSent("the connection was refused")
                case "power_hung":
                    await self._hang()
                case "power_ignored":
                    return
                case "power_late":
                    late = world.lateness()
                    world.truth.rack.world.plan(late, lambda: world.obey(call, self.box, action))
                case _:
                    world.obey(call, self.box, action)
            await self.run.gate.pass_through("http", before=False)
            if fault == "power_lost" or self._is_cut_off():
                raise NoAnswer("the answer was lost")

    async def read(self) -> Reading:
        """Tell how the box stands."""
        with self.endpoint.asked(self.rack):
            await self._reach()
            if self._is_silent():
                await self._hang()
            condition = self.rack.truth.condition(HostId(self.box))
            await self.run.gate.pass_through("http", before=False)
            if self._is_cut_off():
                raise NoAnswer("the answer was lost")
        state = _STATES.get(condition or Condition.UNKNOWN, PowerState.UNKNOWN)
        return Reading(state=state, text=str(condition))

    async def close(self) -> None:
        """Nothing to give back."""

    async def _reach(self) -> None:
        """Come to the endpoint, or find that there is no way to it, or that the login is wrong."""
        world = self.rack
        await self.run.gate.pass_through("http", before=True)
        await asyncio.sleep(_ANSWER if self.answers else 0.0)
        if self._is_cut_off() or self.endpoint.name in world.away:
            raise NotSent("there is no way to it")
        await asyncio.sleep(_SLOW if self.answers else 0.0)
        if self.endpoint.name in world.locked:
            self.endpoint.refused_at = world.truth.now
            raise refused(Refusal.DENIED, "the credentials are refused")

    def _is_cut_off(self) -> bool:
        """Tell whether the network of the process is down, and count that it was in the way."""
        if self.run.down:
            self.rack.judge.struck("network_down")
        return self.run.down

    def _is_silent(self) -> bool:
        return self.answers and self.box in self.rack.truth.rack.silent

    async def _hang(self) -> None:
        await asyncio.sleep(_HUNG)
        raise NoAnswer("no answer")
