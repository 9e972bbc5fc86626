"""Disruptions: what happens to a runner, its plugin and their host, at the times drawn."""

import asyncio
import contextvars
from collections.abc import Callable
from datetime import timedelta

from hostler.lab.harness.gates import Trap
from hostler.lab.scenario.faults import Disruption

from .checker import Checker
from .process import Plugin, Site
from .runner import Runner

_AGAIN = 60.0
"""So long after writes are let pass again, all that waited for them is under way."""


class Disruptions:
    """Lets faults strike one runner."""

    def __init__(
        self, site: Site, checker: Checker, runner: Runner, disruptions: tuple[Disruption, ...]
    ) -> None:
        self._site, self._checker, self._runner = site, checker, runner
        self._loop, self._disruptions = site.loop, disruptions

    async def run(self) -> None:
        """Strike as drawn."""
        for disruption in self._disruptions:
            await asyncio.sleep(max(0.0, disruption.at - self._loop.time()))
            await self._strike(disruption)

    def cease(self) -> None:
        """Let all faults of the host cease, and start whoever is dead."""
        self._set_network(down=False)
        if self._runner.plugin is not None:
            self._runner.plugin.gate.calm()
        self._relaunch()

    async def _strike(self, disruption: Disruption) -> None:
        plugin = self._runner.plugin
        match disruption.fault:
            case "network_down":
                self._set_network(down=True)
                self._later(disruption.length, lambda: self._set_network(down=False))
            case "clock_jump":
                self._note(disruption.fault)
                self._jump(timedelta(seconds=disruption.length))
            case "store_busy" | "disk_full" if plugin is not None:
                end = self._loop.time() + disruption.length
                self._checker.able_from = end + _AGAIN
                plugin.gate.refuse_writes(end, disruption.fault)
            case "plugin_killed" | "runner_killed" if plugin is not None:
                self._kill_soon(plugin, disruption)
            case "runner_restarted" if self._runner.serving:
                self._note(disruption.fault)
                await self._runner.stop()
                self._runner.launch()
            case _:
                pass

    def _kill_soon(self, plugin: Plugin, disruption: Disruption) -> None:
        def strike() -> None:
            self._note(disruption.fault)
            plugin.kill()
            if disruption.fault == "runner_killed":
                self._later(0.0, self._runner.kill)
            self._later(disruption.length, self._relaunch)

        if disruption.skip < 0:
            strike()
        else:
            trap = Trap(
                strike=strike, skip=disruption.skip, before=disruption.before, port=disruption.port
            )
            plugin.gate.trap(trap)

    def _relaunch(self) -> None:
        """Somebody sees that a runner is dead, or its plugin, and starts it anew."""
        if not self._runner.serving:
            self._runner.kill()
            self._runner.launch()

    def _set_network(self, *, down: bool) -> None:
        self._site.down = down
        self._checker.awake = not down
        if self._runner.plugin is not None:
            self._runner.plugin.set_network(down=down)

    def _note(self, fault: str) -> None:
        self._checker.trace.note(fault)
        self._checker.struck(fault)

    def _jump(self, by: timedelta) -> None:
        """Let the clock jump; put back, it comes to every pause of before once more."""
        self._checker.jumped = self._loop.time() + max(0.0, -by.total_seconds())
        self._site.clock.jump(by)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        self._loop.call_later(seconds, work, context=contextvars.Context())
