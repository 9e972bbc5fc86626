"""Runner: one modelled GitLab Runner on its host: it launches a plugin, works, dies, comes back."""

import asyncio
from collections.abc import Coroutine

from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.contract import ConnectInfo, Connector, Group, Refused, State

from .calls import Calls
from .checker import Checker
from .process import Plugin, Site
from .provisioner import Provisioner
from .taskscaler import Memory, Taskscaler
from .workload import RunnerOptions, Served

_INIT_LIMIT = 60.0
_LAUNCH_AGAIN = 30.0
_SCALES = 5.0


class Setting(Struct, frozen=True, kw_only=True):
    """What one runner is configured with."""

    options: RunnerOptions
    states: frozenset[State]


def group_of(plugin: Plugin) -> Group:
    """Return the group of a plugin as the runner reaches it; mutants put themselves around it."""
    return plugin.group


class Runner:
    """Runs until it is stopped or killed; what it has in state storage outlives it."""

    def __init__(
        self, site: Site, checker: Checker, setting: Setting, tasks: asyncio.TaskGroup
    ) -> None:
        self._site, self._checker, self._setting, self._tasks = site, checker, setting, tasks
        self._memory = Memory()
        self._work = set[asyncio.Task[None]]()
        self._last: Plugin | None = None
        self.plugin: Plugin | None = None
        self.group: Group | None = None
        self.scaler: Taskscaler | None = None
        self.provisioner: Provisioner | None = None
        self.served = Served()
        self.options = setting.options

    @property
    def serving(self) -> bool:
        """Whether it runs, with a plugin that lives."""
        return self.scaler is not None and self.plugin is not None and not self.plugin.dead

    def launch(self) -> None:
        """Start it, in the background; nothing where it runs already."""
        if not self._work:
            self._spawn(self._run())

    async def _run(self) -> None:
        launched = await self._init()
        while not launched:
            await asyncio.sleep(_LAUNCH_AGAIN)
            launched = await self._init()
        group, options = self.group, self.options
        if group is None:
            return
        time = asyncio.get_running_loop().time
        self.provisioner = Provisioner(group, options, time)
        self.scaler = Taskscaler(
            self.provisioner, group, options, time, self, self._spawn, self._memory
        )
        self.scaler.served = self.served
        self._spawn(self._keep_scaling(self.scaler))
        await self.provisioner.run()

    async def _init(self) -> bool:
        """Launch a plugin and begin; tell whether it could."""
        if self._last is not None:
            await self._last.bury()
        plugin = self._last = Plugin(self._site, self._tasks)
        self._checker.trace.note(f"{plugin.name} starts")
        group = Calls(plugin, group_of(plugin), self._checker)
        self._checker.plugin_begins(self._site.key)
        try:
            async with asyncio.timeout(_INIT_LIMIT):
                await group.init(b"{}", Connector(), self._setting.states)
        except (Refused, TimeoutError):
            plugin.kill()
            return False
        self.plugin, self.group = plugin, group
        return True

    async def _keep_scaling(self, scaler: Taskscaler) -> None:
        while True:
            scaler.scale()
            await asyncio.sleep(_SCALES)

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self._tasks.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def dial(self, instance: str, info: ConnectInfo) -> bool:
        """Tell whether the instance answers there; implements `Network`."""
        return not self._site.down and self._checker.dialled(instance, info)

    def jobs_on(self, instance: str) -> int:
        """Return how many jobs run on an instance, by the runner that lives."""
        slots = self.scaler.ready.get(instance) if self.scaler is not None else None
        return slots.busy if slots is not None else 0

    def retire(self) -> None:
        """Ask for nothing any more: jobs end, and no idle capacity is kept."""
        self.options = replace(self.options, idle_count=0, idle_time=0.0)
        if self.scaler is not None:
            self.scaler.retire(self.options)

    # ------------------------------------------------------------ how it ends

    def kill(self) -> None:
        """Let it die as by SIGKILL, and the plugin with it."""
        if self.plugin is not None:
            self.plugin.kill()
        self._leave()

    async def stop(self) -> None:
        """End it as its service manager does: Shutdown, and the plugin is killed."""
        group, plugin = self.group, self.plugin
        self._leave()
        if group is not None and plugin is not None:
            try:
                async with asyncio.timeout(_INIT_LIMIT):
                    await group.shutdown()
            except (Refused, TimeoutError):
                pass
            plugin.kill()

    async def bury(self) -> None:
        """Kill what still runs, and close the records."""
        self.kill()
        if self._last is not None:
            await self._last.bury()

    def _leave(self) -> None:
        for task in tuple(self._work):
            task.cancel()
        self._work.clear()
        self.plugin = self.group = self.scaler = self.provisioner = None
