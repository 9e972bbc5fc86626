"""Host records: those of one account, and its bindings, as the store has them."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from hostler.domain.ids import AccountName, HostId, MachineId, Zone
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host, HostCondition
from hostler.ports.store import Fence, Store


@dataclass(slots=True)
class HostRecords:
    """Records are kept in memory where nobody else can write them; losing that costs a reading.

    `hosts` is another mapping whenever a record is: decisions know by that what stands.
    """

    account: AccountName
    hosts: dict[HostId, Host] = field(default_factory=dict[HostId, Host])
    bindings: dict[HostId, MachineId] = field(default_factory=dict[HostId, MachineId])
    moving: set[HostId] = field(default_factory=set[HostId])
    known: bool = False
    _doubts: int = 0

    async def refresh(self, store: Store) -> None:
        """Read everything again, unless what is in memory must be it."""
        if self.known and store.exclusive:
            return
        doubts = self._doubts
        stored = {host.id: host for host in await store.hosts() if host.account == self.account}
        hosts = {host: self._newer(record) for host, record in stored.items()}
        self.hosts = self.hosts if hosts == self.hosts else hosts
        self.bindings = dict(await store.bindings())
        self.known = doubts == self._doubts  # what came to no end meanwhile may be there since

    def _newer(self, stored: Host) -> Host:
        """Return the newer of two: what is in flight may have been saved while we were reading."""
        cached = self.hosts.get(stored.id)
        return cached if cached is not None and cached.version >= stored.version else stored

    def zones(self) -> tuple[Zone, ...]:
        """Return where hosts of our records are, configured or not."""
        there = (host for host in self.hosts.values() if host.condition is not HostCondition.ABSENT)
        return tuple(sorted({host.zone for host in there}))

    def distrust(self) -> None:
        """Read again before the next use."""
        self.known = False
        self._doubts += 1

    def by_machine(self) -> Mapping[MachineId, HostId]:
        """Return which host each machine has."""
        return {machine: host for host, machine in self.bindings.items()}

    async def take(self, store: Store, host: Host, machine: MachineId, fence: Fence) -> None:
        """Bind a host to a machine, then save its record; raises StoreError where that failed."""
        with self._or_distrust():
            await store.bind(host.id, machine, fence)
            self.bindings[host.id] = machine
            saved = await store.save_host(host, (), fence)
            self.hosts = {**self.hosts, saved.id: saved}

    async def unbind(self, store: Store, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Remove a binding."""
        with self._or_distrust():
            await store.unbind(host, machine, fence)
        if self.bindings.get(host) == machine:
            del self.bindings[host]

    async def keep(
        self, store: Store, host: Host, fence: Fence, events: tuple[Event, ...] = ()
    ) -> Host:
        """Keep a host's record; raises StoreError where somebody was faster."""
        with self._or_distrust():
            saved = await store.save_host(host, events, fence)
        self.hosts = {**self.hosts, saved.id: saved}
        return saved

    @contextmanager
    def _or_distrust(self) -> Generator[None]:
        """Read again what is not seen to its end: without an answer it may be saved or not."""
        done = False
        try:
            yield
            done = True
        finally:
            if not done:
                self.distrust()
