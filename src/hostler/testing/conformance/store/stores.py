"""How the checks come by stores, and by fences that are out of date."""

from typing import Protocol

from hostler.ports.store import Fence, Store

from .records import taken


class Stores(Protocol):
    """How the checks come by stores; whoever runs them closes what was opened."""

    async def fresh(self) -> Store:
        """Open a new, empty store that no other check has used."""
        ...

    async def retry_at(self, store: Store) -> Store:
        """Open another handle on the same records, as a second process would have one."""
        ...


async def stale_fence(store: Store, name: str = "fleet/web") -> Fence:
    """Return a stale fence: of a lease whose next epoch somebody else has taken."""
    first = await taken(store, name, "first")
    await taken(store, name, "second", first)
    return Fence(lease=name, epoch=first.epoch)
