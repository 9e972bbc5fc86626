"""Machine: a box with a system that takes time to start and to end, a meter, and armed faults."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from msgspec import Struct

from hostler.simulators.power.box import IGNORED, LATE, Box, Closes

from .faults import Armed, Fault

QUERY = "query"
KILOWATT_HOUR = 3_600_000.0
"""In watt-seconds."""
_GIVES_POWER = frozenset({"on", "cycle"})
_LOOK = 0.05
"""Real seconds between two looks at whether a call still hangs."""


class Spans(Struct, frozen=True, kw_only=True):
    """How long things take, in seconds of a rack's `time`."""

    time: Callable[[], float]
    boot: float = 20.0
    shutdown: float = 3.0


@dataclass(slots=True, kw_only=True)
class Command:
    """A command that arrived, or was lost on its way.

    `failed` is the fault that it met; `recovered` is when the power was as it asked for after all.
    """

    at: float
    what: str
    failed: str = ""
    recovered: float | None = None

    @property
    def gives_power(self) -> bool:
        """Whether it asks for power."""
        return self.what in _GIVES_POWER


class Change(Struct, frozen=True, kw_only=True):
    """The power came or went; `by` is the command that did it, or a fault."""

    at: float
    on: bool
    by: str


class Machine(Box):
    """One machine of a rack, and all that ever happened to it.

    Its system is up `boot` after its power came, and takes `shutdown` to end where it is asked to.
    """

    def __init__(
        self, name: str, method: str, address: str, spans: Spans, watts: tuple[float, float]
    ) -> None:
        super().__init__(name=name, time=spans.time, watts=watts)
        self.method, self.address, self._spans = method, address, spans
        self.armed = list[Armed]()
        self.commands = list[Command]()
        self.changes = list[Change]()
        self.struck = Counter[str]()
        self._due = list[Change]()
        self._came, self._ends = 0.0, False
        self._metered, self._energy = spans.time(), 0.0

    # ------------------------------------------------------------ power

    def has_power(self) -> bool:
        """Tell how it stands, once everything that is due has happened."""
        now = self.time()
        while self._due and self._due[0].at <= now:
            self._turn(self._due.pop(0))
        return self.on

    def _turn(self, change: Change) -> None:
        if change.on is self.on:
            return
        self._energy += (change.at - self._metered) * self.watts[self.on]
        self._metered, self.on = change.at, change.on
        self._came, self._ends = change.at, False
        self.changes.append(change)
        for command in self.commands:
            if command.failed and command.recovered is None and command.gives_power is change.on:
                command.recovered = change.at

    def is_up(self) -> bool:
        """Tell whether its system is up, and was not asked to end."""
        powered = self.has_power() and not self._ends
        return powered and self.time() >= self._came + self._spans.boot

    def energy(self) -> float:
        """Return what it drew so far, in watt-seconds."""
        drawn = self.draw()
        return self._energy + (self.time() - self._metered) * drawn

    def kilowatt_hours(self) -> float:
        """Return what it drew so far, in kilowatt-hours."""
        return self.energy() / KILOWATT_HOUR

    def cut(self, by: str) -> None:
        """Take its power away at once, whatever was to come."""
        self.has_power()
        self._due = [Change(at=self.time(), on=False, by=by)]
        self.has_power()

    # ------------------------------------------------------------ commands

    def obey(self, action: str, fault: str) -> None:
        """Let an action have its effect; a system that is not up does not hear a soft one."""
        self.has_power()
        at = self.time() + (self.late if fault == LATE else 0.0)
        if fault == IGNORED or (action == "off_soft" and not self.is_up()):
            return
        if action == "off_soft":
            self._ends = True
            self._due = [Change(at=at + self._spans.shutdown, on=False, by=action)]
        elif action == "on":
            if not self.has_power():
                self._due = [Change(at=at, on=True, by=action)]
        else:
            cut = Change(at=at, on=False, by=action)
            back = Change(at=at, on=True, by=action)
            self._due = [cut, back] if action == "cycle" else [cut]
        self.has_power()

    @asynccontextmanager
    async def call(self, what: str, *, before: bool = False) -> AsyncGenerator[str]:
        """Take a call at its endpoint; raises `Closes` where that gives no answer."""
        command = self._arrived(what)
        if (lasting := self.in_force()) is not None:
            self.journal.append(what)
            command.failed = self._strike(lasting)
            while lasting.fault is Fault.BMC_HUNG and lasting.is_in_force(self.time()):  # noqa: ASYNC110 - time ends it
                await asyncio.sleep(_LOOK)
            raise Closes
        if what != QUERY and self._ignores(command):
            self.script.appendleft(IGNORED)
        async with Box.call(self, what, before=before) as fault:
            yield fault

    def wake(self) -> None:
        """Take a magic packet, unless it is lost on its way."""
        command = self._arrived("on")
        if (lost := self._next(Fault.PACKET_LOST)) is not None:
            command.failed = self._strike(lost)
        elif not self._is_dark(command) and not self._ignores(command):
            self.obey("on", "")

    def shut_down(self) -> None:
        """Take a command of a login to the system."""
        command = self._arrived("off_soft")
        if not self._ignores(command):
            self.obey("off_soft", "")

    def _arrived(self, what: str) -> Command:
        """Note a command, and let begin what was to begin with one."""
        now, command = self.time(), Command(at=self.time(), what=what)
        if what != QUERY:
            self.commands.append(command)
            for armed in self.armed:
                armed.began = now if armed.began is None and armed.seconds else armed.began
        return command

    # ------------------------------------------------------------ faults

    def in_force(self) -> Armed | None:
        """Return what lasts just now, for which its endpoint does not answer."""
        now = self.time()
        self.armed = [armed for armed in self.armed if not armed.is_over(now)]
        return next((armed for armed in self.armed if armed.is_in_force(now)), None)

    def _is_dark(self, command: Command) -> bool:
        """Tell whether the whole rack is without power."""
        lasting = self.in_force()
        if lasting is None or lasting.fault is not Fault.BROWN_OUT:
            return False
        command.failed = self._strike(lasting)
        return True

    def _ignores(self, command: Command) -> bool:
        armed = self._next(Fault.COMMAND_IGNORED)
        if armed is not None:
            command.failed = self._strike(armed)
        return armed is not None

    def _next(self, fault: Fault) -> Armed | None:
        return next((one for one in self.armed if one.fault is fault and one.left > 0), None)

    def _strike(self, armed: Armed) -> str:
        armed.left -= 1
        self.struck[armed.fault] += 1
        return armed.fault
