"""Leases: one holder, a whole TTL of the taker's own clock, boot time, epochs, paused holders."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.controllers.runtime.leases import Leases
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import Fenced, StoreBusy
from hostler.domain.model.fleet import FleetRow
from hostler.ports.store import Fence, Lease
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, HOME, WEB, S
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

NAME = "fleet/web"
SETTINGS = Settings()
TTL = SETTINGS.lease_ttl.total_seconds()


def clock(boot: float = 0.0, wall: float = 0.0) -> SimClock:
    return SimClock(asyncio.get_running_loop(), boot, wall)


def leases(store: MemoryStore, holder: str, of: SimClock | None = None) -> Leases:
    return Leases(store, of or clock(), holder, SETTINGS)


def shared() -> MemoryStore:
    return MemoryStore(HOME, exclusive=False)


async def test_free_lease_is_taken_at_once_with_an_epoch() -> None:
    own = leases(shared(), "a")
    await own.keep((NAME,))
    tenure = own.tenure(NAME)
    assert tenure is not None
    assert tenure.epoch == 1
    assert tenure.fence == Fence(lease=NAME, epoch=tenure.epoch)
    assert own.until(NAME) == TTL


async def test_of_two_takers_one_wins() -> None:
    store = shared()
    first, second = leases(store, "a"), leases(store, "b")
    for _ in range(40):
        await first.keep((NAME,))
        await second.keep((NAME,))
        assert first.tenure(NAME) is not None
        assert second.tenure(NAME) is None
        await asyncio.sleep(15)


async def test_taker_waits_a_whole_ttl_of_its_own_clock() -> None:
    store = shared()
    await leases(store, "a").keep((NAME,))
    await asyncio.sleep(1000)
    late = leases(store, "b", clock(boot=12345.0, wall=-1e6))
    begun = asyncio.get_running_loop().time()
    while late.tenure(NAME) is None:
        await late.keep((NAME,))
        await asyncio.sleep(1)
    waited = asyncio.get_running_loop().time() - begun
    assert TTL <= waited <= TTL + 2
    tenure = late.tenure(NAME)
    assert tenure is not None
    assert tenure.epoch == 2


async def test_beat_of_the_holder_begins_the_wait_anew() -> None:
    store = shared()
    first, second = leases(store, "a"), leases(store, "b")
    await first.keep((NAME,))
    for _ in range(100):
        await second.keep((NAME,))
        await asyncio.sleep(TTL - 1)
        await first.keep((NAME,))
        assert second.tenure(NAME) is None
        assert first.tenure(NAME) is not None


async def test_wall_clock_has_no_say() -> None:
    own_clock = clock()
    own = leases(shared(), "a", own_clock)
    await own.keep((NAME,))
    own_clock.jump(timedelta(days=1))
    assert own.tenure(NAME) is not None
    own_clock.jump(timedelta(days=-2))
    await asyncio.sleep(TTL)
    assert own.tenure(NAME) is None


async def test_lease_of_an_exclusive_store_passes_at_once_under_the_next_epoch() -> None:
    store = MemoryStore(HOME)
    await leases(store, "a").keep((NAME,))
    heir = leases(store, "b")
    await heir.keep((NAME,))
    tenure = heir.tenure(NAME)
    assert tenure is not None
    assert tenure.epoch == 2


async def test_lease_that_was_given_back_is_free_at_once() -> None:
    store = shared()
    first, second = leases(store, "a"), leases(store, "b")
    await first.keep((NAME, "fleet/api"))
    await first.drop()
    assert first.tenure(NAME) is None
    await second.keep((NAME, "fleet/api"))
    assert second.tenure(NAME) is not None
    assert second.tenure("fleet/api") is not None


async def test_paused_holder_has_no_right_left_and_starts_under_a_new_epoch() -> None:
    """What it was about to do when it was paused must not be done now."""
    store = shared()
    own = leases(store, "a")
    await own.keep((NAME,))
    before = own.tenure(NAME)
    assert before is not None
    await asyncio.sleep(TTL + 30)
    assert own.tenure(NAME) is None
    await own.keep((NAME,))
    assert own.tenure(NAME) is None
    await own.keep((NAME,))
    after = own.tenure(NAME)
    assert after is not None
    assert after.epoch == before.epoch + 1
    row = await store.add_fleet(FleetRow(name=WEB, created=BEGIN))
    with pytest.raises(Fenced):
        await store.save_fleet(row, (), (), before.fence)
    await store.save_fleet(row, (), (), after.fence)


async def test_paused_holder_whose_lease_was_taken_is_fenced_off() -> None:
    store = shared()
    first, second = leases(store, "a"), leases(store, "b")
    await first.keep((NAME,))
    old = first.tenure(NAME)
    assert old is not None
    for _ in range(6):
        await second.keep((NAME,))
        await asyncio.sleep(15)
    assert second.tenure(NAME) is not None
    await first.keep((NAME,))
    assert first.tenure(NAME) is None
    row = await store.add_fleet(FleetRow(name=WEB, created=BEGIN))
    with pytest.raises(Fenced):
        await store.save_fleet(replace(row, size=9), (), (), old.fence)


async def test_renewing_counts_from_its_beginning_not_from_its_end() -> None:
    class Slow(MemoryStore):
        async def renew_lease(self, lease: Lease) -> Lease | None:
            await asyncio.sleep(10)
            return await super().renew_lease(lease)

    own = leases(Slow(HOME, exclusive=False), "a")
    await own.keep((NAME,))
    await asyncio.sleep(15)
    await own.keep((NAME,))
    assert own.until(NAME) == pytest.approx(15 + TTL)
    assert timedelta(seconds=TTL) == 60 * S


@pytest.mark.parametrize(
    ("exclusive", "given_back", "took_over"),
    [(False, False, True), (False, True, False), (True, False, False)],
)
async def test_tenure_says_whether_another_process_may_believe_that_it_holds_the_lease(
    *, exclusive: bool, given_back: bool, took_over: bool
) -> None:
    """Of a store that one process at a time can open, nobody else can."""
    store = MemoryStore(HOME, exclusive=exclusive)
    first, second = leases(store, "a"), leases(store, "b")
    await first.keep((NAME,))
    assert (held := first.tenure(NAME)) is not None
    assert not held.took_over
    if given_back:
        await first.give_back(NAME)
    for _ in range(3):
        await second.keep((NAME,))
        held = second.tenure(NAME)
        assert held is None or held.took_over is took_over
        await asyncio.sleep(TTL / 2)
    await second.keep((NAME,))
    assert (held := second.tenure(NAME)) is not None
    assert held.took_over is took_over


async def test_watched_lease_is_not_taken_but_its_wait_has_begun() -> None:
    """Who waits for an account also waits for its fleets: one TTL in all, not two."""
    store = shared()
    await leases(store, "a").keep((NAME, "account/main"))
    late = leases(store, "b")
    await late.keep(("account/main",), watched=(NAME,))
    await asyncio.sleep(TTL)
    await late.keep(("account/main",), watched=(NAME,))
    assert late.tenure("account/main") is not None
    assert late.tenure(NAME) is None
    await late.keep((NAME,))
    assert late.tenure(NAME) is not None


class Far(MemoryStore):
    """A store of which each write takes a while, as a cluster's does; they share the wait."""

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        await asyncio.sleep(WRITE)
        return await super().take_lease(name, holder, seen)

    async def renew_lease(self, lease: Lease) -> Lease | None:
        await asyncio.sleep(WRITE)
        return await super().renew_lease(lease)

    async def drop_lease(self, lease: Lease) -> None:
        await asyncio.sleep(WRITE)
        await super().drop_lease(lease)


