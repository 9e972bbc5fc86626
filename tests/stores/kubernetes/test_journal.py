"""The journal of a store in a cluster: what is written when, and what a lost call leaves."""

import asyncio
from itertools import count
from random import Random

import pytest
from direct import lost, opened, read_only, session_of
from msgspec.structs import replace

from hostler.domain.errors import (
    AlreadyBound,
    Conflict,
    Fenced,
    StoreBusy,
    StoreError,
    StoreLost,
    StoreMissing,
)
from hostler.domain.ids import Epoch, InstallationId, machine_id
from hostler.domain.model.machine import Machine
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.session import Call
from hostler.lab.harness.cluster_session import ClusterSession, passed
from hostler.lab.scenario.cluster_store import cluster
from hostler.ports.store import Fence, Identity, Store
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.stores.kubernetes import batches, writes
from hostler.stores.kubernetes.kinds import JOURNALS, Content, Journal, JournalSpec
from hostler.stores.kubernetes.packing import unpack
from hostler.stores.kubernetes.store import KubernetesStore
from hostler.stores.records.tables import Tables
from hostler.testing.conformance.store.records import (
    OPEN,
    WEB,
    ended,
    event,
    filled,
    knowing,
    machine,
    minutes,
    request,
    row,
)
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime


class Place:
    """A cluster, and handles of the store in it."""

    def __init__(self) -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.server: KubernetesServer = cluster(self.clock)
        self._numbers = count(1)

    def session(self) -> ClusterSession:
        return session_of(self.server)

    def open(self, session: ClusterSession | None = None, installation: str | None = "i-own"):
        return opened(
            session or self.session(), self.clock, f"w-{next(self._numbers)}", installation
        )


async def everything(store: Store) -> list[object]:
    """Read all that the saves of these tests can change."""
    return [
        await store.identity(),
        await store.fleets(),
        await store.machines(WEB),
        await store.history(tuple(machine_id(number) for number in range(30))),
        await store.issued(tuple(machine_id(number) for number in range(30))),
        await store.events(),
        await store.requests(),
        await store.leases(),
        await store.forgotten(),
        await store.spent(WEB),
    ]


@pytest.mark.parametrize(("apart", "writes"), [(0.0, 2), (0.001, 4)])
async def test_saves_that_come_together_or_follow_closely_share_a_write(
    apart: float, writes: int
) -> None:
    place = Place()
    store = place.open(session := place.session())
    await filled(store, *(machine(number) for number in range(20)))
    machines = await store.machines(WEB)
    before = len(session.writes)
    async with asyncio.TaskGroup() as tasks:
        for number, one in enumerate(machines):
            tasks.create_task(store.save_machine(one, (event(one),), OPEN))
            if apart and number > 2:
                await asyncio.sleep(apart)
    assert len(session.writes) - before <= writes
    assert {one.version for one in await place.open().machines(WEB)} == {2}


async def test_a_save_that_comes_alone_does_not_wait_for_others() -> None:
    place = Place()
    store = place.open()
    await filled(store, machine(1))
    (one,) = await store.machines(WEB)
    await store.save_machine(one, (event(one),), OPEN)
    begun = place.clock.boot()
    one = await store.save_machine(replace(one, version=2), (event(one),), OPEN)
    assert place.clock.boot() == begun


async def test_who_only_reads_does_not_wait_for_saves_that_wait_nor_hurries_them() -> None:
    place = Place()
    store = place.open(session := place.session())
    await filled(store, *(machine(number) for number in range(3)))
    machines = await store.machines(WEB)
    async with asyncio.TaskGroup() as tasks:
        for one in machines:
            tasks.create_task(store.save_machine(one, (event(one),), OPEN))
    begun, (one, other, _) = place.clock.boot(), await store.machines(WEB)
    before, read_in = len(session.writes), list[float]()
    async with asyncio.TaskGroup() as tasks:
        saves = [tasks.create_task(store.save_machine(one, (event(one),), OPEN))]
        while not all(save.done() for save in saves):
            await asyncio.sleep(0.001)
            asked = place.clock.boot()
            await store.machines(WEB)
            read_in.append(place.clock.boot() - asked)
            if len(read_in) == 40:
                late = store.save_machine(other, (event(other),), OPEN)
                saves.append(tasks.create_task(late))
    assert place.clock.boot() - begun == pytest.approx(batches.GATHER.total_seconds(), abs=0.01)
    assert len(read_in) > 50
    assert max(read_in) < 0.001
    assert len(session.writes) - before == 1


