"""The store in memory and the one in a file answer the same, whatever is asked in any order."""

import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hostler.domain.errors import StoreError
from hostler.domain.ids import (
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    machine_id,
)
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Fence, Store
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_shared
from hostler.testing.conformance.store.records import (
    CI,
    NOON,
    WEB,
    event,
    filled,
    host,
    knowing,
    machine,
    orphan,
    request,
    row,
)

NUMBERS = range(8)
FIRST = 5  # machines that are there from the beginning
MACHINES = tuple(machine_id(number) for number in NUMBERS)
HOSTS = (HostId("h-1"), HostId("h-2"))
PARTS = ("p-1", "p-2", "p-3")
FLEETS = (WEB, CI)
TIMES = tuple(NOON + timedelta(hours=hours) for hours in range(4))


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing asked of a store. Each act uses what it needs; `old` is a version behind."""

    act: str
    fleet: FleetName
    number: int
    other: int
    resource: str | None
    deleted: bool
    phase: Phase
    at: datetime
    lease: str
    holder: str
    epoch: Epoch
    old: int

    @property
    def fence(self) -> Fence:
        return Fence(lease=self.lease, epoch=self.epoch)

    def knowing(self, record: Machine) -> Machine:
        return (
            record
            if self.resource is None
            else knowing(record, self.resource, deleted=self.deleted)
        )


ASKS = st.builds(
    Ask,
    act=st.sampled_from(
        [
            *["save_machine"] * 10,
            *["add_fleet", "save_fleet", "save_fleet", "remove_fleet", "move"],
            *["adopt", "save_host", "bind", "unbind", "save_orphans", "request", "take_requests"],
            *["take_lease", "renew_lease", "drop_lease"],
            *["forget"] * 3,
        ]
    ),
    fleet=st.sampled_from(FLEETS),
    number=st.sampled_from(NUMBERS),
    other=st.sampled_from(NUMBERS),
    resource=st.none() | st.sampled_from(PARTS),
    phase=st.sampled_from([Phase.READY, Phase.STOPPING, Phase.DELETED]),
    at=st.sampled_from(TIMES),
    lease=st.sampled_from(["fleet/web", "account/main"]),
    holder=st.sampled_from(["a", "b"]),
    epoch=st.sampled_from([Epoch(9), Epoch(9), Epoch(9), Epoch(1)]),
    old=st.sampled_from([0, 0, 0, 0, 0, 1]),
)


async def add_fleet(store: Store, ask: Ask) -> object:
    return await store.add_fleet(replace(row(ask.fleet), size=ask.number))


async def save_fleet(store: Store, ask: Ask) -> object:
    rows = {found.name: found for found in await store.fleets()}
    read = rows.get(ask.fleet, row(ask.fleet))
    new = ask.knowing(machine(ask.number, ask.fleet))
    inserts = (replace(new, phase=ask.phase), machine(ask.other, ask.fleet))
    output = (event(new, ask.at), event(at=ask.at))
    saved = replace(read, version=read.version - ask.old, serial=ask.number)
    return await store.save_fleet(saved, inserts[: 1 + ask.other % 2], output, ask.fence)


async def remove_fleet(store: Store, ask: Ask) -> object:
    rows = {found.name: found for found in await store.fleets()}
    read = rows.get(ask.fleet, row(ask.fleet))
    removed = replace(read, version=read.version - ask.old)
    return await store.remove_fleet(removed, (event(at=ask.at),), ask.fence)


async def move(store: Store, ask: Ask) -> object:
    """Save a machine for another fleet, with an event in the name of each."""
    read = await store.machine(MACHINES[ask.number]) or machine(ask.number, ask.fleet)
    changed = replace(read, fleet=ask.fleet, version=read.version - ask.old)
    events = (event(read, ask.at), event(changed, ask.at))
    return await store.save_machine(changed, events, ask.fence)


async def save_machine(store: Store, ask: Ask) -> object:
    read = await store.machine(MACHINES[ask.number]) or machine(ask.number, ask.fleet)
    known = replace(ask.knowing(read), since=ask.at)
    changed = replace(known, phase=ask.phase, version=read.version - ask.old)
    return await store.save_machine(changed, (event(changed, ask.at),), ask.fence)


async def adopt(store: Store, ask: Ask) -> object:
    await store.adopt((InstallationId(f"i-{ask.number}"), InstallationId("i-0")), ask.fence)
    return await store.identity()


async def save_host(store: Store, ask: Ask) -> object:
    name = HOSTS[ask.number % 2]
    read = next((one for one in await store.hosts() if one.id == name), host(name))
    changed = replace(read.with_health(strikes=ask.other), version=read.version - ask.old)
    return await store.save_host(changed, (), ask.fence)


async def bind(store: Store, ask: Ask) -> object:
    return await store.bind(HOSTS[ask.number % 2], MACHINES[ask.other % 3], ask.fence)


async def unbind(store: Store, ask: Ask) -> object:
    return await store.unbind(HOSTS[ask.number % 2], MACHINES[ask.other % 3], ask.fence)


async def save_orphans(store: Store, ask: Ask) -> object:
    seen = (orphan(f"p-{ask.number}", ask.other), orphan("p-1"))
    return await store.save_orphans(seen, (ResourceId(f"p-{ask.other}"),), ask.fence)


async def request_for(store: Store, ask: Ask) -> object:
    return await store.request(replace(request(ask.number), fleet=ask.fleet))


async def take_requests(store: Store, ask: Ask) -> object:
    return await store.take_requests((ask.number, ask.other), ask.fence)


async def take_lease(store: Store, ask: Ask) -> object:
    seen = {lease.name: lease for lease in await store.leases()}.get(ask.lease)
    if ask.old and seen is not None:
        seen = replace(seen, beat=seen.beat + 1)
    return await store.take_lease(ask.lease, ask.holder, seen)


async def renew_lease(store: Store, ask: Ask) -> object:
    return [
        await store.renew_lease(replace(lease, holder=ask.holder))
        for lease in await store.leases()
        if lease.name == ask.lease
    ]


async def drop_lease(store: Store, ask: Ask) -> object:
    for lease in await store.leases():
        await store.drop_lease(replace(lease, holder=ask.holder))
    return await store.leases()


async def forget(store: Store, ask: Ask) -> object:
    """Forget up to a time: nothing living is lost, and from that time on the past is as before."""

    async def whole() -> list[object]:
        later = [at for at in TIMES if at >= ask.at]
        found: list[object] = [await store.machines(fleet) for fleet in FLEETS]
        return [*found, *[await store.images(fleet, at) for fleet in FLEETS for at in later]]

    before = await whole()
    went = await store.forget(ask.at, ask.other, ask.fence)
    assert await whole() == before
    assert went <= ask.other
    return went


ACTS: dict[str, Callable[[Store, Ask], Awaitable[object]]] = {
    "add_fleet": add_fleet,
    "save_fleet": save_fleet,
    "remove_fleet": remove_fleet,
    "move": move,
    "save_machine": save_machine,
    "adopt": adopt,
    "save_host": save_host,
    "bind": bind,
    "unbind": unbind,
    "save_orphans": save_orphans,
    "request": request_for,
    "take_requests": take_requests,
    "take_lease": take_lease,
    "renew_lease": renew_lease,
    "drop_lease": drop_lease,
    "forget": forget,
}


async def answer(store: Store, ask: Ask) -> object:
    try:
        return await ACTS[ask.act](store, ask)
    except StoreError as error:
        return type(error)


async def everything(store: Store) -> list[object]:
    """Read all that can be read."""
    found: list[object] = [
        await store.identity(),
        await store.fleets(),
        await store.history(MACHINES),
        await store.hosts(),
        await store.orphans(),
        await store.requests(),
        await store.leases(),
        await store.forgotten(),
    ]
    found += [await store.machines(fleet) for fleet in FLEETS]
    found += [round(await store.spent(fleet), 6) for fleet in FLEETS]
    found += [await store.machine(one) for one in MACHINES]
    found += [await store.images(fleet, at) for fleet in FLEETS for at in TIMES]
    filters: list[tuple[FleetName | None, MachineId | None]] = [(None, None), (WEB, None)]
    filters += [(None, MACHINES[0]), (CI, MACHINES[1])]
    found += [await store.events(fleet, one, after=2, limit=9) for fleet, one in filters]
    return found


def at_once(coroutine: Coroutine[object, object, object]) -> object:
    """Return what a coroutine returns: neither of these stores ever waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")


@settings(max_examples=60)
@given(st.lists(ASKS, min_size=30, max_size=60))
def test_both_stores_answer_the_same(asks: list[Ask]):
    with tempfile.TemporaryDirectory() as folder:
        memory = MemoryStore(InstallationId("i-own"), exclusive=False)
        file = open_shared(Path(folder) / "hostler.db", "i-own")
        for store in (memory, file):
            at_once(filled(store, *(machine(number) for number in range(FIRST))))
            at_once(store.add_fleet(row(CI)))
        for ask in asks:
            assert at_once(answer(file, ask)) == at_once(answer(memory, ask)), ask
        assert at_once(everything(file)) == at_once(everything(memory))
        at_once(file.close())
