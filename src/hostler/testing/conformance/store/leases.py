"""Checks of leases: compare and swap on what was seen, and epochs that only grow."""

import asyncio

from msgspec.structs import replace

from hostler.domain.errors import Fenced
from hostler.ports.store import Fence, Lease

from .records import OPEN, Stores, orphan, refused, taken


async def the_first_holder_gets_epoch_1(stores: Stores) -> None:
    """A lease that nobody had stands nowhere before."""
    store = await stores.fresh()
    assert await store.leases() == ()
    lease = await taken(store, "fleet/web", "a")
    assert (lease.name, lease.holder, lease.epoch) == ("fleet/web", "a", 1)
    assert await (await stores.reopened(store)).leases() == (lease,)


async def leases_come_by_name(stores: Stores) -> None:
    """Each name with a count of epochs of its own."""
    store = await stores.fresh()
    web = await taken(store, "fleet/web", "a")
    await taken(store, "fleet/web", "b", web)
    await taken(store, "account/main", "a")
    found = [(lease.name, lease.epoch) for lease in await store.leases()]
    assert found == [("account/main", 1), ("fleet/web", 2)]


async def a_lease_is_taken_only_as_it_was_seen(stores: Stores) -> None:
    """None when anything about it changed meanwhile: holder, epoch or beat, or that it exists."""
    store = await stores.fresh()
    lease = await taken(store, "fleet/web", "a")
    wrong = (
        None,
        replace(lease, holder="x"),
        replace(lease, epoch=lease.epoch + 1),
        replace(lease, beat=lease.beat + 1),
    )
    for seen in wrong:
        assert await store.take_lease("fleet/web", "b", seen) is None
    assert await store.take_lease("fleet/ci", "b", replace(lease, name="fleet/ci")) is None
    assert await store.leases() == (lease,)


async def a_taker_gets_the_next_epoch(stores: Stores) -> None:
    """Also who takes what it held itself: every start of a process has an epoch of its own."""
    store = await stores.fresh()
    first = await taken(store, "fleet/web", "a")
    second = await taken(await stores.reopened(store), "fleet/web", "b", first)
    assert (second.holder, second.epoch) == ("b", first.epoch + 1)
    third = await taken(store, "fleet/web", "b", second)
    assert third.epoch == second.epoch + 1
    assert await store.leases() == (third,)


async def one_of_many_racing_takers_wins(stores: Stores) -> None:
    """For a new lease and for an old one."""
    store = await stores.fresh()
    handles = [store, await stores.reopened(store), await stores.reopened(store)]
    seen: Lease | None = None
    for _ in range(3):
        results = await asyncio.gather(
            *(handles[n % 3].take_lease("fleet/web", f"holder-{n}", seen) for n in range(9))
        )
        winners = [lease for lease in results if lease is not None]
        assert len(winners) == 1
        assert await store.leases() == (winners[0],)
        seen = winners[0]


async def a_renewal_is_seen_by_its_beat(stores: Stores) -> None:
    """Each renewal is the next beat; who saw the older one cannot take it any more."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    lease = await taken(store, "fleet/web", "a")
    renewed = await store.renew_lease(lease)
    assert renewed is not None
    assert renewed == replace(lease, beat=lease.beat + 1)
    assert await reopened.leases() == (renewed,)
    assert await reopened.take_lease("fleet/web", "b", lease) is None
    assert await store.renew_lease(renewed) == replace(lease, beat=lease.beat + 2)


async def a_renewal_whose_answer_was_lost_can_be_repeated(stores: Stores) -> None:
    """Holder and epoch say whose it is; the beat only says that it lives."""
    store = await stores.fresh()
    lease = await taken(store, "fleet/web", "a")
    await store.renew_lease(lease)
    assert await store.renew_lease(lease) == replace(lease, beat=lease.beat + 2)


async def anothers_lease_is_neither_renewed_nor_dropped(stores: Stores) -> None:
    """Nor an older epoch's of one's own, nor one that was given back, nor one that never was."""
    store = await stores.fresh()
    first = await taken(store, "fleet/web", "a")
    second = await taken(store, "fleet/web", "a", first)
    for stale in (first, replace(second, holder="b"), replace(second, name="fleet/ci")):
        assert await store.renew_lease(stale) is None
        await store.drop_lease(stale)
    assert await store.leases() == (second,)
    await store.drop_lease(second)
    assert await store.renew_lease(second) is None


async def a_lease_given_back_has_no_holder(stores: Stores) -> None:
    """It stands with an empty holder, so that epochs go on; who saw it so may take it at once."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    lease = await taken(store, "fleet/web", "a")
    renewed = await store.renew_lease(lease)
    assert renewed is not None
    await store.drop_lease(lease)
    (free,) = await reopened.leases()
    assert free == replace(renewed, holder="")
    assert await reopened.take_lease("fleet/web", "b", renewed) is None
    assert await reopened.take_lease("fleet/web", "b", None) is None
    assert (await taken(reopened, "fleet/web", "b", free)).epoch == lease.epoch + 1


async def giving_back_fences_nobody(stores: Stores) -> None:
    """No newer epoch is there yet; the next taker's shuts the older one out."""
    store = await stores.fresh()
    lease = await taken(store, "account/main", "a")
    ours = Fence(lease=lease.name, epoch=lease.epoch)
    await store.drop_lease(lease)
    await store.save_orphans((orphan("p-1"),), (), ours)
    (free,) = await store.leases()
    await taken(store, "account/main", "b", free)
    await refused(Fenced, store.save_orphans((orphan("p-2"),), (), ours))
    await store.save_orphans((orphan("p-3"),), (), OPEN)