async def test_of_saves_at_the_same_time_each_has_its_own_answer() -> None:
    place = Place()
    store = place.open()
    await filled(store, machine(1, resource="p-1"), machine(2))
    one, two = await store.machines(WEB)
    first, second, third = await asyncio.gather(
        store.save_machine(one, (), OPEN),
        store.save_machine(one, (), OPEN),
        store.save_machine(knowing(two, "p-1"), (), OPEN),
        return_exceptions=True,
    )
    assert isinstance(first, Machine)
    assert first.version == one.version + 1
    assert isinstance(second, Conflict)
    assert isinstance(third, AlreadyBound)


async def test_a_reader_sees_what_another_handle_saved_before() -> None:
    place = Place()
    one, two = place.open(), place.open()
    await filled(one, machine(1))
    assert len(await two.machines(WEB)) == 1
    (record,) = await two.machines(WEB)
    await two.save_machine(record, (), OPEN)
    with pytest.raises(Conflict):
        await one.save_machine(record, (), OPEN)
    assert (await one.machine(record.id)) == (await two.machine(record.id))


async def test_a_save_of_an_older_epoch_is_refused_though_its_writer_saw_no_newer_one() -> None:
    place = Place()
    old, new = place.open(), place.open()
    await filled(old, machine(1))
    lease = await old.take_lease("fleet/web", "a", None)
    assert lease is not None
    (record,) = await old.machines(WEB)
    await new.take_lease("fleet/web", "b", lease)
    with pytest.raises(Fenced):
        await old.save_machine(record, (), Fence(lease="fleet/web", epoch=Epoch(1)))
    assert (await new.machines(WEB))[0].version == record.version


async def scenario(store: Store) -> None:
    """Save a bit of everything."""
    await store.add_fleet(row())
    lease = await store.take_lease("fleet/web", "a", None)
    assert lease is not None
    fence = Fence(lease="fleet/web", epoch=lease.epoch)
    (saved,) = await store.fleets()
    new = tuple(machine(number) for number in range(3))
    await store.save_fleet(saved, new, tuple(event(one) for one in new), fence)
    first, *_ = await store.machines(WEB)
    first = await store.save_machine(knowing(first, "p-1"), (event(first),), fence)
    await store.request(request(1))
    await store.save_machine(ended(first), (event(first),), fence)
    await store.forget(minutes(600), 2, fence)


