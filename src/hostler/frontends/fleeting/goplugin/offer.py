"""Offer: what is served, and its making, which begins when the host has had its first answer.

Importing and answering share one interpreter: begun earlier, the making would delay that answer by
more than it takes.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from hostler.frontends.fleeting.contract import Method

from .logging.hostlog import HostLog


class Offer(Struct, frozen=True, kw_only=True):
    """What is served: methods, or why there are none.

    A `refusal` is what Init of any service is answered: a host shows it to its operator, where the
    text of a process that ended would be lost. `warm` imports what Init will need, after the offer
    is made; `end` is run when the plugin ends. Neither runs in the loop's thread.
    """

    methods: Sequence[Method] = ()
    refusal: str = ""
    warm: Callable[[], None] = lambda: None
    end: Callable[[], None] = lambda: None


Make = Callable[[HostLog], Offer]
"""Makes what is served, in a thread; what it raises becomes the refusal."""


class Making:
    """An offer that is being made in a thread, and warmed there."""

    def __init__(self, make: Make, log: HostLog) -> None:
        self._make = make
        self._log = log
        self._begun = False
        self._loop = asyncio.get_running_loop()
        self._made: asyncio.Future[Offer] = self._loop.create_future()

    def start(self) -> None:
        """Begin, if it has not begun."""
        if not self._begun:
            self._begun = True
            in_thread(self._run, self._log)

    def start_in(self, seconds: float) -> None:
        """Begin so much later, unless somebody needs it sooner."""
        self._loop.call_later(seconds, self.start)

    async def offer(self) -> Offer:
        """Return the offer once it is made; a caller that goes away leaves it to the others."""
        self.start()
        return await asyncio.shield(self._made)

    def end(self) -> None:
        """End what was made, if anything was."""
        if self._made.done():
            self._made.result().end()

    def _run(self) -> None:
        made = self._offer()
        with suppress(RuntimeError):  # the plugin may have ended meanwhile, and its loop with it
            self._loop.call_soon_threadsafe(self._made.set_result, made)
        made.warm()

    def _offer(self) -> Offer:
        try:
            return self._make(self._log)
        except Exception as error:  # noqa: BLE001 - the host is to read why, so it gets an answer
            self._log.failure("this is a bug in hostler: nothing can be served", error)
            return Offer(refusal=f"this is a bug in hostler: {type(error).__name__}: {error}")


def in_thread(work: Callable[[], None], log: HostLog) -> threading.Event:
    """Run this in a thread that nobody has to wait for; the event tells that it is done."""
    done = threading.Event()

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the edge of a thread
            log.failure("this is a bug in hostler: a thread failed", error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    return done
