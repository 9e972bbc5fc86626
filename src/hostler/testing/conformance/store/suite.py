"""The suite of the store port: every promise as one check that takes a way to open stores.

It knows nothing of transactions over several objects, nor of any query language: a store of
custom resources must pass it as well as a database.
"""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from types import ModuleType

from . import events, fleets, hosts, leases, machines
from . import orphans as ledger
from . import retention as forgetting
from .records import Stores

Check = Callable[[Stores], Awaitable[None]]


def _checks(module: ModuleType) -> tuple[Check, ...]:
    """Return what a module's own public coroutine functions check."""
    return tuple(
        value
        for name, value in vars(module).items()
        if iscoroutinefunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    )


CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (fleets, machines, events, forgetting, hosts, ledger, leases)
    for check in _checks(module)
)
"""All checks, each named for what holds."""


async def run_all(stores: Stores) -> None:
    """Run every check, in order; the first promise that is broken raises AssertionError."""
    for check in CHECKS:
        await check(stores)
