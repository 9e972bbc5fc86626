"""EngineGroup in trouble: its store, its engine, its machines, what somebody protects."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
import structlog
from msgspec.structs import replace

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import StoreBusy, StoreError, StoreLost
from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow, Probe
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.fleeting.contract import Connector, Refused, State
from hostler.frontends.fleeting.group.context import GroupContext
from hostler.lab.scenes.runner import GROUP, Plugged, Plugin, fresh_store
from hostler.lab.scenes.servers import Rig, play
from hostler.ports.store import Fence, Identity
from hostler.requests.by_id import MachinesById
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.prober import FakeProber
from hostler.testing.scenes.builders import BEGIN, machine
from hostler.testing.time.clock import RigClock

S = timedelta(seconds=1)
MIN = timedelta(minutes=1)
PATIENT = Settings(poll=30 * MIN)
"""Wishes that nobody tells of are noticed after half an hour."""


@pytest.fixture(autouse=True)
def _quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))


class Moody(MemoryStore):
    """A store that fails in chosen ways, and writes down what it refused."""

    def __init__(self) -> None:
        super().__init__(InstallationId("i-0"))
        self.bugs = list[Exception]()
        self.busy_requests = frozenset[RequestKind | str]()
        self.request_takes = 0.0
        self.busy_records = False
        self.damaged = False
        self.loses_answer = False
        self.refused = list[MachineId]()

    async def revision(self) -> int:
        if self.bugs:
            raise self.bugs.pop()
        return await super().revision()

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        await asyncio.sleep(self.request_takes)
        asked = {asked for one in requests for asked in (one.kind, one.machine)}
        if asked & self.busy_requests:
            raise StoreBusy("database is locked")
        return await super().request_all(requests)

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        if self.damaged:
            raise StoreError("a page is damaged")
        return await super().machines(fleet)

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        saved = await super().save_fleet(row, inserts, events, fence)
        if inserts and self.loses_answer:
            self.loses_answer = False
            raise StoreError("no answer")
        return saved

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        if self.busy_records:
            self.refused.append(machine.id)
            raise StoreBusy("database is locked")
        return await super().save_machine(machine, events, fence)


async def opened(plugin: Plugin) -> Plugged:
    plugged = Plugged(plugin)
    await plugged.init()
    return plugged


async def running(plugin: Plugin, count: int = 1) -> tuple[Plugged, list[str]]:
    """Return a group and its instances, which run."""
    plugged = await opened(plugin)
    assert await plugged.group.increase(count) == count
    return plugged, list(await plugged.until({State.RUNNING: count}, 5 * MIN))


def beside(plugged: Plugged, kind: RequestKind, machine: str) -> Request:
    """Return a wish of a person, made beside the plugin."""
    now = plugged.plugin.rig.clock.now()
    return Request(
        number=0,
        kind=kind,
        fleet=plugged.plugin.fleet.name,
        at=now,
        actor="ann",
        machine=MachineId(machine),
        until=now + timedelta(hours=1),
        why="evidence",
    )


async def desired(plugged: Plugged, kind: RequestKind, machine: str) -> None:
    """Wish beside the plugin, and let it be granted."""
    await plugged.plugin.store.request(beside(plugged, kind, machine))
    await asyncio.sleep(5.0)
    assert await plugged.plugin.store.requests() == ()


# ---------------------------------------------------------------- it is heard at once


def test_what_a_runner_asks_is_heard_at_once() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(Plugin(rig, fresh_store(), settings=PATIENT))
        await asyncio.sleep(60.0)
        assert await plugged.group.increase(2) == 2
        one, other = await plugged.until({State.RUNNING: 2}, 5 * MIN)
        assert await plugged.group.suspend([one]) == [one]
        await plugged.until({State.RUNNING: 1, State.SUSPENDED: 1}, 5 * MIN)
        assert await plugged.group.resume([one]) == [one]
        await plugged.until({State.RUNNING: 2}, 5 * MIN)
        assert await plugged.group.decrease([one, other]) == [one, other]
        deleted = set[str]()
        for _ in range(600):  # for five minutes; each is told to be deleted at its own moment
            states = plugged.states_now()
            deleted |= {name for name, state in states.items() if state is State.DELETED}
            await asyncio.sleep(0.5)
        assert (plugged.states_now(), deleted) == ({}, {one, other})

    play(scene)


# ---------------------------------------------------------------- an engine with a bug


@pytest.mark.parametrize("times", [1, 5])
def test_engine_that_ends_by_a_bug_starts_again_and_goes_on(times: int) -> None:
    """A runner does not start a plugin again; meanwhile every instance is told as before."""

    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged, (one,) = await running(Plugin(rig, store))
        store.bugs += [RuntimeError("a bug")] * times
        await asyncio.sleep(2.0)
        assert plugged.states_now() == {one: State.RUNNING}
        assert await plugged.group.increase(1) == 1
        assert set(plugged.states_now().values()) == {State.RUNNING, State.CREATING}
        await plugged.until({State.RUNNING: 2}, 10 * MIN)
        assert (store.bugs, len(rig.servers())) == ([], 2)

    play(scene)


# ---------------------------------------------------------------- a store that is lost or refuses


def test_what_could_not_be_recorded_is_left_out_of_what_goes_to_standby() -> None:
    """A runner believes that nothing of a call which fails was accepted."""

    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged, (one, other) = await running(Plugin(rig, store), 2)
        store.busy_requests = frozenset({MachineId(other)})
        assert await plugged.group.suspend([one, other]) == [one]
        await plugged.until({State.RUNNING: 1, State.SUSPENDED: 1}, 5 * MIN)
        store.busy_requests = frozenset({RequestKind.WAKE})
        assert await plugged.group.resume([one]) == []
        store.busy_requests = frozenset()
        assert await plugged.group.resume([one]) == [one]

    play(scene)


def test_group_whose_store_is_lost_says_so_and_does_nothing_more() -> None:
    """An Update that fails skips the runner's whole cycle: it forgets nothing, and asks again."""

    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged, (one, other) = await running(Plugin(rig, store), 2)
        await plugged.group.decrease([other])
        await plugged.until({State.RUNNING: 1, State.DELETING: 1}, 1 * MIN)
        store.bugs += [StoreLost("the file went away")] * 1000
        await asyncio.sleep(1.0)
        with pytest.raises(Refused, match=r"records are lost: the file went away"):
            await plugged.group.update()
        with pytest.raises(Refused, match="records are lost"):
            await plugged.group.increase(1)
        assert await plugged.group.decrease([one]) == []
        assert await plugged.group.decrease([other]) == [other], "its end is on record"
        assert await store.requests() == ()
        await asyncio.sleep(600.0)
        assert [server.name for server in rig.servers()] == [f"web-{one}"], "all else was begun"
        assert len(store.bugs) == 999, "an engine without records is not started again"
        await plugged.group.shutdown()

    play(scene)


