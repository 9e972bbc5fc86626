"""EngineGroup: the calls of a runner, answered from the records of an engine in this process."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import structlog

from hostler.domain.errors import StoreError, StoreUnusable, first_of
from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Instance,
    ProviderInfo,
    Refused,
    State,
)

from . import connect
from . import decrease as decreasing
from . import increase as increasing
from .context import GroupOpener
from .records import GroupRecords, read_records
from .report import Report
from .threaded import Spawn

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_PAUSES = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=30))
"""How long the engine rests before it is started again, the last one for all later times."""


class EngineGroup:
    """One group. `spawn` starts the engine's task (a TaskGroup's `create_task`)."""

    def __init__(self, opener: GroupOpener, spawn: Spawn) -> None:
        self._opener, self._spawn = opener, spawn
        self._records: GroupRecords | None = None
        self._connector = Connector()
        self._report: Report | None = None
        self._running: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ begin and end

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Open the group, read what is on record, and start the engine."""
        if self._records is not None:
            raise Refused("Init was called before: one plugin process serves one group")
        context = await self._opener.open(config, connector)
        try:
            records = await read_records(context)
        except StoreError as error:
            await context.close(1)
            raise Refused(f"the group's records cannot be read: {error}") from error
        self._records, self._connector = records, connector
        self._report = Report(context.fleet, states)
        self._running = self._spawn(_keep_running(records))
        _log_opened(records, states)
        return ProviderInfo(
            id=f"hostler/{context.fleet.name}",
            max_size=context.fleet.most(0),
            version=context.version,
            build_info=f"hostler {context.version}",
            capabilities=("suspend_resume",) if _suspends(records, states) else (),
        )

    async def shutdown(self) -> None:
        """Stop the engine; instances stay as they are."""
        records, self._records = self._records, None
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))
            self._running = None
        if records is not None:
            living = len(records.machines()) + len(records.requested)
            await records.context.close(living)

    # ------------------------------------------------------------ what is

    async def update(self) -> Sequence[Instance]:
        """Return every instance."""
        return self.report()

    def report(self) -> Sequence[Instance]:
        """Return every instance, now; callable from another thread than the engine's."""
        records, report = self._require(), self._report
        records.require()
        if report is None:
            raise Refused("the group is not open")
        machines = records.recorded()
        now = records.context.clock.now()
        protected = records.undeletable(machines)
        return report.instances(machines, tuple(records.requested), now, protected)

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Return addresses and credentials of a machine that is up."""
        return await connect.connect_info(self._require(), self._connector, instance)

    async def heartbeat(self, instance: str) -> None:
        """Return if the newest observation and the probe find the machine well."""
        await connect.heartbeat(self._require(), instance)

    # ------------------------------------------------------------ what is asked

    async def increase(self, count: int) -> int:
        """Request new machines in one durable request; the engine makes them."""
        return await increasing.increase(self._require(), count)

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Request the deletion of each; what is deleted, or was never ours, is accepted as well."""
        return await decreasing.decrease(self._require(), ids)

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Request standby for those that are up."""
        return await decreasing.suspend(self._require(), ids)

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Request that those in standby come back."""
        return await decreasing.resume(self._require(), ids)

    def _require(self) -> GroupRecords:
        if self._records is None:
            raise Refused("the group is not open: Init was not called, or it failed")
        return self._records


def _log_opened(records: GroupRecords, states: frozenset[State]) -> None:
    context = records.context
    for note in context.notes:
        log.info("note", group=context.fleet.name, note=note)
    log.info(
        "group opened",
        group=context.fleet.name,
        machines=len(records.first_machines),
        states=len(states),
    )


def _suspends(records: GroupRecords, states: frozenset[State]) -> bool:
    return State.SUSPENDED in states and records.context.live.supports_standby


async def _keep_running(records: GroupRecords) -> None:
    """Run the engine, again and again: a runner does not start a plugin that has ended."""
    context, tries = records.context, 0
    while not records.lost:
        try:
            await context.engine.run()
        except* StoreUnusable as lost:
            records.lost = f"the group's records are lost: {first_of(lost)}"
            log.exception("engine stopped", group=context.fleet.name, why=records.lost)
        except* Exception:
            log.exception("this is a bug in hostler; the engine starts again")
        await context.clock.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
        tries += 1
