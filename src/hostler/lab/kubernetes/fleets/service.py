"""Service: what follows objects and reports on them, in each run of the engine's process."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from hostler.config.decode import Raw
from hostler.config.errors import Fault
from hostler.config.removed import with_removed
from hostler.config.values import Config
from hostler.domain.errors import StoreError
from hostler.domain.ids import MachineId
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.earlier import (
    behind,
    earlier_tables,
    read_again,
    recorded_places,
)
from hostler.frontends.kubernetes.fleets.events import EventRecorder
from hostler.frontends.kubernetes.fleets.following import KINDS as OBJECTS
from hostler.frontends.kubernetes.fleets.following import Followed
from hostler.frontends.kubernetes.fleets.judging import Base
from hostler.frontends.kubernetes.fleets.reported import Reported
from hostler.frontends.kubernetes.fleets.reporting import Reporter
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.fleets.writing import Writer
from hostler.frontends.kubernetes.leading import Election, Successor
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.nodes.controller import NodeController
from hostler.frontends.kubernetes.nodes.standing import Standing
from hostler.frontends.kubernetes.objects.assembly import Place
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.informer import Surroundings as Following
from hostler.lab.harness.process import Incarnation
from hostler.lab.kubernetes.candidacy import Candidacy
from hostler.lab.kubernetes.connection import Connection
from hostler.lab.kubernetes.nodes.service import NodeService
from hostler.lab.kubernetes.runs import AGAIN, EachRun
from hostler.ports.clock import Clock
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Store
from hostler.queries.removed import removed_fleets

from .objects import HOME, KINDS, Objects
from .replica import Replica

_REPORTS, _SECRETS = timedelta(seconds=15), timedelta(minutes=10)
"""How often all objects are gone over, and Secrets are read again: seldom, to save time."""


class _OnePlace:
    """Reads the place of a store that is never opened by it."""

    def place(self, written: str, folder: Path) -> str:
        """Return the place as it is written."""
        del folder
        return written


class _Recorded:
    """A store that says which fleets the engine runs, as a process writes it when one begins."""

    def __init__(self, store: Store, replica: Replica, since: datetime) -> None:
        self._store, self._replica, self._since = store, replica, since

    def __getattr__(self, name: str) -> object:
        """Leave all else to the store."""
        return getattr(self._store, name)

    async def engine_record(self) -> EngineRecord | None:
        """Return what is run."""
        tables = {f"fleet.{fleet.name}": "" for fleet in self._replica.fleets if not fleet.removed}
        return EngineRecord(file="rack.toml", since=self._since, tables=tables)

    async def save_engine_record(self, record: EngineRecord) -> None:
        """Write nothing: what is run is known."""
        del record


@dataclass(slots=True)
class ObjectsService:
    """The objects' half of a process that runs in a cluster; each of its runs has another one.

    What a run was begun anew for goes on with what was in force: its replica carries that. In a
    cluster no process ends for that; one that died knows what its records say. Of two processes
    the one that is elected writes.
    """

    replica: Replica
    objects: Objects
    random: Random
    folder: Path
    nodes: NodeService | None = None
    candidacy: Candidacy = field(init=False)
    _tables: Mapping[Place, Raw] = field(default_factory=dict[Place, Raw])

    def __post_init__(self) -> None:
        """Let the process stand for election."""
        self.candidacy = Candidacy(self.replica.process, HOME)
        if self.nodes is not None:
            self.replica.process.equip = self.nodes.equip

    @property
    def namespaces(self) -> Namespaces:
        """Which namespaces are read."""
        others = (space.name for space in self.objects.spaces if space.name != HOME)
        return Namespaces(home=HOME, others=tuple(others))

    async def run(self) -> None:
        """Serve whatever run of the process there is, for ever."""
        await EachRun(self.replica.process, self._serve).run()

    async def _serve(self, run: Incarnation) -> None:
        """Serve one run until it dies; its store may be away when it begins."""
        route = self.objects.routes.of(self.replica.process.name)
        connection = Connection(self.objects.gateway, passes=run.gate.pass_through, route=route)
        client = Client(session=connection)
        stack = AsyncExitStack()
        try:
            if self.nodes is not None:
                await stack.enter_async_context(self.nodes.at_work(run))
            async with self.candidacy.stands(run, client, self.random) as election:
                await self._follow(run, client, election)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not run.gate.dead or task is None or task.cancelling():
                raise
        finally:
            await stack.aclose()
            await connection.close()

    async def _follow(self, run: Incarnation, client: Client, election: Election) -> None:
        store, clock = run.ports.store, run.ports.clock
        draw = Random(self.random.getrandbits(64)).random
        namespaces = self.namespaces
        selections = dict.fromkeys(OBJECTS, namespaces.selections)
        followed = Followed(client, Following(clock=clock, draw=draw), selections)
        around = Surroundings(
            cluster=Connected(client=client, namespace=HOME, origin="simulated"),
            namespaces=namespaces,
            followed=followed,
            places=SecretPlaces(self.folder, {}, b"salt"),
            opens=_opens,
            leaves=_leaves,
            clock=clock,
            again=_SECRETS,
        )
        base = Base(path=Path("rack.toml"), raw={}, kinds=KINDS, stores={"sqlite": _OnePlace()})
        source = Source(base, around)
        self.replica.node_of = source.node_of
        self.replica.read = lambda: source.judged.generations

        async def catch_up() -> None:
            await read_again(source, followed, store)
            await self.replica.settled()

        successor = Successor(election, catch_up, partial(behind, source, store), clock)
        self.candidacy.election = successor.election
        recorded: Store = _Recorded(store, self.replica, clock.now())  # pyright: ignore[reportAssignmentType] - all else it leaves to the store
        reported = Reported(
            followed=followed,
            source=source,
            store=recorded,
            clock=clock,
            leads=successor.election.leads,
            with_removed=partial(_with_removed, clock),
            reloads=_never,
            node=partial(_standing, run),
        )
        events = EventRecorder(client, clock, run.process.name)
        reporter = Reporter(reported, Writer(client, clock, events), _REPORTS)
        async with asyncio.TaskGroup() as group:
            for follow in followed.runs():
                group.create_task(follow())
            await followed.synced()
            await self._begin(source, followed, store)
            await self._compare(source, reporter)

            async def compare() -> None:
                await self._compare(source, reporter)

            source.on_new = compare
            group.create_task(source.run())
            group.create_task(reporter.run())
            group.create_task(successor.run())

    async def _begin(self, source: Source, followed: Followed, store: Store) -> None:
        """Read everything once; where it cannot be read, a process ends, and is started again."""
        while True:
            try:
                recorded = await recorded_places(store, followed, source.namespaces)
                earlier = await earlier_tables(store, followed, source.namespaces)
                before = self._tables if self.replica.carries else earlier
                await source.first(before, recorded)
            except (ApiError, StoreError):
                await asyncio.sleep(AGAIN)
            else:
                return

    async def _compare(self, source: Source, reporter: Reporter) -> None:
        """Have the engine begin anew where it runs other fleets than the objects say."""
        while True:
            try:
                await reporter.ask_for_pauses()
                config = await reporter.of.with_removed(source.config(), reporter.of.store)
            except StoreError:
                await asyncio.sleep(AGAIN)
            else:
                break
        self._tables = source.judged.assembly.tables
        self.replica.take(config)


def _never() -> bool:
    """Tell that no reload is under way: what a process will run in a moment is on record here."""
    return False


def _standing(run: Incarnation, machine: MachineId) -> Standing | None:
    """Return how a machine's Node stood when Nodes were last gone over; None without one."""
    controller = run.ports.workloads
    rounds = controller.rounds if isinstance(controller, NodeController) else None
    return None if rounds is None else rounds.observed.get(machine)


async def _with_removed(clock: Clock, config: Config, store: Store) -> Config:
    """Return what is in force, with the fleets that the store holds and no object has."""
    removed = await removed_fleets(store, config, clock.now())
    return with_removed(config, (one.row for one in removed), KINDS) if removed else config


async def _opens(config: Config) -> None:
    """Open nothing: a rack of methods that are simulated always opens."""
    del config


async def _leaves(config: Config) -> tuple[Fault, ...]:
    """Return that no fleet is taken away: all boxes are of one kind, whose accounts have no ids."""
    del config
    return ()