def test_group_says_what_became_of_its_store_whichever_part_of_the_engine_finds_it_lost() -> None:
    """A cycle that does was told as "unhandled errors in a TaskGroup"."""

    class Deleted(MemoryStore):
        deleted = False

        async def identity(self) -> Identity:
            if self.deleted:
                raise StoreLost("the file went away")
            return await super().identity()

    async def scene(rig: Rig) -> None:
        store = Deleted(InstallationId("i-0"))
        plugged, _ = await running(Plugin(rig, store), 1)
        store.deleted = True
        await asyncio.sleep(60.0)
        with pytest.raises(Refused, match=r"records are lost: the file went away"):
            await plugged.group.update()
        await plugged.group.shutdown()

    play(scene)


def test_increase_that_cannot_be_recorded_is_refused_and_leaves_no_name() -> None:
    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged = await opened(Plugin(rig, store))
        store.busy_requests = frozenset({RequestKind.GROW})
        with pytest.raises(Refused, match=r"nothing was recorded.*database is locked"):
            await plugged.group.increase(10)
        assert plugged.states_now() == {}
        store.busy_requests = frozenset()
        assert await plugged.group.increase(10) == 10
        assert len(await plugged.until({State.RUNNING: 10}, 5 * MIN)) == 10

    play(scene)


def test_instances_whose_recording_takes_long_are_reported_and_counted_meanwhile() -> None:
    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged = await opened(Plugin(rig, store))
        store.request_takes = 5.0
        first = rig.group.create_task(plugged.group.increase(8))
        await asyncio.sleep(1.0)
        assert list(plugged.states_now().values()) == [State.CREATING] * 8
        assert await plugged.group.increase(8) == 2
        assert await first == 8
        await plugged.until({State.RUNNING: 10}, 5 * MIN)

    play(scene)


