"""Suite: the checks of the power port, each named for what holds, and running one of them."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from types import ModuleType

from . import actions, readings
from .rig import NotApplicable, PowerRig, PowerWorlds

Check = Callable[[PowerRig], Awaitable[None]]


def _checks(module: ModuleType) -> tuple[Check, ...]:
    """Return what a module's own public coroutine functions check."""
    return tuple(
        value
        for name, value in vars(module).items()
        if iscoroutinefunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    )


CHECKS: tuple[Check, ...] = (*_checks(actions), *_checks(readings))
"""All checks."""


async def run_check(check: Check, worlds: Callable[[], PowerWorlds]) -> str:
    """Run one check over an endpoint of its own; return why it does not apply, or nothing.

    Raises AssertionError, with what was found instead, where a promise is broken.
    """
    async with worlds() as rig:
        try:
            await check(rig)
        except NotApplicable as reason:
            return str(reason)
    return ""
