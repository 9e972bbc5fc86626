"""Power: switching one machine on and off, and asking how it stands, by one of many methods.

The entry-point group `hostler.power` names what opens the methods of a package. A method is a way
to one endpoint: an outlet of a strip, a management controller, a magic packet, a command.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar, cast

from msgspec import Struct

from hostler.domain.model.calls import Outcome

from .clock import Clock
from .http import Connect
from .kind import Lack
from .shell import Shell

T = TypeVar("T")

METHODS = "hostler.power"
"""The entry-point group by which packages add methods."""


class PowerAction(StrEnum):
    """What a method may be asked to do.

    `off_soft` asks the machine's system to shut down, `off_hard` takes the power away, `cycle`
    takes it away and gives it back.
    """

    ON = "on"
    OFF_SOFT = "off_soft"
    OFF_HARD = "off_hard"
    CYCLE = "cycle"


class PowerState(StrEnum):
    """How a machine stands. What cannot be told is unknown, never off."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


class PowerCapabilities(Struct, frozen=True, kw_only=True):
    """What one method can do at its endpoint; constant for the life of the object.

    Without `query` every reading is unknown, without `watts` none tells the draw. What `feeds` is
    an outlet: without its power a machine is dark, and with it the machine may be off. `settles`
    bounds how long an effect may come after its answer, and `deadline` how long a call may take.
    """

    actions: frozenset[PowerAction]
    query: bool
    watts: bool = False
    feeds: bool = False
    settles: timedelta = timedelta(seconds=15)
    deadline: timedelta = timedelta(seconds=20)


class PowerReading(Struct, frozen=True, kw_only=True):
    """How a machine stood at a time; `text` is what the endpoint answered, or why nobody knows."""

    state: PowerState
    at: datetime
    text: str = ""
    watts: float | None = None


class Power(Protocol):
    """One method at one endpoint.

    One call is under way at an endpoint at a time: further ones wait for it, however many objects
    lead there, and their deadlines begin when they are sent. An action waits for half its deadline
    at most, and is not sent then. An endpoint that refused a login is not asked for anything until
    `LOCKOUT` is over. No text shows a secret. An action is not repeated here: who asked looks
    (`query`), and asks again.
    """

    @property
    def capabilities(self) -> PowerCapabilities:
        """What it can do here."""
        ...

    async def act(self, action: PowerAction) -> Outcome:
        """Ask for this once, within the deadline; never raises for what the outside does.

        `Done` says that the endpoint accepted it: whether it had its effect, a reading after
        `settles` tells. To switch on what is on, or off what is off, is `Done`. `Refused` promises
        that there was no effect: `INVALID` for what it cannot do at all, `DENIED` for wrong
        credentials (they are tried once, and not again for a time: some endpoints lock out), `BUSY`
        and `RATE` for what time heals, such as a turn that did not come, `NOT_SENT` where the
        endpoint could not be reached.
        `Unknown` promises nothing: also when it was sent, and no answer came.
        """
        ...

    async def query(self) -> PowerReading:
        """Ask how the machine stands, changing nothing; never raises for what the outside does.

        A reading begins after the call does. Where there is no answer in time, or one that makes no
        sense, the state is unknown; a machine that does not answer is not off.
        """
        ...

    async def close(self) -> None:
        """Give back connections; closing again changes nothing."""
        ...


LOCKOUT = timedelta(hours=1)
"""How long nobody logs in where a login was refused: controllers lock out after a few."""


class Turn:
    """The turn at one endpoint: whoever holds it has the only call that is under way there."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._denied: tuple[datetime, str] | None = None
        self._shared = dict[Hashable, object]()

    async def __aenter__(self) -> None:
        """Wait for the turn."""
        await self._lock.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the next one in."""
        self._lock.release()

    @asynccontextmanager
    async def within(self, time: timedelta) -> AsyncGenerator[str]:
        """Wait for the turn no longer than this; gives why it did not come, empty where it did."""
        seconds = time.total_seconds()
        async with AsyncExitStack() as held:
            why = ""
            try:
                async with asyncio.timeout(seconds):
                    await held.enter_async_context(self)
            except TimeoutError:
                why = f"others are asked there, one at a time: no turn within {seconds:g} s"
            yield why

    def shared(self, settings: Hashable, make: Callable[[], T]) -> T:
        """Return what all with these settings share here, such as a session; it is made once.

        Of one key everybody makes the same type.
        """
        if settings not in self._shared:
            self._shared[settings] = make()
        return cast("T", self._shared[settings])

    def denied(self, at: datetime, text: str) -> None:
        """Note that a login was refused, and what the endpoint answered."""
        self._denied = (at, text)

    def refusal(self, now: datetime) -> str:
        """Return why nobody asks here now; empty where nothing speaks against it."""
        if self._denied is None:
            return ""
        at, text = self._denied
        if not timedelta(0) <= now - at < LOCKOUT:
            self._denied = None
            return ""
        return f"{text} (not tried again before {at + LOCKOUT:%H:%M} UTC)"


class PowerOpening(Struct, frozen=True, kw_only=True):
    """All that a method needs to be opened for one machine.

    `settings` is the method's decoded table; `turn` is held by whoever has a call under way at its
    endpoint; `folder` is where the fleet file is, for relative paths.
    """

    settings: object
    turn: Turn
    folder: Path
    environment: Mapping[str, str]
    clock: Clock
    shell: Shell
    connect: Connect


class PowerMethod(Protocol):
    """What a package tells of a method: its table in the fleet file, and how to open it.

    The entry-point group `hostler.power` names classes of this protocol that take no arguments.
    """

    @property
    def settings(self) -> type[object]:
        """The msgspec Struct of its keys."""
        ...

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return what it can do with these settings; asks nobody."""
        ...

    def endpoint(self, settings: object) -> str:
        """Return what it leads to: methods that return the same take turns there."""
        ...

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what cannot work, as "key: expected …"; reads no files."""
        ...

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return what an engine would not find on this computer: a secret, a file, a program."""
        ...

    def open(self, opening: PowerOpening) -> Power:
        """Return the way; ConfigError names a secret that is not there. Nothing is sent yet."""
        ...
