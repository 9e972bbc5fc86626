"""The demo of Macs, part by part: what is drawn, counted, paid, and left behind."""

import asyncio
import io
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
import structlog
from rich.console import Console

from hostler.domain.ids import CycleId, FleetName, InstallationId, MachineId, machine_id
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Stage
from hostler.lab.demo.macs.bill import Bill, paid_hours
from hostler.lab.demo.macs.demo import Pace
from hostler.lab.demo.macs.engines import IOS, POOL, TYPE, ZONE, Engines
from hostler.lab.demo.macs.environment import conclusion, date, week
from hostler.lab.demo.macs.lanes import Lane, State, cells, state_of
from hostler.lab.demo.macs.sampling import Sampler
from hostler.lab.demo.macs.tally import MacTally, count_moves
from hostler.lab.demo.macs.timeline import EVENTS, LENGTH, Timeline
from hostler.lab.macs.names import HostName
from hostler.ports.store import Fence
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

HOUR = timedelta(hours=1)


def ours(stage: str, fleet: str) -> str:
    """Return the name of a host of the demo's fleet, as a hostler writes it."""
    name = HostName(
        stage=Stage(stage),
        installation=InstallationId("demo"),
        fleet=FleetName(fleet),
        machine=MachineId("m-aaaaaaaaaa"),
        pool="d4b1c5",
    )
    return str(name)


def at(hours: float) -> datetime:
    return BEGINNING + hours * HOUR


@pytest.fixture(autouse=True)
def _quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))


@pytest.fixture
def engines() -> Iterator[Engines]:
    """Two fleets over one Mac in the pool; no engine runs yet."""
    made = Engines(SimLoop(), 1)
    made.world.stock_macs(1, TYPE, ZONE, POOL)
    yield made
    made.loop.run_until_complete(made.end())
    made.loop.close()


@pytest.fixture
def mac(engines: Engines) -> Mac:
    return next(iter(engines.world.cloud.macs))


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("pool-7", State.FREE),
        ("lent to ann", State.LENT),
        (ours("claimed", "ios"), State.IOS),
        (ours("pending", "tests"), State.TESTS),
        (ours("releasing", "ios"), State.WIPING),
        (ours("rested", "ios"), State.PARKED),
        (ours("parked", "ios"), State.PARKED),
        (ours("ordered", "ios"), State.FREE),
        (ours("retiring", "ios"), State.RETIRING),
    ],
)
def test_a_host_is_drawn_as_its_name_says(mac: Mac, name: str, state: State) -> None:
    mac.name = name
    assert state_of(mac) is state
    assert state_of(mac, orphan=True) is State.ORPHAN


def test_a_host_is_drawn_as_its_status_says_where_its_name_does_not(mac: Mac) -> None:
    mac.name, mac.status = ours("claimed", "ios"), MacStatus.REINSTALLING
    assert state_of(mac) is State.WIPING
    mac.name, mac.delivered = ours("ordered", "ios"), False
    assert state_of(mac) is State.COMING


def test_a_column_shows_what_weighs_most_in_it() -> None:
    lane = Lane("a", "pool 1", own=True)
    for sample, state in ((0, State.FREE), (10, State.IOS), (19, State.WIPING), (20, State.FREE)):
        assert lane.note(sample, state)
        assert not lane.note(sample + 1, state)
    assert cells(lane, now=29, samples=100, columns=10) == [
        State.FREE,
        State.WIPING,
        State.FREE,
        *[None] * 7,
    ]


def test_between_samples_only_that_was_served_which_both_show() -> None:
    bill = Bill()
    for hours, short in ((0, 0), (1, 2), (2, 2), (3, 1), (4, 0), (5, 0)):
        bill.note(at(hours), short)
    demand = bill.demand()
    assert [demand.at(at(hours + 0.5)) for hours in range(5)] == [0, 2, 1, 0, 0]
    assert bill.optimal_hours() == pytest.approx(48)


def test_nothing_had_to_be_paid_where_the_pool_served_everything() -> None:
    bill = Bill()
    assert bill.optimal_hours() == 0
    bill.note(at(0), 0)
    bill.note(at(1), 0)
    assert bill.optimal_hours() == 0


