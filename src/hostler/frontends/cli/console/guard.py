"""Guard: runs a command, and turns every foreseeable error into a line and an exit code."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol, cast

from hostler.domain.errors import HostlerError

from .screen import Screen

Work = Callable[[Screen], Awaitable[int]]


class Guard(Protocol):
    """Runs work and returns its exit code."""

    def __call__(self, json: bool, work: Work) -> int:
        """Run it with a screen; foreseeable errors are printed on it."""
        ...


def guarded(json: bool, work: Work) -> int:
    """Run a command to its end and return its exit code; no traceback for a foreseeable error."""
    screen = Screen(json=json)

    async def whole() -> int:
        return await work(screen)

    try:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(whole())
    except HostlerError as error:
        return screen.fail(error)
    except BaseExceptionGroup as group:
        foreseen = next(foreseen_in(group), None)
        if foreseen is None:
            raise
        return screen.fail(foreseen)
    except KeyboardInterrupt:
        return screen.interrupted()


def foreseen_in(group: BaseExceptionGroup[BaseException]) -> Iterator[HostlerError]:
    """Return the errors of ours in a group, where it holds no others."""
    errors = list(_leaves(group))
    if all(isinstance(error, HostlerError | asyncio.CancelledError) for error in errors):
        yield from (error for error in errors if isinstance(error, HostlerError))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for one in cast("tuple[BaseException, ...]", error.exceptions):
        yield from _leaves(one)
