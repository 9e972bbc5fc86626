"""Mutations: what plugins do wrong (reference/peers.md 7), each put around the good group."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Group,
    Instance,
    ProviderInfo,
    Refused,
    State,
)
from hostler.lab.gitlab_runner.ground_truth import GroundTruth
from hostler.lab.gitlab_runner.process import Plugin
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.records import Server
from hostler.simulators.scaleway.state.records import State as Status

STRANGE = "hibernating"
STOPPED = (Status.STOPPED, Status.IN_PLACE)
_SOON = 10.0


class Passing:
    """Passes every call on; implements `Group`. `status` is what a listing says of an instance."""

    def __init__(self, group: Group, plugin: Plugin) -> None:
        self.inner, self.plugin = group, plugin
        self._truth = GroundTruth(plugin.site.environment.world)

    def server(self, instance: str) -> Server | None:
        """Return the server of an instance, as a listing of ours would show it."""
        self._truth.note()
        servers = self._truth.servers(instance)
        return servers[0] if servers else None

    def status(self, instance: str) -> str:
        """Return the word that the provider has for it; nothing where there is no server."""
        server = self.server(instance)
        return (server.displayed or server.state) if server is not None else ""

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Pass on."""
        return await self.inner.init(config, connector, states)

    async def update(self) -> Sequence[Instance]:
        """Pass on."""
        return await self.inner.update()

    async def increase(self, count: int) -> int:
        """Pass on."""
        return await self.inner.increase(count)

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Pass on."""
        return await self.inner.decrease(ids)

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Pass on."""
        return await self.inner.connect_info(instance)

    async def heartbeat(self, instance: str) -> None:
        """Pass on."""
        await self.inner.heartbeat(instance)

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Pass on."""
        return await self.inner.suspend(ids)

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Pass on."""
        return await self.inner.resume(ids)

    async def shutdown(self) -> None:
        """Pass on."""
        await self.inner.shutdown()


Wrapper = Callable[[Group, Plugin], Group]
"""Puts something between a runner and the group of a plugin."""


def around(wrapper: Wrapper) -> Callable[[Callable[[Plugin], Group]], Callable[[Plugin], Group]]:
    """Return the mutation by which a runner reaches this in place of the group of a plugin."""
    return lambda group_of: lambda plugin: wrapper(group_of(plugin), plugin)


def shown_as(table: Mapping[str, State]) -> Wrapper:
    """Tell these of the provider's words as these states, whatever we do about it."""

    class Mapped(Passing):
        async def update(self) -> Sequence[Instance]:
            instances = await self.inner.update()
            return [replace(i, state=table.get(self.status(i.id), i.state)) for i in instances]

    return Mapped


NOTHING = cast("State", cast("object", ""))
"""The zero value of a state, as a program without an answer passes it on."""


class RunningAtOnce(Passing):
    """Tells that an instance runs as soon as it is asked for."""

    async def update(self) -> Sequence[Instance]:
        """List."""
        instances = await self.inner.update()
        return [replace(i, state=State.RUNNING) if _new(i) else i for i in instances]


def _new(instance: Instance) -> bool:
    return instance.state is State.CREATING


class DeletesInUpdate(Passing):
    """Deletes what is stopped while it lists."""

    async def update(self) -> Sequence[Instance]:
        """List, and delete."""
        instances = await self.inner.update()
        for instance in instances:
            server = self.server(instance.id)
            if server is not None and server.state == Status.IN_PLACE:
                path = f"/instance/v1/zones/{server.zone}/servers/{server.id}"
                request = HttpRequest(method="DELETE", path=path)
                await self.plugin.wire.send(request, self.plugin.deadline)
        return instances


