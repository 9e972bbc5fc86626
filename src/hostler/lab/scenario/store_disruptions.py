"""Store disruptions: what somebody does to a store while no engine of its installation runs.

Only the history is pruned by an engine itself, as it does for what is older than `remember`.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from hostler.domain.errors import StoreError
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.harness.process import Home, Process

from .faults import (
    HISTORY_PRUNED,
    RECORD_REMOVED,
    STORE_COPIED,
    STORE_RESTORED,
    STORE_TWINNED,
    Disruption,
)
from .session import Session

Later = Callable[[float, Callable[[], None]], None]
"""Plans something for so many seconds on."""

_MOST = 10_000
"""More rows than any history of a run has."""


class StoreDisruptions:
    """Copies stores, puts them back, starts engines on copies, and removes records by force.

    What the judge knows of a store is copied and put back with it.
    """

    def __init__(self, session: Session, later: Later, start: Callable[[Process], None]) -> None:
        self._session, self._later, self._start = session, later, start
        self._backup: tuple[Home, ShadowStore, float] | None = None

    async def strike(self, disruption: Disruption) -> bool:
        """Do what the disruption says; tell whether it is one of these."""
        match disruption.fault:
            case fault if fault == STORE_COPIED:
                self._copy()
            case fault if fault == STORE_RESTORED:
                await self._put_back(disruption)
            case fault if fault == STORE_TWINNED:
                self._start_twin(disruption)
            case fault if fault == RECORD_REMOVED:
                await self._remove_record(disruption)
            case fault if fault == HISTORY_PRUNED:
                await self._prune(disruption)
            case _:
                return False
        return True

    def _copy(self) -> None:
        home = self._session.standing()
        home.place.copy()
        self._backup = home, home.shadow.copy(), self._session.checker.now
        self._session.trace.note("the store is backed up")

    async def _put_back(self, disruption: Disruption) -> None:
        if self._backup is None or self._backup[0].shadow.lost:
            return
        home, backup, made = self._backup
        await self._stop(home, disruption)
        home.place.put_back()
        home.shadow.put_back(backup, made, self._session.checker.now)
        self._session.trace.note("the store is put back from its backup")
        self._session.checker.struck(STORE_RESTORED)

    def _start_twin(self, disruption: Disruption) -> None:
        """Let an engine run on a copy of the store for a while, beside those of the store."""
        session = self._session
        twin = session.twin_of(session.standing())
        session.trace.note("an engine is started on a copy of the store")
        session.checker.struck(STORE_TWINNED)
        process = session.add_process(twin, "t", 0.0)
        self._start(process)

        def find() -> None:
            session.trace.note("the engine on the copy is found, and switched off")
            process.retired = True
            process.kill()
            twin.shadow.lost = True

        self._later(disruption.length, find)

    async def _remove_record(self, disruption: Disruption) -> None:
        home = self._session.standing()
        living = sorted(home.shadow.living(), key=lambda machine: machine.serial)
        if not living:
            return
        machine = living[disruption.who % len(living)].id
        await self._stop(home, disruption)
        self._session.trace.note(f"the record of {machine} is removed by force", machine)
        self._session.checker.struck(RECORD_REMOVED)
        home.place.remove_record(machine)
        home.shadow.forget_record(machine)

    async def _prune(self, disruption: Disruption) -> None:
        """Let the engine that leads forget every machine that ended a while ago."""
        home = self._session.standing()
        for process in self._session.processes:
            run = process.incarnation
            if process.home is not home or run is None or not process.alive:
                continue
            names = (f"fleet/{fleet.name}" for fleet in home.fleets)
            tenures = (run.engine.leases.tenure(name) for name in names)
            tenure = next((tenure for tenure in tenures if tenure is not None), None)
            if tenure is None:
                continue
            before = process.clock.now() - timedelta(seconds=disruption.length)
            with suppress(StoreError):
                if await run.store.forget(before, _MOST, tenure.fence):
                    self._session.trace.note(f"what ended before {before} is forgotten")
                    self._session.checker.struck(HISTORY_PRUNED)

    async def _stop(self, home: Home, disruption: Disruption) -> None:
        """Let no engine of an installation run, nor have its store open, for a while."""
        for process in self._session.processes:
            if process.home is home and not process.retired:
                await process.shut()
                self._later(disruption.length, partial(self._start, process))
