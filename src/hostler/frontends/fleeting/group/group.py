"""EngineGroup: the calls of a runner, answered from the records of an engine in this process."""

import asyncio
from collections.abc import Sequence

import structlog

from hostler.domain.errors import StoreError
from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Instance,
    ProviderInfo,
    Refused,
    State,
)

from . import connect
from . import decrease as shrinking
from . import increase as growing
from .known import Known, read_known
from .opened import Opener
from .running import keep_running
from .threaded import Spawn
from .update import Report

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")


class EngineGroup:
    """One group. `spawn` starts the engine's task (a TaskGroup's `create_task`)."""

    def __init__(self, opener: Opener, spawn: Spawn) -> None:
        self._opener, self._spawn = opener, spawn
        self._open: Known | None = None
        self._connector = Connector()
        self._report: Report | None = None
        self._running: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ begin and end

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Open the group, read what is on record, and start the engine."""
        if self._open is not None:
            raise Refused("Init was called before: one plugin process serves one group")
        opened = await self._opener.open(config, connector)
        try:
            known = await read_known(opened)
        except StoreError as error:
            await opened.close(1)
            raise Refused(f"the group's records cannot be read: {error}") from error
        self._open, self._connector = known, connector
        self._report = Report(opened.fleet, states)
        self._running = self._spawn(keep_running(known))
        _tell(known, states)
        return ProviderInfo(
            id=f"hostler/{opened.fleet.name}",
            max_size=opened.fleet.most(0),
            version=opened.version,
            build_info=f"hostler {opened.version}",
            capabilities=("suspend_resume",) if _suspends(known, states) else (),
        )

    async def shutdown(self) -> None:
        """Stop the engine; instances stay as they are."""
        known, self._open = self._open, None
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))
            self._running = None
        if known is not None:
            await known.opened.close(len(known.machines()) + len(known.named))

    # ------------------------------------------------------------ what is

    async def update(self) -> Sequence[Instance]:
        """Return every instance."""
        return self.report()

    def report(self) -> Sequence[Instance]:
        """Return every instance, now; callable from another thread than the engine's."""
        known, report = self._known(), self._report
        known.demand_records()
        if report is None:
            raise Refused("the group is not open")
        machines = known.machines()
        known.forget_named(machines)
        now = known.opened.ports.clock.now()
        protected = known.protected(machines)
        return report.instances(machines, tuple(known.named), now, protected)

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Return addresses and credentials of a machine that is up."""
        return await connect.connect_info(self._known(), self._connector, instance)

    async def heartbeat(self, instance: str) -> None:
        """Return if the newest look and the probe find the machine well."""
        await connect.heartbeat(self._known(), instance)

    # ------------------------------------------------------------ what is asked

    async def increase(self, count: int) -> int:
        """Name new machines in one durable wish; the engine makes them."""
        return await growing.increase(self._known(), count)

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Wish the end of each; what is gone, or was never ours, has ended."""
        return await shrinking.decrease(self._known(), ids)

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Wish that those which are up go to standby."""
        return await shrinking.suspend(self._known(), ids)

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Wish that those which stand by come back."""
        return await shrinking.resume(self._known(), ids)

    def _known(self) -> Known:
        if self._open is None:
            raise Refused("the group is not open: Init was not called, or it failed")
        return self._open


def _tell(known: Known, states: frozenset[State]) -> None:
    opened = known.opened
    for note in opened.notes:
        log.info("note", group=opened.fleet.name, note=note)
    log.info(
        "group opened",
        group=opened.fleet.name,
        machines=len(known.stored),
        states=len(states),
    )


def _suspends(known: Known, states: frozenset[State]) -> bool:
    return State.SUSPENDED in states and known.loop.rests