def test_decrease_that_cannot_be_recorded_is_not_accepted_and_may_be_asked_again() -> None:
    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged, (one, other) = await running(Plugin(rig, store), 2)
        store.busy_requests = frozenset({one})
        assert await plugged.group.decrease([one, other]) == [other]
        await plugged.until({State.RUNNING: 1, State.DELETED: 1}, 5 * MIN)
        store.busy_requests = frozenset()
        assert await plugged.group.decrease([one]) == [one]
        await plugged.until({State.DELETED: 1}, 5 * MIN)
        assert rig.servers() == []

    play(scene)


def test_decrease_that_is_repeated_before_it_is_granted_requests_once() -> None:
    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store()))
        assert await plugged.group.decrease([one]) == [one]
        assert await plugged.group.decrease([one]) == [one]
        assert len(await plugged.plugin.store.requests()) == 1

    play(scene)


def test_records_that_cannot_be_read_refuse_init_and_let_go_of_the_store() -> None:
    async def scene(rig: Rig) -> None:
        store = Moody()
        plugin = Plugin(rig, store)
        plugged = Plugged(plugin)
        store.damaged = True
        with pytest.raises(Refused, match=r"records cannot be read: a page is damaged"):
            await plugged.init()
        assert plugin.closed == 1, "told that machines live: the key is kept"
        store.damaged = False
        await plugged.init()

    play(scene)


def test_instances_are_inserted_in_the_very_save_that_grants_their_request() -> None:
    """Else a record that cannot be saved in that turn would lose names that were promised."""

    async def scene(rig: Rig) -> None:
        store = Moody()
        plugged, (one,) = await running(Plugin(rig, store))
        store.busy_records = True
        await store.request(beside(plugged, RequestKind.PROTECT, one))
        assert await plugged.group.increase(1) == 1
        output = set(plugged.states_now())
        await asyncio.sleep(3.0)
        assert one in store.refused, "a record was to be saved in that turn"
        store.busy_records = False
        assert set(await plugged.until({State.RUNNING: 2}, 10 * MIN)) == output

    play(scene)


class Watched(Plugin):
    """A plugin at whose engine somebody looks whenever that writes a fleet's row."""

    look: Callable[[], object] = staticmethod(lambda: None)

    async def open(self, config: bytes, connector: Connector) -> GroupContext:
        context = await super().open(config, connector)
        assert isinstance(context.engine, Engine)
        context.engine.loops[0].state.rows = Looked(self)
        return context


class Looked(dict[FleetName, FleetRow]):
    """The rows of an engine, at which somebody looks the moment one is written."""

    def __init__(self, plugin: Watched) -> None:
        super().__init__()
        self._plugin = plugin

    def __setitem__(self, name: FleetName, row: FleetRow) -> None:
        super().__setitem__(name, row)
        self._plugin.look()


@pytest.mark.parametrize("answered", [True, False], ids=["saved", "read again"])
def test_instances_are_reported_at_any_moment_of_the_save_that_grants_them(answered: bool) -> None:
    """Update is answered by another thread than the engine's: it may look in its midst.

    An instance that is missing once is reported as deleted, and its runner drops it.
    """

    async def scene(rig: Rig) -> None:
        store, found = Moody(), list[dict[str, State]]()
        plugin = Watched(rig, store)
        plugged = Plugged(plugin)
        await plugged.init()
        await asyncio.sleep(5.0)
        store.loses_answer = not answered
        assert await plugged.group.increase(3) == 3
        named = plugged.states_now()
        plugin.look = lambda: found.append(plugged.states_now())
        await asyncio.sleep(5.0)
        assert found
        assert not store.loses_answer
        assert all(each == named for each in found)
        await plugged.until({State.RUNNING: 3}, 5 * MIN)

    play(scene)


@dataclass(slots=True)
class Racing:
    """The records of an engine in another thread, which saves right after each question."""

    new_row: FleetRow
    new: Machine
    old_row: FleetRow | None = None
    old: tuple[Machine, ...] = ()

    def row(self) -> FleetRow | None:
        found = self.old_row
        self._save()
        return found

    def machines(self) -> tuple[Machine, ...] | None:
        found = self.old
        self._save()
        return found

    def creation_blocker(self) -> str:
        return ""

    def _save(self) -> None:
        self.old, self.old_row = (self.new,), self.new_row


def test_what_is_saved_between_two_questions_is_missing_in_neither_answer() -> None:
    row = FleetRow(name=GROUP.name, created=BEGIN)
    one = replace(machine(), fleet=GROUP.name)
    live = Racing(new_row=replace(row, grown=7), new=one, old_row=row)
    by_id = MachinesById(
        fleet=GROUP,
        live=live,
        store=fresh_store(),
        clock=RigClock(),
        actor="a test",
        fresh=lambda: one.id,
        first_row=row,
        first_machines=(),
        requested={one.id: 7},
    )
    recorded = by_id.recorded()
    assert {one.id} == {each.id for each in recorded} | by_id.requested.keys()


