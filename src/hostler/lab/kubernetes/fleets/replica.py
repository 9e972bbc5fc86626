"""Replicas: the processes of a run of Fleets, and the tables that each of them has in force.

A process that is alone with its records dies for other tables, and is started again. One of two
goes on, as it does in a cluster: its engine gives its leases back, and another takes its place.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextvars import Context
from dataclasses import dataclass, field

from msgspec.structs import replace

from hostler.config.digests import differing, digests
from hostler.config.node_tables import HostNodeTable
from hostler.config.values import Config
from hostler.domain.ids import AccountName, FleetName, HostId
from hostler.domain.model.fleet import Fleet
from hostler.frontends.kubernetes.nodes.fleets import ByHost, no_hosts
from hostler.lab.harness.process import Process
from hostler.lab.harness.process_run import ProcessRun

_SETTLES = 0.1
_STARTS = 1.0
"""So long, in seconds, a process takes that is started again."""


@dataclass(slots=True, kw_only=True)
class Replica:
    """A process, what its engine runs, and what it will in a moment: its `config`, and `coming`.

    Where objects come and go, one that was not begun for its tables has none before it has read
    them: what it had does not `last`. `taken` hears of each change before it is made. `node_of`
    tells what the objects of hosts say of their Nodes, as its run has read them, and `read` the
    uids of those that it has read and may have in force.
    """

    process: Process
    group: asyncio.TaskGroup
    lasts: bool
    taken: Callable[["Replica"], None]
    config: Config | None = None
    coming: Config | None = None
    carries: bool = False
    node_of: ByHost = no_hosts
    read: Callable[[], Collection[str]] = frozenset
    _run: ProcessRun | None = None
    _renewing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def fleets(self) -> tuple[Fleet, ...]:
        """The fleets that its engine runs, or will run in a moment."""
        config = self.coming or self.config
        return () if config is None else config.fleets

    def said_of(self, account: AccountName, host: HostId) -> HostNodeTable | None:
        """Return what the object of a host says of its Node, as the newest run has read it."""
        return self.node_of(account, host)

    def take(self, config: Config) -> None:
        """Begin anew with other tables, once whoever found them has gone."""
        self.process.home.loop.call_soon(self._take, config, context=Context())

    def _take(self, config: Config) -> None:
        process, stood = self.process, self.coming or self.config
        same = stood is not None and not differing(digests(stood), digests(config))
        if same or process.retired:
            return
        self.coming = config
        self.taken(self)
        if process.home.replicas > 1:
            self.group.create_task(self._renew(), context=Context())
            return
        process.kill()
        process.home.loop.call_later(_STARTS, self._start, context=Context())

    def _start(self) -> None:
        if not self.process.retired:
            self.group.create_task(self.process.start(self.group), context=Context())

    async def _renew(self) -> None:
        """Renew the engine, once it was renewed for what came before."""
        async with self._renewing:
            if self.coming is not None:
                await self.process.renew(self.group)

    async def settled(self) -> None:
        """Return once its engine runs what was found last."""
        await asyncio.sleep(_SETTLES)
        async with self._renewing:
            return

    def begins(self, run: ProcessRun) -> None:
        """Note that an engine begins in a run: it has what it was begun for, or what was known.

        In a process that goes on, what was read is not forgotten; one that died reads again.
        """
        died = self.process.home.replicas > 1 and run is not self._run
        coming = None if died else self.coming
        self._run = run
        self.carries = coming is not None and not self.lasts
        self.config, self.coming = coming or (self.config if self.lasts else None), None


def united(replicas: Iterable[Replica]) -> dict[FleetName, Fleet]:
    """Return the fleets that any engine runs, or will: the larger one where two are in force."""
    found = dict[FleetName, Fleet]()
    for replica in replicas:
        for config in (replica.config, replica.coming):
            for fleet in () if config is None else config.fleets:
                other = found.get(fleet.name)
                found[fleet.name] = fleet if other is None else _larger(other, fleet)
    return found


def _larger(one: Fleet, other: Fleet) -> Fleet:
    if one.removed != other.removed:
        return one if other.removed else other
    return replace(other, size=max(one.size, other.size))