WRITE = 0.2
MANY = tuple(f"fleet/{number}" for number in range(400))


async def test_leases_of_hundreds_of_fleets_are_renewed_before_they_run_out() -> None:
    """One by one they took longer than a lease lasts: each ran out, was taken anew, and ran out."""
    store, loop = Far(HOME, exclusive=False), asyncio.get_running_loop()
    own = leases(store, "a")
    for _ in range(8):
        await own.keep(("account/main", *MANY))
        await asyncio.sleep(SETTINGS.lease_beat.total_seconds())
        assert all(own.tenure(name) is not None for name in ("account/main", *MANY))
    assert {lease.epoch for lease in await store.leases()} == {1}
    begun = loop.time()
    await own.drop()
    assert loop.time() - begun < 1, "a process that ends is given half a minute"
    assert not any(lease.holder for lease in await store.leases())


async def test_a_lease_that_cannot_be_renewed_keeps_no_other_from_it() -> None:
    class Fails(MemoryStore):
        async def renew_lease(self, lease: Lease) -> Lease | None:
            if lease.name == MANY[0]:
                raise StoreBusy("locked")
            return await super().renew_lease(lease)

    own = leases(Fails(HOME, exclusive=False), "a")
    await own.keep(MANY[:3])
    await asyncio.sleep(TTL / 2)
    with pytest.raises(StoreBusy):
        await own.keep(("account/main", *MANY[:3]))
    await asyncio.sleep(TTL / 2)
    held = [own.tenure(name) is not None for name in ("account/main", *MANY[:3])]
    assert held == [True, False, True, True]