# ---------------------------------------------------------------- what somebody holds


def test_protected_instance_is_not_decreased_and_others_are() -> None:
    async def scene(rig: Rig) -> None:
        plugged, (one, other) = await running(Plugin(rig, fresh_store()), 2)
        await desired(plugged, RequestKind.PROTECT, one)
        assert await plugged.group.decrease([one, other]) == [other]
        await plugged.until({State.RUNNING: 1, State.DELETED: 1}, 5 * MIN)
        assert await plugged.plugin.store.requests() == ()
        await desired(plugged, RequestKind.UNPROTECT, one)
        assert await plugged.group.decrease([one]) == [one]
        await plugged.until({State.DELETED: 1}, 5 * MIN)

    play(scene)


def test_instance_that_somebody_protected_at_the_provider_is_deleted_when_that_ends() -> None:
    """Until then it is not told to be deleting: a runner would believe that, and wait."""

    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store()))
        assert rig.world.act("protected_by_hand", rig.servers()[0].id, spell=300.0)
        await asyncio.sleep(60.0)
        assert await plugged.group.decrease([one]) == [one]
        await asyncio.sleep(30.0)
        for _ in range(100):
            await asyncio.sleep(1.0)
            assert plugged.states_now() == {one: State.STOPPED}
        await plugged.until({State.DELETED: 1}, 5 * MIN)
        assert rig.servers() == []

    play(scene)


# ---------------------------------------------------------------- heartbeat


def test_heartbeat_asks_the_machine_itself() -> None:
    async def scene(rig: Rig) -> None:
        prober = FakeProber()
        plugged, (one,) = await running(Plugin(rig, fresh_store(), prober=prober))
        asked = len(prober.asked)
        await plugged.group.heartbeat(one)
        assert len(prober.asked) == asked + 1
        prober.all_unwilling = True
        with pytest.raises(Refused, match=r"does not answer: refused"):
            await plugged.group.heartbeat(one)

    play(scene)


def test_heartbeat_of_what_is_not_up_is_refused_with_its_phase() -> None:
    async def scene(rig: Rig) -> None:
        prober = FakeProber()
        prober.all_unwilling = True
        plugged = await opened(Plugin(rig, fresh_store(), prober=prober))
        await plugged.group.increase(1)
        await asyncio.sleep(60.0)
        (one,) = plugged.states_now()
        prober.all_unwilling = False
        with pytest.raises(Refused, match=f"{one} is starting"):
            await plugged.group.heartbeat(one)

    play(scene)


def test_heartbeat_of_a_machine_that_was_seen_stopped_is_refused_though_it_answers() -> None:
    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store(), prober=FakeProber()))
        assert rig.world.act("guest_poweroff", rig.servers()[0].id)
        await plugged.until({State.STOPPED: 1}, 2 * MIN)
        with pytest.raises(Refused, match="is not up: "):
            await plugged.group.heartbeat(one)

    play(scene)


def test_what_one_list_lacks_is_reached_until_it_is_proved_gone() -> None:
    """Seed 232000017 of fleeting: one list that lies broke the jobs of a healthy machine."""

    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store(), prober=FakeProber()))
        known = await plugged.group.connect_info(one)
        rig.world.script(Rule(fault="empty_list", count=1))
        for _ in range(90):
            await asyncio.sleep(1.0)
            assert await plugged.group.connect_info(one) == known
            await plugged.group.heartbeat(one)
        assert plugged.states_now() == {one: State.RUNNING}
        assert rig.world.act("server_deleted_by_hand", rig.servers()[0].id)
        await asyncio.sleep(3 * 60.0)
        assert plugged.states_now().get(one) is not State.RUNNING
        with pytest.raises(Refused):
            await plugged.group.connect_info(one)

    play(scene)


def test_a_word_that_nobody_knows_takes_no_machine_from_its_runner() -> None:
    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store(), prober=FakeProber()))
        assert rig.world.act("unknown_status", rig.servers()[0].id)
        await asyncio.sleep(90.0)
        assert plugged.states_now() == {one: State.RUNNING}
        assert (await plugged.group.connect_info(one)).external
        await plugged.group.heartbeat(one)

    play(scene)