async def calls_of(scenario_place: Place) -> int:
    session = scenario_place.session()
    await scenario(scenario_place.open(session))
    return len(session.calls)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_an_answer_that_is_lost_changes_nothing_of_what_is_saved(
    after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever call is lost, before or after its effect: every save is made, and made once."""
    monkeypatch.setattr(writes, "TAIL", 700)
    monkeypatch.setattr(writes, "LOG", 1500)
    expected_place = Place()
    number = await calls_of(expected_place)
    expected = await everything(expected_place.open())
    for which in range(number):
        place = Place()
        session = place.session()
        setattr(session, "after" if after else "before", lose_one(session, which))
        await scenario(place.open(session))
        assert await everything(place.open()) == expected, which


def lose_one(session: ClusterSession, which: int):
    async def gate(call: Call) -> None:
        if len(session.calls) == which + 1:
            await lost(call)

    return gate


async def test_a_writer_at_work_is_known_however_many_others_come_and_go() -> None:
    """Each command is a writer: the one that saves all the time was forgotten as the oldest."""
    place = Place()
    store = place.open(session := place.session())
    await filled(store, machine(1))
    (one,) = await store.machines(WEB)
    for _ in range(batches.WRITERS - 1):
        await place.open().request(request())
        one = await store.save_machine(one, (), OPEN)
    cut = True

    async def answer_lost(call: Call) -> None:
        nonlocal cut
        if cut and call.method == "PUT":
            cut = False
            await place.open().request(request())
            await lost(call)

    session.after = answer_lost
    saved = await store.save_machine(one, (), OPEN)
    assert not cut
    assert saved.version == one.version + 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_of_a_writer_that_dies_every_save_is_there_whole_or_not_at_all(
    after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut at every call: what another one finds is what a save left, never half of one."""
    monkeypatch.setattr(writes, "TAIL", 700)
    monkeypatch.setattr(writes, "LOG", 1500)
    number = await calls_of(Place())
    states = await all_states()
    for which in range(number):
        place = Place()
        session = place.session()
        setattr(session, "after" if after else "before", die_at(session, which))
        with pytest.raises(Dead):
            await scenario(place.open(session))
        found = await everything(place.open())
        assert found in states, which


class Dead(BaseException):
    """The process is no more."""


def die_at(session: ClusterSession, which: int):
    async def gate(_: Call) -> None:
        if len(session.calls) >= which + 1:
            raise Dead

    return gate


async def all_states() -> list[list[object]]:
    """Return what the store holds after each write of the scenario."""
    place = Place()
    session, states = place.session(), list[list[object]]()
    states.append(await everything(Place().open()))

    async def look(call: Call) -> None:
        if call.method == "PUT":
            states.append(await everything(place.open()))

    session.after = look
    await scenario(place.open(session))
    return states


async def test_one_who_is_cancelled_leaves_the_others_their_answers() -> None:
    place = Place()
    session = place.session()
    store = place.open(session)
    await filled(store, *(machine(number) for number in range(2)))
    one, two = await store.machines(WEB)
    slow = True

    async def wait(call: Call) -> None:
        if slow and call.method == "PUT":
            await asyncio.sleep(5)

    session.after = wait
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(store.save_machine(one, (event(one),), OPEN))
        second = tasks.create_task(store.save_machine(two, (event(two),), OPEN))
        await asyncio.sleep(1)
        slow = False
        first.cancel()
    assert first.cancelled()
    assert second.result().version == two.version + 1
    assert [m.version for m in await place.open().machines(WEB)] == [2, 2]
    assert len(await store.events()) == 2


async def test_a_request_that_others_record_for_one_who_is_cancelled_is_noticed() -> None:
    place = Place()
    session = place.session()
    store = place.open(session)
    await filled(store, machine(1))
    before, slow = await store.revision(), True

    async def wait(call: Call) -> None:
        if slow and call.method == "PUT":
            await asyncio.sleep(5)

    session.before = wait
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(store.request(request()))
        await asyncio.sleep(1)
        slow = False
        asking.cancel()
    assert len(await store.requests()) == 1
    assert await store.revision() != before


async def test_a_server_that_is_silent_for_long_makes_the_store_busy_and_loses_nothing() -> None:
    place = Place()
    session = place.session()
    store = place.open(session)
    await filled(store, machine(1))
    (record,) = await store.machines(WEB)
    session.before = lost
    with pytest.raises(StoreBusy):
        await store.save_machine(record, (), OPEN)
    with pytest.raises(StoreBusy):
        await store.machines(WEB)
    session.before = passed
    assert await store.machines(WEB) == (record,)
    assert (await store.save_machine(record, (), OPEN)).version == record.version + 1


async def many_saves(store: KubernetesStore, number: int) -> None:
    (record,) = await store.machines(WEB)
    for minute in range(number):
        record = await store.save_machine(
            replace(record, since=minutes(minute)), (event(record, minutes(minute)),), OPEN
        )


async def test_the_log_is_folded_into_checkpoints_and_what_nobody_names_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writes, "TAIL", 1500)
    monkeypatch.setattr(writes, "LOG", 4000)
    place = Place()
    session = place.session()
    store = place.open(session)
    await filled(store, machine(1))
    await many_saves(store, 60)
    head = await store._batches._objects.journal()
    assert head is not None
    contents = {part.content for part in head.spec.parts}
    assert {Content.STATE, Content.PAST} <= contents
    names = await store._batches._objects.part_names()
    assert sorted(names) == sorted(part.name for part in head.spec.parts)
    assert len(names) < 12
    assert await everything(place.open()) == await everything(store)


async def test_events_that_were_forgotten_leave_the_parts_of_the_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writes, "TAIL", 1500)
    monkeypatch.setattr(writes, "LOG", 4000)
    place = Place()
    store = place.open()
    await filled(store, machine(1))
    await many_saves(store, 40)
    assert await store.forget(minutes(20), 100, OPEN) == 19
    expected = await store.events()
    await many_saves(store, 20)
    assert (await place.open().events())[: len(expected)] == expected
    head = await store._batches._objects.journal()
    assert head is not None
    past = [part for part in head.spec.parts if part.content is Content.PAST]
    assert sum(part.count for part in past) <= 41


async def test_a_part_of_a_version_that_never_came_is_deleted_by_the_next_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writes, "TAIL", 1500)
    monkeypatch.setattr(writes, "LOG", 4000)
    place = Place()
    session = place.session()
    store = place.open(session)
    await filled(store, machine(1))

    async def dies(call: Call) -> None:
        if call.method == "POST" and call.path.endswith("/journalparts"):
            raise Dead

    session.after = dies
    with pytest.raises(Dead):
        await many_saves(store, 60)
    heir = place.open()
    stray = set(await heir._batches._objects.part_names())
    assert stray
    await many_saves(heir, 60)
    assert not stray & set(await heir._batches._objects.part_names())


async def test_a_journal_that_was_deleted_ends_its_writers() -> None:
    place = Place()
    session = place.session()
    store = place.open(session)
    await filled(store, machine(1))
    objects = store._batches._objects
    await objects.client.delete(JOURNALS, Key(objects.namespace, objects.name))
    with pytest.raises(StoreLost):
        await store.machines(WEB)
    assert (await place.open().fleets()) == ()
    with pytest.raises(StoreLost):
        await store.add_fleet(row())


