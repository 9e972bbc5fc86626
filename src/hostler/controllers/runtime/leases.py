"""Leases: who may write. Lease time is boot time; a taker waits a whole TTL of its own clock."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import Epoch
from hostler.ports.clock import Clock
from hostler.ports.store import Fence, Lease, Store

from .settings import Settings


class Tenure(Struct, frozen=True, kw_only=True):
    """A lease that we hold: until when in boot time, and since when by the wall clock.

    `took_over` says that who held it had not given it back: it may stand still, and go on.
    """

    lease: Lease
    until: float
    took: datetime
    took_over: bool = False

    @property
    def epoch(self) -> Epoch:
        """The epoch under which we write."""
        return self.lease.epoch

    @property
    def fence(self) -> Fence:
        """What every save of ours carries."""
        return Fence(lease=self.lease.name, epoch=self.lease.epoch)


class Leases:
    """Takes, renews and gives back leases for one process."""

    def __init__(self, store: Store, clock: Clock, holder: str, settings: Settings) -> None:
        self._store, self._clock, self._holder = store, clock, holder
        self._ttl = settings.lease_ttl.total_seconds()
        self._held = dict[str, Tenure]()
        self._watched = dict[str, tuple[Lease, float]]()

    def tenure(self, name: str) -> Tenure | None:
        """Return our tenure of this lease while it is valid, else None."""
        held = self._held.get(name)
        if held is None or self._clock.boot() >= held.until:
            return None
        return held

    def until(self, name: str) -> float:
        """Return until when, in boot time, we hold this lease; zero where we do not."""
        held = self._held.get(name)
        return held.until if held else 0.0

    def end(self, tenure: Tenure) -> float:
        """Return until when, in boot time, this very tenure lasts; zero where it is over.

        Who lost a lease and has it again has another one: somebody else may have acted meanwhile.
        """
        held = self._held.get(tenure.lease.name)
        return held.until if held is not None and held.epoch == tenure.epoch else 0.0

    async def keep(self, names: tuple[str, ...], watched: tuple[str, ...] = ()) -> None:
        """Renew what we hold of these, and take what is free or was left alone for a whole TTL.

        The first one comes first, and all others together: one by one, hundreds take longer than
        they last. Those `watched` are not taken yet, but their holders' beats are counted from now
        on.
        """
        standing = {lease.name: lease for lease in await self._store.leases()}
        for lease in standing.values():
            self._watch(lease)
        for some in (names[:1], names[1:]):
            await together([partial(self._keep, name, standing.get(name)) for name in some])
        for name in watched:
            self._is_free(name, standing.get(name), self._clock.boot())

    async def look_on(self) -> None:
        """Count the holders' beats, and take nothing: who may take one later waits no longer."""
        for lease in await self._store.leases():
            self._watch(lease)

    async def drop(self) -> None:
        """Give everything back."""
        held, self._held = tuple(self._held.values()), {}
        await together([partial(self._store.drop_lease, one.lease) for one in held])

    async def give_back(self, name: str) -> None:
        """Give one lease back, if it is ours."""
        held = self._held.pop(name, None)
        if held is not None:
            await self._store.drop_lease(held.lease)

    async def _keep(self, name: str, standing: Lease | None) -> None:
        if name in self._held:
            await self._renew(name)
        else:
            await self._try(name, standing)

    async def _renew(self, name: str) -> None:
        held, begun = self._held[name], self._clock.boot()
        renewed = await self._store.renew_lease(held.lease)
        if renewed is None:
            del self._held[name]
            return
        if begun >= held.until:
            # It ran out meanwhile: what we were about to do then must not be done now.
            del self._held[name]
            await self._store.drop_lease(renewed)
            return
        self._held[name] = replace(held, lease=renewed, until=begun + self._ttl)

    async def _try(self, name: str, standing: Lease | None) -> None:
        begun = self._clock.boot()
        if not self._is_free(name, standing, begun):
            return
        taken = await self._store.take_lease(name, self._holder, standing)
        if taken is not None:
            self._watched.pop(name, None)
            self._held[name] = Tenure(
                lease=taken,
                until=begun + self._ttl,
                took=self._clock.now(),
                took_over=self._may_be_held(standing),
            )

    def _may_be_held(self, standing: Lease | None) -> bool:
        """Tell whether a process may believe that it holds a lease."""
        return standing is not None and bool(standing.holder) and not self._store.exclusive

    def _is_free(self, name: str, standing: Lease | None, now: float) -> bool:
        if standing is None or not self._may_be_held(standing):
            return True
        watched = self._watched.get(name)
        return watched is not None and watched[0] == standing and now - watched[1] >= self._ttl

    def _watch(self, lease: Lease) -> None:
        """Note since when another's lease stands still, whether or not it is wanted yet."""
        watched = self._watched.get(lease.name)
        if watched is None or watched[0] != lease:
            self._watched[lease.name] = (lease, self._clock.boot())


async def together(works: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Do these side by side, so that they share the store's waits; then raise what one raised."""
    if len(works) == 1:
        await works[0]()
        return
    done = await asyncio.gather(*(work() for work in works), return_exceptions=True)
    for error in done:
        if error is not None:
            raise error