def test_a_host_is_paid_from_its_delivery_to_its_end_and_its_floor_at_least(mac: Mac) -> None:
    hours = 3600.0
    assert mac.deletable == 24 * hours
    assert paid_hours([mac], 5 * hours) == pytest.approx(24)
    assert paid_hours([mac], 30 * hours) == pytest.approx(30)
    mac.ended = 26 * hours
    assert paid_hours([mac, mac], 30 * hours) == pytest.approx(52)
    mac.deletable = None
    assert paid_hours([mac], 30 * hours) == 0


def test_a_host_under_our_name_without_a_record_is_a_leak_and_no_rest(
    engines: Engines, mac: Mac
) -> None:
    sampler, leaks = Sampler(engines, list[str]().append), list[list[Mac]]()

    async def scene() -> None:
        await sampler.watch()
        leaks.append(await sampler.leaks())
        assert await sampler.rests()
        mac.name = ours("claimed", "ios")
        leaks.append(await sampler.leaks())
        assert not await sampler.rests()

    engines.loop.run_until_complete(scene())
    assert leaks == [[], [mac]]


def test_a_record_that_is_deleted_by_force_strands_its_host(engines: Engines, mac: Mac) -> None:
    """Until the reclaim has taken it back: wiped, and into the pool."""
    lines = list[str]()
    sampler = Sampler(engines, lines.append)

    async def until_ready() -> None:
        while engines.loop.time() < 6 * 3600:
            await asyncio.sleep(120)
            await sampler.watch()
            if sampler.sizes[str(IOS)][0] == 1:
                return
        raise AssertionError(sampler.sizes)

    async def scene() -> None:
        await sampler.watch()
        engines.start()
        await engines.scale(IOS, 1)
        await until_ready()
        assert await sampler.leaks() == []
        (machine,) = await engines.store.machines(IOS)
        assert engines.store.remove_record(machine.id)
        assert not engines.store.remove_record(machine_id(77))
        await engines.scale(IOS, 0)
        assert await sampler.leaks() == [mac]
        while not sampler.reclaimed and engines.loop.time() < 12 * 3600:
            await asyncio.sleep(120)
            await sampler.watch()
        assert (mac.status, mac.name[:5], mac.installs) == (MacStatus.READY, POOL, 3)
        assert await sampler.leaks() == []
        assert await sampler.rests()

    engines.loop.run_until_complete(scene())
    assert sampler.stranded == sampler.reclaimed == {mac.id}
    assert sum("is stranded" in line for line in lines) == 1
    assert sampler.orphan_cost == pytest.approx(0.84, abs=0.05)


def test_an_engine_that_starts_is_the_only_one(engines: Engines) -> None:
    async def scene() -> None:
        engines.start()
        first = engines.engine
        await asyncio.sleep(120)
        engines.start()
        await asyncio.sleep(120)
        assert first is not None
        assert first.cancelled()
        assert first is not engines.engine

    engines.loop.run_until_complete(scene())


def test_nothing_rests_while_a_machine_is_recorded(engines: Engines) -> None:
    sampler = Sampler(engines, list[str]().append)

    async def scene() -> None:
        lease = await engines.store.take_lease("fleet/ios", "a test", None)
        assert lease is not None
        row = await engines.store.add_fleet(FleetRow(name=IOS, created=BEGINNING))
        machine = Machine(
            id=machine_id(1),
            fleet=IOS,
            serial=1,
            created=BEGINNING,
            since=BEGINNING,
            phase=Phase.PENDING,
            offer=Offer(TYPE, ZONE),
        )
        assert await sampler.rests()
        await engines.store.save_fleet(
            row, (machine,), (), Fence(lease=lease.name, epoch=lease.epoch)
        )
        assert not await sampler.rests()

    engines.loop.run_until_complete(scene())


def test_machines_are_counted_by_their_moves() -> None:
    def moved(machine: int, way: str) -> Event:
        return Event(
            kind="moved",
            at=BEGINNING,
            fleet=FleetName("ios"),
            cycle=CycleId("t"),
            machine=machine_id(machine),
            detail=f"{way}: because",
        )

    moves = count_moves(
        [
            moved(1, "starting>ready"),
            moved(1, "stopping>standby"),
            moved(1, "standby>ready"),
            moved(1, "stopping>deleted"),
            moved(2, "starting>ready"),
            moved(3, "pending>deleted"),
        ]
    )
    assert (moves.claimed, moves.deleted, moves.parked, moves.woken) == (2, 1, 1, 1)


