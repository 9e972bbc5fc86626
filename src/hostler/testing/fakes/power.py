"""Fake power: a simulated outlet or management controller, whose misfortunes are scripted.

What really happens is in `FakeOutlet`, to which many methods may lead; a `FakePower` is a way
there.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from hostler.domain.model.calls import Done, Outcome, Refusal, Refused, Unknown
from hostler.ports.clock import Clock
from hostler.ports.power import (
    PowerAction,
    PowerCapabilities,
    PowerReading,
    PowerState,
    Turn,
)

_S = timedelta(seconds=1)
_IDLE_WATTS, _STANDBY_WATTS = 40.0, 2.0
EVERYTHING = PowerCapabilities(actions=frozenset(PowerAction), query=True, watts=True)


class PowerFault(StrEnum):
    """What befalls the next call.

    `ignored`: accepted, and without effect; `late`: the effect comes after the answer, within
    `settles`; `hung`: no answer and no effect; `lost`: the effect, and no answer; `denied`: the
    credentials are wrong; `busy`: it is at something else; `unreachable`: nothing was sent;
    `nonsense`: an answer that means nothing.
    """

    IGNORED = "ignored"
    LATE = "late"
    HUNG = "hung"
    LOST = "lost"
    DENIED = "denied"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    NONSENSE = "nonsense"


_REFUSED = {
    PowerFault.DENIED: Refused(why=Refusal.DENIED, text="the credentials are refused"),
    PowerFault.BUSY: Refused(why=Refusal.BUSY, text="it is at something else", after=5 * _S),
    PowerFault.UNREACHABLE: Refused(why=Refusal.NOT_SENT, text="there is no way to it"),
}
_SILENT = frozenset({PowerFault.HUNG, PowerFault.LOST})


@dataclass(slots=True)
class FakeOutlet:
    """What really stands there: whether it has power, and the calls that arrived, in order.

    `most_at_once` is how many calls were ever under way together; `planned` are effects to come.
    """

    clock: Clock
    answer: timedelta = timedelta(milliseconds=50)
    on: bool = False
    script: deque[PowerFault] = field(default_factory=deque[PowerFault])
    journal: list[tuple[datetime, str]] = field(default_factory=list[tuple[datetime, str]])
    planned: list[tuple[datetime, bool]] = field(default_factory=list[tuple[datetime, bool]])
    turn: Turn = field(default_factory=Turn)
    under_way: int = 0
    most_at_once: int = 0

    def befall(self, *faults: PowerFault) -> None:
        """Let these befall the next calls, in order."""
        self.script.extend(faults)

    def has_power(self) -> bool:
        """Tell how it stands now, once everything that is due has happened."""
        due = sorted(entry for entry in self.planned if entry[0] <= self.clock.now())
        self.planned = [entry for entry in self.planned if entry not in due]
        for _, on in due:
            self.on = on
        return self.on

    def take_effect(self, action: PowerAction, after: timedelta) -> None:
        """Let an action happen, now or later."""
        self.planned.append((self.clock.now() + after, action in _ENDS_ON))
        self.has_power()


_ENDS_ON = frozenset({PowerAction.ON, PowerAction.CYCLE})


class FakePower:
    """One method to an outlet. Its turn is the outlet's: one call at a time, whoever asks."""

    def __init__(
        self, outlet: FakeOutlet, capabilities: PowerCapabilities = EVERYTHING, secret: str = ""
    ) -> None:
        """Lead to this outlet; the secret is told to nobody."""
        self.outlet, self._capabilities, self._secret = outlet, capabilities, secret
        self.turn = outlet.turn

    @property
    def capabilities(self) -> PowerCapabilities:
        """What it can do here."""
        return self._capabilities

    async def act(self, action: PowerAction) -> Outcome:
        """Act as the script says, else as asked."""
        if action not in self._capabilities.actions:
            return Refused(why=Refusal.INVALID, text=f"it cannot do {action}")
        async with self.turn.within(self._capabilities.deadline / 2) as waited:
            if waited:
                return Refused(why=Refusal.BUSY, text=waited)
            if why := self.turn.refusal(self.outlet.clock.now()):
                return Refused(why=Refusal.DENIED, text=why)
            return await self._act(action)

    async def _act(self, action: PowerAction) -> Outcome:
        fault = await self._arrive(str(action))
        if fault is not None and fault in _REFUSED:
            return self._refused(fault)
        if fault is not PowerFault.HUNG and fault is not PowerFault.IGNORED:
            late = self._capabilities.settles / 2 if fault is PowerFault.LATE else 0 * _S
            self.outlet.take_effect(action, late)
        if fault in _SILENT:
            return Unknown(text="no answer in time")
        if fault is PowerFault.NONSENSE:
            return Unknown(text="the answer makes no sense")
        return Done()

    async def query(self) -> PowerReading:
        """Tell how the outlet stands, unless the script says that nobody learns it."""
        clock = self.outlet.clock
        if not self._capabilities.query:
            return PowerReading(state=PowerState.UNKNOWN, at=clock.now(), text="it cannot be asked")
        async with self.turn:
            begun = clock.now()
            if why := self.turn.refusal(begun):
                return PowerReading(state=PowerState.UNKNOWN, at=begun, text=why)
            fault = await self._arrive("query")
            if fault is not None and fault not in {PowerFault.IGNORED, PowerFault.LATE}:
                self._refused(fault)
                return PowerReading(state=PowerState.UNKNOWN, at=begun, text=str(fault))
            on = self.outlet.has_power()
            watts = _IDLE_WATTS if on else _STANDBY_WATTS
            return PowerReading(
                state=PowerState.ON if on else PowerState.OFF,
                at=begun,
                text="on" if on else "off",
                watts=watts if self._capabilities.watts else None,
            )

    async def close(self) -> None:
        """Nothing to give back."""

    def _refused(self, fault: PowerFault) -> Outcome:
        """Return what a fault comes to; a refused login is remembered for the outlet."""
        outcome = _REFUSED.get(fault, Unknown(text=str(fault)))
        if fault is PowerFault.DENIED and isinstance(outcome, Refused):
            self.turn.denied(self.outlet.clock.now(), outcome.text)
        return outcome

    async def _arrive(self, what: str) -> PowerFault | None:
        """Let a call take its time at the outlet; return what befalls it."""
        outlet = self.outlet
        fault = outlet.script.popleft() if outlet.script else None
        outlet.under_way += 1
        outlet.most_at_once = max(outlet.most_at_once, outlet.under_way)
        try:
            silent = self._capabilities.deadline if fault in _SILENT else outlet.answer
            await outlet.clock.sleep(silent)
        finally:
            outlet.under_way -= 1
        outlet.journal.append((outlet.clock.now(), what))
        return fault