def test_heartbeat_without_a_probe_is_as_good_as_the_newest_observation() -> None:
    async def scene(rig: Rig) -> None:
        fleet = replace(GROUP, probe=Probe())
        plugged, (one,) = await running(Plugin(rig, fresh_store(), fleet))
        rig.world.script(Rule(fault="html_5xx", count=100_000))
        await asyncio.sleep(9 * 60.0)
        await plugged.group.heartbeat(one)
        await asyncio.sleep(2 * 60.0)
        with pytest.raises(Refused, match=r"was not observed for 0:10:00"):
            await plugged.group.heartbeat(one)
        rig.world.clear_fault_rates()
        await asyncio.sleep(60.0)
        await plugged.group.heartbeat(one)

    play(scene)


def test_connect_info_right_after_a_start_waits_for_the_first_observation_and_no_longer() -> None:
    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store()))
        await plugged.group.shutdown()
        rig.world.script(Rule(fault="hung", count=100_000))
        again = await opened(Plugin(rig, plugged.plugin.store))
        begun = rig.loop.time()
        with pytest.raises(Refused, match=r"has no address now: it is ready"):
            await again.group.connect_info(one)
        assert 7.0 < rig.loop.time() - begun < 9.0

    play(scene)


@pytest.mark.parametrize("asked", ["heartbeat", "connect_info"])
def test_nothing_is_refused_while_what_was_seen_is_forgotten_for_a_clock_that_jumped(
    asked: str,
) -> None:
    """A runner takes one refused heartbeat for an instance that is not well."""

    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store(), replace(GROUP, probe=Probe())))
        await asyncio.sleep(600.0)  # all is quiet by then: observed now and then
        rig.clock.jump(timedelta(hours=1))
        for _ in range(1_000):
            await getattr(plugged.group, asked)(one)
            await asyncio.sleep(0.05)

    play(scene)


def test_heartbeat_of_what_was_never_observed_is_refused_after_a_while() -> None:
    async def scene(rig: Rig) -> None:
        fleet = replace(GROUP, probe=Probe())
        plugged, (one,) = await running(Plugin(rig, fresh_store(), fleet))
        await plugged.group.shutdown()
        rig.world.script(Rule(fault="hung", count=100_000))
        again = await opened(Plugin(rig, plugged.plugin.store, fleet))
        begun = rig.loop.time()
        with pytest.raises(Refused, match=r"was not observed yet"):
            await again.group.heartbeat(one)
        assert 7.0 < rig.loop.time() - begun < 9.0

    play(scene)


# ---------------------------------------------------------------- machines of another installation


def test_group_that_shall_adopt_reports_the_machines_of_a_lost_store() -> None:
    async def scene(rig: Rig) -> None:
        lost, before = await running(Plugin(rig, fresh_store("i-lost")), 2)
        await lost.group.shutdown()
        adopt = (InstallationId("i-lost"),)
        plugged = await opened(Plugin(rig, fresh_store("i-new"), adopt=adopt))
        assert set(await plugged.until({State.RUNNING: 2}, 5 * MIN)) == set(before)
        assert len(rig.servers()) == 2
        await plugged.group.shutdown()
        again = await opened(Plugin(rig, plugged.plugin.store, adopt=adopt))
        assert await plugged.plugin.store.requests() == (), "what is ours is not adopted again"
        await again.group.decrease(before)
        await again.until({State.DELETED: 2}, 5 * MIN)

    play(scene)


def test_group_that_shall_not_adopt_makes_nothing_beside_machines_of_a_lost_store() -> None:
    async def scene(rig: Rig) -> None:
        lost, _ = await running(Plugin(rig, fresh_store("i-lost")), 2)
        await lost.group.shutdown()
        plugged = await opened(Plugin(rig, fresh_store("i-new")))
        await asyncio.sleep(60.0)
        with pytest.raises(Refused, match="i-lost"):
            await plugged.group.increase(1)
        assert plugged.states_now() == {}
        assert len(rig.servers()) == 2

    play(scene)


@pytest.mark.parametrize("route", ["server.list", "ip.list", "volume.list"])
def test_what_a_list_lacks_beside_a_server_takes_no_address_from_it(route: str) -> None:
    async def scene(rig: Rig) -> None:
        plugged, (one,) = await running(Plugin(rig, fresh_store(), prober=FakeProber()))
        known = await plugged.group.connect_info(one)
        rig.world.script(Rule(fault="empty_list", route=route, count=1))
        for _ in range(90):
            await asyncio.sleep(1.0)
            assert await plugged.group.connect_info(one) == known

    play(scene)
