"""Engines forget what is older than they are to remember, gently, and only where they may."""

from datetime import datetime, timedelta

import pytest
import structlog
from msgspec.structs import replace
from structlog.testing import capture_logs

from hostler.controllers import retention
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import StoreBusy, StoreError, StoreLost
from hostler.domain.ids import CycleId, Epoch
from hostler.domain.model.commands import Event
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.store import Fence
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import FLEET, MIN, WEB

pytestmark = pytest.mark.looptime

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
READY = Phase.READY
SETTINGS = Settings(remember=DAY, quiet=10 * MIN, poll=MIN, lease_ttl=10 * MIN, lease_beat=MIN)
FENCE = Fence(lease="account/main", epoch=Epoch(99))


class Asked(MemoryStore):
    """Notes when it was asked to forget, and fails then if it is told to."""

    def __init__(self, rig: FakeScene) -> None:
        super().__init__(rig.installation, exclusive=rig.exclusive)
        self._clock = rig.clock
        self.asked = list[datetime]()
        self.went = list[int]()
        self.fails = list[StoreError]()

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        self.asked.append(self._clock.now())
        if self.fails:
            raise self.fails.pop()
        self.went.append(await super().forget(before, limit, fence))
        return self.went[-1]


def scene_of(size: int = 1, *, exclusive: bool = True) -> tuple[FakeScene, Asked]:
    rig = FakeScene(replace(FLEET, size=size), settings=SETTINGS, exclusive=exclusive)
    store = rig.store = Asked(rig)
    return rig, store


async def tell(rig: FakeScene, count: int) -> None:
    """Write events that are about to be old."""
    row = (await rig.store.fleets())[0]
    old = Event(kind="old", at=rig.clock.now(), fleet=WEB, cycle=CycleId("t"))
    await rig.store.save_fleet(row, (), (old,) * count, FENCE)


async def test_what_is_older_than_a_day_is_forgotten_and_the_living_are_not() -> None:
    rig, store = scene_of(2)
    async with rig.running():
        await rig.until([READY] * 2, 10 * MIN)
        await rig.request(RequestKind.SCALE, size=1)
        await rig.until([READY], 2 * HOUR)
        made = tuple(k.event.machine for k in await rig.events("made") if k.event.machine)
        (machine,) = await rig.machines()
        before = await store.events()
        (image,) = await store.images(WEB, rig.clock.now())
        await rig.pass_by(23 * HOUR)
        assert await store.events() == before
        assert len(await store.history(made)) == 1
        await rig.pass_by(4 * HOUR)
        assert [k.image for k in await store.events()] == [image]
        assert await store.images(WEB, rig.clock.now()) == (image,)
        assert await store.history(made) == ()
        assert await rig.machines() == (machine,)


async def test_fleet_rests_while_its_past_is_forgotten() -> None:
    rig, store = scene_of(2)
    async with rig.running():
        await rig.until([READY] * 2, 10 * MIN)
        await rig.pass_by(2 * HOUR)  # by then the row has no creations of the last hour
        calls, machines, row = rig.calls(), await rig.machines(), await store.fleets()
        await rig.pass_by(3 * DAY)
    assert sum(store.went) > 0
    assert (rig.calls(), await rig.machines(), await store.fleets()) == (calls, machines, row)


async def test_store_is_asked_once_an_hour_while_there_is_nothing_to_forget() -> None:
    rig, store = scene_of()
    begun = rig.clock.now()
    async with rig.running():
        await rig.pass_by(5 * HOUR + MIN)
    assert [at - begun for at in store.asked] == [HOUR * hour for hour in range(1, 6)]
    assert await store.forgotten() is None


async def test_much_is_forgotten_in_small_batches_with_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
    rig, store = scene_of(0)
    async with rig.running():
        await rig.pass_by(MIN)
        await tell(rig, 34)
        with capture_logs() as logs:
            await rig.pass_by(DAY + HOUR)
    assert [went for went in store.went if went] == [10, 10, 10, 4]
    last = store.asked[-4:]
    assert last[-1] - last[0] >= timedelta(seconds=3)
    counts = [entry["rows"] for entry in logs if entry["event"] == "forgotten"]
    assert counts == [34]


async def test_only_who_holds_the_lease_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "EVERY", 4 * MIN)
    rig, store = scene_of(exclusive=False)
    lease = await store.take_lease("account/main", "somebody", None)
    async with rig.running():
        for _ in range(4):
            assert lease is not None
            lease = await store.renew_lease(lease)
            await rig.pass_by(5 * MIN)
        assert store.asked == []
        await rig.pass_by(20 * MIN)
    assert store.asked


async def test_nothing_is_forgotten_in_an_hour_in_which_the_clock_jumped() -> None:
    """Somebody who sets it right within the hour loses nothing to a date years ahead."""
    rig, store = scene_of()
    async with rig.running():
        await rig.until([READY], 10 * MIN)
        await rig.pass_by(2 * HOUR + 30 * MIN)
        asked, events = len(store.asked), await store.events()
        rig.clock.jump(3650 * DAY)
        await rig.pass_by(HOUR)
        assert len(store.asked) == asked
        rig.clock.jump(-3650 * DAY)
        await rig.pass_by(3 * HOUR)
        assert len(store.asked) > asked
        assert await store.events() == events


async def test_busy_store_is_asked_again_an_hour_later() -> None:
    rig, store = scene_of(0)
    store.fails.append(StoreBusy("disk full"))
    async with rig.running():
        await rig.pass_by(2 * HOUR + MIN)
    assert len(store.asked) == 2
    assert store.went == [0]


async def test_lost_store_ends_the_engine() -> None:
    rig, store = scene_of(0)
    store.fails.append(StoreLost("deleted"))
    with pytest.RaisesGroup(StoreLost, flatten_subgroups=True):
        async with rig.running():
            await rig.pass_by(2 * HOUR)