TALLY = MacTally(
    claimed=3,
    released=3,
    wiped=4,
    stranded_found=1,
    reclaimed=1,
    leaks=0,
    paid_hours=50.0,
    optimal_paid_hours=48.0,
)


def test_the_tally_has_the_promised_keys() -> None:
    promised = "claimed released wiped stranded_found reclaimed paid_hours optimal_paid_hours leaks"
    beside = "ordered parked faults calls cost seconds"
    assert {*promised.split(), *beside.split()} <= TALLY.as_json().keys()
    assert TALLY.above == pytest.approx(2 / 48)


def test_the_last_words_are_good_only_where_all_rests_and_nothing_is_left() -> None:
    def printed(tally: MacTally, *, rests: bool) -> str:
        console = Console(file=io.StringIO(), width=100)
        console.print(conclusion(tally, rests=rests))
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    bad = MacTally(
        claimed=3,
        released=2,
        wiped=4,
        stranded_found=1,
        reclaimed=0,
        leaks=1,
        paid_hours=0.0,
        optimal_paid_hours=0.0,
    )
    assert "nothing is stranded" in printed(TALLY, rests=True)
    assert "+4.2%" in printed(TALLY, rests=True)
    assert "something is left" in printed(TALLY, rests=False)
    assert "1 hosts under our names" in printed(bad, rests=True)


def test_a_week_is_drawn_within_the_width_of_the_screen(engines: Engines) -> None:
    sampler = Sampler(engines, list[str]().append)
    engines.loop.run_until_complete(sampler.watch())
    for width in (80, 120, 300):
        lines = [line.plain for line in week(sampler, width)]
        assert max(map(len, lines)) <= width
        assert lines[0].split() == [w for n in range(1, 8) for w in ("day", str(n))]
        assert lines[1].startswith("pool 1   ·")


def test_times_of_the_week_are_told_by_day() -> None:
    assert [date(0), date(86399), date(90000)] == ["day 1 00:00", "day 1 23:59", "day 2 01:00"]


def test_the_week_is_in_order_and_leaves_time_to_rest() -> None:
    times = [event.at for event in EVENTS]
    assert times == sorted(times)
    assert times[-1] <= LENGTH - 6 * HOUR


class Hurrying:
    """A clock on which every reading takes a second, and sleeping is told."""

    def __init__(self) -> None:
        self.slept = list[float]()
        self._passed = 0.0

    def now(self) -> datetime:
        return BEGINNING

    def boot(self) -> float:
        self._passed += 1.0
        return self._passed

    async def sleep(self, time: timedelta) -> None:
        self.slept.append(time.total_seconds())
        self._passed += time.total_seconds()


def test_simulated_time_is_paced_evenly_and_never_waits_when_it_is_late() -> None:
    clock = Hurrying()
    pace = Pace(clock, 16.8)
    pace.begin()

    async def scene() -> None:
        for hours in (40, 80, 90, 100):
            await pace.wait(hours * 3600)

    asyncio.run(scene())
    assert clock.slept == pytest.approx([3.0, 3.0])


def test_what_happens_in_the_week_is_told_and_counted(engines: Engines) -> None:
    lines = list[str]()
    play, holders = Timeline(engines, lines.append), list[set[str]]()
    play.begin()

    async def scene() -> None:
        while engines.loop.time() < 30 * 3600:
            await play.go_on()
            await asyncio.sleep(120)
            engines.check()
            holders.append({lease.holder for lease in await engines.store.leases()})

    engines.loop.run_until_complete(scene())
    assert any(line.startswith("trouble: hostler is killed") for line in lines)
    assert play.faults == {"killed_after_claim": 1}
    assert engines.names == 2
    assert {"engine-1"} == set().union(*holders[10:725])
    assert all(holders[10:725])
    assert holders[-1] == {"engine-2"}
