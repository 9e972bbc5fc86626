"""Switching: one action at one machine by one method, as the command line names it."""

import os
from collections.abc import Mapping
from pathlib import Path

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.config.decode import decode_table
from hostler.config.errors import Faults
from hostler.domain.errors import UsageError
from hostler.domain.model.calls import Done
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.screen import Screen
from hostler.ports.power import PowerAction, PowerMethod, PowerOpening, Turn
from hostler.providers.power.methods.ssh import Ssh
from hostler.providers.power.methods.wake_on_lan import WakeOnLan


async def wake(keys: Mapping[str, object], screen: Screen) -> int:
    """Send magic packets; return the exit code."""
    return await _act(WakeOnLan(), PowerAction.ON, keys, screen)


async def shut_down(keys: Mapping[str, object], screen: Screen) -> int:
    """Ask over SSH; return the exit code."""
    return await _act(Ssh(), PowerAction.OFF_SOFT, keys, screen)


async def _act(
    method: PowerMethod, action: PowerAction, keys: Mapping[str, object], screen: Screen
) -> int:
    """Do it once; UsageError where the command line names what cannot be."""
    wrong = Faults()
    (settings,) = decode_table(dict(keys), (method.settings,), "", wrong)
    if settings is None or wrong.found:
        raise UsageError("; ".join(f"{one.path}: expected {one.expected}" for one in wrong.found))
    if faults := method.check(settings):
        raise UsageError("; ".join(faults))
    power = method.open(
        PowerOpening(
            settings=settings,
            turn=Turn(),
            folder=Path.cwd(),
            environment=os.environ,
            clock=SystemClock(),
            shell=SshShell(),
            connect=AiohttpTransport,
        )
    )
    try:
        outcome = await power.act(action)
    finally:
        await power.close()
    if isinstance(outcome, Done):
        screen.show("sent", {"outcome": "done"})
        return int(Exit.OK)
    screen.show(f"not done: {outcome.text}", {"outcome": "failed", "why": outcome.text})
    return int(Exit.FAILED)
