"""A simulated installation's store in a simulated cluster."""

from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import TypeVar

from hostler.domain.ids import InstallationId, MachineId
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import Unavailable
from hostler.kubernetes.session import Call, Session
from hostler.lab.harness.cluster_session import ClusterSession, passed, teach
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.harness.store_place import StorePlace
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.stores.kubernetes.batches import Batches, Writing
from hostler.stores.kubernetes.definitions import definitions
from hostler.stores.kubernetes.kinds import JournalSpec, PartEntry, PartSpec
from hostler.stores.kubernetes.objects import Objects
from hostler.stores.kubernetes.store import KubernetesStore
from hostler.stores.records.changes import IssuedPut
from hostler.stores.records.tables import Tables

from .faults import FORGOTTEN

T = TypeVar("T")
_Backup = tuple[JournalSpec, tuple[tuple[PartEntry, PartSpec], ...]]


def cluster(clock: Clock) -> KubernetesServer:
    """Return a cluster that knows the store's kinds."""
    server = KubernetesServer(clock, Random(1))
    teach(server, definitions())
    return server


class InCluster:
    """Implements `StorePlace` for a store that its engines share in a cluster.

    `loses` is the share of calls, and that of answers, that are lost on the way.
    """

    def __init__(
        self,
        own: InstallationId,
        clock: Clock,
        loses: float = 0.0,
        server: KubernetesServer | None = None,
    ) -> None:
        self._own, self._clock, self._loses = own, clock, loses
        self._server = server or cluster(clock)
        self._chance = Random(f"hostler cluster {own}")
        self._writers = 0
        self._backup: _Backup | None = None
        _at_once(self._issue())

    def open(self, run: ProcessRun | None = None) -> Store:
        """Return a handle of its own, with its own copy of the records."""
        return KubernetesStore(self._batches(self._session(run)))

    def open_beside(self) -> Store:
        """Return a handle of its own."""
        return self.open()

    def tables(self) -> Tables:
        """Return all records as they are."""
        return _at_once(self._batches(self._at_hand()).read(lambda rules: rules.tables))

    def copy(self) -> None:
        """Read the journal and its parts."""
        self._backup = _at_once(_read(self._objects(self._at_hand())))

    def twin(self, path: Path | None) -> StorePlace:
        """Write what the journal and its parts hold into another cluster."""
        del path
        twin = InCluster(self._own, self._clock, self._loses)
        twin._backup = _at_once(_read(self._objects(self._at_hand())))
        twin.put_back()
        return twin

    def put_back(self) -> None:
        """Put a cluster in place of this one in which the backup was written."""
        if self._backup is None:
            raise ValueError("no copy was made")
        self._server = cluster(self._clock)
        _at_once(_write(self._objects(self._at_hand()), self._backup))

    def remove_record(self, machine: MachineId) -> None:
        """Remove a machine's record."""
        batches = self._batches(self._at_hand())
        _at_once(batches.write(lambda rules: rules.remove_machine(machine)))

    async def _issue(self) -> None:
        batches = self._batches(self._at_hand())
        await batches.write(lambda rules: rules.change(IssuedPut((FORGOTTEN,))))

    async def _gate(self, call: Call) -> None:
        if self._chance.random() < self._loses:
            raise Unavailable(f"{call.method} {call.path}: lost", unknown=True)

    def _session(self, run: ProcessRun | None) -> Session:
        """Return the way of an engine to the cluster, and of whoever is beside it."""
        del run
        gate = self._gate if self._loses else passed
        return ClusterSession(self._server, gate, gate)

    def _at_hand(self) -> Session:
        """Return a way on which nothing is lost."""
        return ClusterSession(self._server)

    def _batches(self, session: Session) -> Batches:
        self._writers += 1
        name = f"w-{self._writers}"
        writing = Writing(
            writer=name, installation=self._own, clock=self._clock, draw=Random(name).random
        )
        return Batches(self._objects(session), writing)

    def _objects(self, session: Session) -> Objects:
        return Objects(client=Client(session=session), namespace="default", name="hostler")


async def _read(objects: Objects) -> _Backup:
    journal = await objects.journal()
    if journal is None:
        raise ValueError("there is no journal")
    parts = list[tuple[PartEntry, PartSpec]]()
    for entry in journal.spec.parts:
        part = await objects.part(entry.name)
        if part is None:
            raise ValueError(f"part {entry.name} is not there")
        parts.append((entry, part))
    return journal.spec, tuple(parts)


async def _write(objects: Objects, backup: _Backup) -> None:
    spec, parts = backup
    journal = await objects.make(spec.installation)
    if journal is None:
        raise ValueError("there is a journal already")
    for entry, part in parts:
        await objects.add(journal, entry, part)
    await objects.replace(journal, spec)


def _at_once(coroutine: Coroutine[object, object, T]) -> T:
    """Return what a coroutine returns that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise AssertionError("it waited")