class StateFile(Passing):
    """Remembers what it was once told, and never asks the platform again."""

    def __init__(self, group: Group, plugin: Plugin) -> None:
        super().__init__(group, plugin)
        self._file = dict[str, State]()

    async def update(self) -> Sequence[Instance]:
        """List what the file says."""
        for instance in await self.inner.update():
            if self._file.get(instance.id) is not State.RUNNING:
                self._file[instance.id] = instance.state
        return [Instance(id=name, state=state) for name, state in self._file.items()]

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Delete, and forget."""
        for name in ids:
            self._file[name] = State.DELETING
        return await self.inner.decrease(ids)


class LosesPartialSuccess(Passing):
    """Answers an error although some were made."""

    async def increase(self, count: int) -> int:
        """Make them, and fail."""
        accepted = await self.inner.increase(count)
        raise Refused(f"only {accepted} of {count + 1} could be made")


class ShutdownDeletes(Passing):
    """Deletes every instance when it is shut down."""

    async def shutdown(self) -> None:
        """Delete, and end."""
        instances = await self.inner.update()
        await self.inner.decrease([instance.id for instance in instances])
        await asyncio.sleep(4.0)
        await self.inner.shutdown()


class KeyLost(Passing):
    """Makes a new SSH key whenever it starts, and remembers no other."""

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Hand out the newest key."""
        info = await self.inner.connect_info(instance)
        if self.plugin.name.endswith(".1"):
            return info
        key = f"the key of {self.plugin.name}".encode()
        return replace(info, connector=dataclasses.replace(info.connector, key=key))


class IncreaseBlocks(Passing):
    """Answers an Increase only when every server is up."""

    async def increase(self, count: int) -> int:
        """Make them, and wait."""
        accepted = await self.inner.increase(count)
        instances = await self.inner.update()
        while any(_new(instance) for instance in instances):
            await asyncio.sleep(1.0)
            instances = await self.inner.update()
        return accepted


class OneFailsAll(Passing):
    """Fails to list anything while one server cannot be deleted."""

    async def update(self) -> Sequence[Instance]:
        """List, or not."""
        instances = await self.inner.update()
        for instance in instances:
            server = self.server(instance.id)
            if server is not None and server.protected:
                raise Refused(f"{instance.id} cannot be deleted: the server is protected")
        return instances


class LeavesOut(Passing):
    """Lists only what is starting or running."""

    async def update(self) -> Sequence[Instance]:
        """List some."""
        instances = await self.inner.update()
        return [i for i in instances if self.status(i.id) not in STOPPED]


class Replaces(Passing):
    """Makes another instance by itself for each one that was lost."""

    def __init__(self, group: Group, plugin: Plugin) -> None:
        super().__init__(group, plugin)
        self._well = set[str]()
        self._asked = set[str]()

    async def update(self) -> Sequence[Instance]:
        """List, and replace."""
        instances = await self.inner.update()
        lost = {i.id for i in instances if i.state is not State.RUNNING} & self._well - self._asked
        self._well |= {i.id for i in instances if i.state is State.RUNNING}
        if lost:
            self._asked |= lost
            with contextlib.suppress(Refused):
                await self.inner.increase(len(lost))
        return instances

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Delete."""
        self._asked |= set(ids)
        return await self.inner.decrease(ids)


class DecreaseByCount(Passing):
    """Ends as many as are named: the first of the list."""

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """End others than those that are named."""
        first = sorted(instance.id for instance in await self.inner.update())
        eldest = sorted(first, key=self._made)
        await self.inner.decrease(eldest[: len(ids)])
        return ids

    def _made(self, instance: str) -> float:
        server = self.server(instance)
        return server.created if server is not None else 0.0


class DecreaseForgotten(Passing):
    """Says that it deletes, and does nothing."""

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept."""
        return ids


class HeartbeatDenied(Passing):
    """Says of an instance that it is not well, once it was asked for a second time."""

    def __init__(self, group: Group, plugin: Plugin) -> None:
        super().__init__(group, plugin)
        self._asked = set[str]()

    async def heartbeat(self, instance: str) -> None:
        """Refuse all but the first."""
        if instance in self._asked:
            raise Refused(f"{instance} is not well")
        self._asked.add(instance)
        await self.inner.heartbeat(instance)


class FailedIsCreating(Passing):
    """Tells for ever that a server that failed is still being made."""

    def __init__(self, group: Group, plugin: Plugin) -> None:
        super().__init__(group, plugin)
        self._failed = set[str]()

    async def update(self) -> Sequence[Instance]:
        """List, with what failed."""
        instances = await self.inner.update()
        self._failed |= {i.id for i in instances if self.status(i.id) == Status.STOPPED}
        others = [i for i in instances if i.id not in self._failed]
        return [*others, *(Instance(id=f, state=State.CREATING) for f in sorted(self._failed))]


def believe_nothing(_: Callable[..., Any]) -> Callable[..., Any]:
    """Take no server for lost, whatever the observations show: such a plugin repairs nothing."""

    def doubted(step: Any, _: object) -> tuple[Any, None]:
        return step, None

    return doubted