async def test_who_only_reads_makes_no_journal_and_who_requests_needs_one() -> None:
    place = Place()
    reader = read_only(session := place.session(), place.clock)
    assert await reader.fleets() == ()
    assert (await reader.identity()).own == "i-none"
    assert not session.writes
    with pytest.raises(StoreMissing):
        await place.open(installation=None).request(request(1))
    assert await place.open().fleets() == ()
    assert (await reader.identity()).own == "i-own"
    await place.open(installation=None).request(request(1))
    assert len(await place.open(installation=None).requests()) == 1


async def test_a_save_too_large_for_one_object_is_in_several_and_whole() -> None:
    place = Place()
    store = place.open(session := place.session())
    await store.add_fleet(row())
    (saved,) = await store.fleets()
    new = tuple(machine(number) for number in range(2500))
    await store.save_fleet(saved, new, tuple(event(one) for one in new), OPEN)
    assert len(session.writes) > 3
    found = place.open()
    assert len(await found.machines(WEB)) == 2500
    assert len(await found.events(limit=5000)) == 2500


async def test_of_more_events_than_there_is_room_for_the_oldest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "EVENTS", 30)
    monkeypatch.setattr(batches, "TRIM", 10)
    place = Place()
    store = place.open()
    await filled(store, machine(1), machine(2))
    still, moving = await store.machines(WEB)
    await store.save_machine(still, (event(still, minutes(0)),), OPEN)
    for minute in range(1, 100):
        moving = await store.save_machine(moving, (event(moving, minutes(minute)),), OPEN)
    heir = place.open()
    events = await heir.events()
    assert 30 <= len(events) <= 41
    assert events[-1].number == await heir.newest_event() == 100
    assert {one.id for one in await heir.images(WEB, minutes(99))} == {still.id, moving.id}
    forgotten = await heir.forgotten()
    assert forgotten is not None
    assert minutes(50) < forgotten < minutes(80)


async def test_a_record_that_is_too_large_is_refused_alone() -> None:
    place = Place()
    store = place.open()
    await filled(store, *(machine(number) for number in range(4)))
    first, second, *others = await store.machines(WEB)
    noise = Random(1).randbytes(1_500_000).hex()
    large = replace(second, observed=noise)
    answers = await asyncio.gather(
        *(store.save_machine(one, (), OPEN) for one in (first, large, *others)),
        return_exceptions=True,
    )
    assert [isinstance(answer, Machine) for answer in answers] == [True, False, True, True]
    assert isinstance(answers[1], StoreError)
    assert "even compressed" in str(answers[1])
    assert await place.open().machine(second.id) == second


@pytest.mark.parametrize("log", [1500, 10**6], ids=["checkpoints", "log"])
async def test_a_reader_goes_on_from_wherever_it_stands(
    log: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Handles that read last some saves ago find all of those since, in tail, log or checkpoint."""
    monkeypatch.setattr(writes, "TAIL", 1500)
    monkeypatch.setattr(writes, "LOG", log)
    place = Place()
    store, frequent = place.open(), [place.open() for _ in range(4)]
    await filled(store, machine(1))
    once = list[KubernetesStore]()
    for number in range(1, 25):
        await many_saves(store, 1)
        once.append(place.open())
        await once[-1].fleets()
        for every, reader in enumerate(frequent, start=1):
            if number % every == 0:
                assert await reader.newest_event() == number
    expected = await everything(place.open())
    for reader in [*once, *frequent, store]:
        assert await everything(reader) == expected


async def test_a_save_of_a_version_that_this_handle_never_saw_is_made() -> None:
    """What another handle read may be saved here: nothing is refused by what is not so any more."""
    place = Place()
    one, two = place.open(), place.open()
    await filled(one, machine(1))
    (record,) = await two.machines(WEB)
    newer = await two.save_machine(record, (), OPEN)
    assert (await one.save_machine(newer, (), OPEN)).version == newer.version + 1


async def test_ids_that_were_issued_over_years_fit_into_a_checkpoint() -> None:
    tables = Tables(Identity(own=InstallationId("i-own")))
    dice = Random(1)
    tables.issued.update(machine_id(dice.getrandbits(50)) for _ in range(200_000))
    metadata = Metadata(name="hostler", namespace="default", uid="1")
    head = Journal(metadata=metadata, spec=JournalSpec(installation="i-own"))
    draft = writes.checkpoint(head, tables)
    assert all(entry.size < 1_200_000 for entry, _ in draft.parts)
    found = Tables(Identity(own=InstallationId("i-own")))
    for _, part in draft.parts:
        for change in (change for entry in part.entries for change in unpack(entry.data)):
            found.apply(change)
    assert found.issued == tables.issued
