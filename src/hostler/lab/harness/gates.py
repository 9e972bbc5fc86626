"""Gates: every port call of a simulated process passes one; there it can be stopped or struck.

A process that was killed has no effects any more: its gate lets nothing pass, whatever its tasks
still do while they are taken down.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from hostler.domain.errors import StoreBusy
from hostler.testing.time.loop import Life, SimLoop

T = TypeVar("T")


_HOPS = 100
"""After so many turns of the loop whoever still writes waits for time to go by."""


@dataclass(slots=True)
class Trap:
    """What strikes at a port call: the `skip`-th from now, `before` it has its effect or after.

    `port` is the name of the call (`save_fleet`, `http`, ...); empty: any call.
    """

    strike: Callable[[], None]
    skip: int
    before: bool
    port: str = ""


class Gate:
    """The gate of one incarnation of a process."""

    def __init__(self, loop: SimLoop, life: Life) -> None:
        self._loop, self.life = loop, life
        self.dead = False
        self._writes = self._hops = 0
        self.full_until = 0.0
        self.no_renewal_until = 0.0
        self._traps = list[Trap]()
        self._alert = False
        self._refusal = ""
        self._unreported = set[str]()
        self.on_refusal: Callable[[str], None] = _nothing

    @contextmanager
    def writing(self) -> Generator[None]:
        """Count a write to the store that is not noted yet: its answer may be on the way."""
        self._writes += 1
        try:
            yield
        finally:
            self._writes -= 1

    def stop(self) -> None:
        """Let the process stand still, once what its store has written by now is noted.

        What reads the records of a process that stood still in between would come too late. One
        that waits before it tries again is not waited for: the store has nothing of that yet.
        """
        self._once_noted(self._stand_still)

    def close(self, then: Callable[[], object]) -> None:
        """Let nothing pass any more; `then` follows once what its store has written is noted.

        What several saves wrote at once stands, though only the first had its answer by then.
        """
        self.dead = self._alert = True
        self._once_noted(then)

    def _stand_still(self) -> None:
        if not self.dead:
            self._loop.stop_life(self.life)

    def _once_noted(self, then: Callable[[], object]) -> None:
        self._hops += 1
        if self._writes and self._hops < _HOPS:
            self._loop.call_soon(self._once_noted, then)
        else:
            self._hops = 0
            then()

    def trap(self, trap: Trap) -> None:
        """Let something strike at a call soon."""
        self._traps.append(trap)
        self._alert = True

    def refuse_writes(self, until: float, fault: str) -> None:
        """Refuse what would write to the store up to a time."""
        self.full_until, self._refusal, self._alert = until, fault, True
        self._unreported.add(fault)

    def refuse_renewals(self, until: float) -> None:
        """Refuse to renew leases up to a time: they run out in the middle of calls."""
        self.no_renewal_until, self._alert = until, True
        self._unreported.add("lease_lost")

    def calm(self) -> None:
        """Let everything pass from now on."""
        self._traps.clear()
        self.full_until = self.no_renewal_until = 0.0
        self._alert = self.dead

    async def store(self, name: str, call: Callable[[], Awaitable[T]], *, writes: bool) -> T:
        """Make one call to the store."""
        if not self._alert:
            return await call()
        await self.pass_through(name, before=True)
        self._check_store(name, writes=writes)
        result = await call()
        await self.pass_through(name, before=False)
        return result

    def _check_store(self, name: str, *, writes: bool) -> None:
        now = self._loop.time()
        if writes and now < self.full_until:
            self._report(self._refusal)
            raise StoreBusy(self._refusal)
        if name == "renew_lease" and now < self.no_renewal_until:
            self._report("lease_lost")
            raise StoreBusy("lease_lost")

    def _report(self, fault: str) -> None:
        """Tell of a spell once, when it first refuses something."""
        if fault in self._unreported:
            self._unreported.discard(fault)
            self.on_refusal(fault)

    async def pass_through(self, port: str, *, before: bool) -> None:
        """Stand where a call is about to have its effect, or has had it."""
        if self.dead:
            raise asyncio.CancelledError
        if not self._traps:
            return
        trap = self._traps[0]
        if trap.before != before or trap.port not in {"", port}:
            return
        if trap.skip > 0:
            trap.skip -= 1
            return
        self._traps.pop(0)
        trap.strike()
        await asyncio.sleep(0)
        if self.dead:
            raise asyncio.CancelledError


def _nothing(_: str) -> None:
    """Nobody asked to be told."""
