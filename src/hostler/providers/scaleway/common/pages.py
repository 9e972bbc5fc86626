"""Pages: a whole listing, page by page; what was seen is kept when a page fails."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from hostler.ports.http import Response

from .client import Client, Query
from .errors import TROUBLE, Trouble
from .wire import Items, Shape, Unreadable

PER_PAGE = 100
MOST_PAGES = 1000


class Named(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """The provider's id."""
        ...


N = TypeVar("N", bound=Named)


@dataclass(slots=True)
class Listing(Generic[N]):
    """What a listing showed, by id, and why it is not whole (empty: it is).

    `trouble` is what asking for a page raised, if it did.
    """

    found: dict[str, N] = field(default_factory=dict[str, N])
    error: str = ""
    trouble: Trouble | None = None

    def take(self, items: Iterable[N]) -> int:
        """Add these; return how many were new. The newest word on an id stands."""
        before = len(self.found)
        self.found.update((item.id, item) for item in items)
        return len(self.found) - before

    def also(self, error: str) -> None:
        """Note one more reason why the listing is not whole."""
        self.error = "; ".join(resource for resource in (self.error, error) if resource)


class Paged(Struct, Generic[N], frozen=True):
    """How one listing is asked for: its path, its shape, and its word for the size of a page."""

    path: str
    shape: Shape[N]
    size_word: str
    query: Query = ()


async def list_all(client: Client, paged: Paged[N]) -> Listing[N]:
    """Return a listing to its end. Never raises for what the outside does.

    Ends at the total that the newest page tells (in `X-Total-Count` or in its body), or where no
    page tells one, at a page that is not full. Pages may shift while they are read: an id that was
    seen twice counts once. What was made meanwhile stands on the first page (the newest come
    first), which is read again where ids are missing at the end: otherwise a growing account would
    never be listed whole. Fewer ids than the total make the listing not whole.
    """
    listing = Listing[N]()
    for page in range(1, MOST_PAGES + 1):
        items = await _page(client, paged, page, listing)
        if items is None:
            return listing
        new = listing.take(items.items)
        if items.unreadable:
            listing.also(f"{items.unreadable} entries of page {page} cannot be read")
        if _ended(items, new, len(listing.found)):
            return listing
        if not new:
            await _first_again(client, paged, listing)
            return listing
    listing.also(f"more than {MOST_PAGES} pages")
    return listing


async def _first_again(client: Client, paged: Paged[N], listing: Listing[N]) -> None:
    items = await _page(client, paged, 1, listing)
    if items is None:
        return
    new = listing.take(items.items)
    if not _ended(items, new, len(listing.found)):
        listing.also(f"{len(listing.found)} of {items.total} entries were listed")


def _ended(items: Items[N], new: int, seen: int) -> bool:
    if items.total is not None:
        return seen + items.unreadable >= items.total
    return not new or items.length < PER_PAGE


async def _page(client: Client, paged: Paged[N], page: int, listing: Listing[N]) -> Items[N] | None:
    query = (*paged.query, ("page", str(page)), (paged.size_word, str(PER_PAGE)))
    try:
        response = await client.get(paged.path, query)
        items = paged.shape.page(response.body)
    except TROUBLE as trouble:
        listing.trouble = trouble
        listing.also(f"page {page}: {trouble}")
        return None
    except Unreadable as error:
        listing.also(f"page {page}: {error}")
        return None
    return Items(items.items, items.unreadable, _total(response, items.total))


def _total(response: Response, body: int | None) -> int | None:
    header = response.header("X-Total-Count")
    if header is not None and header.isascii() and header.isdigit() and len(header) < 10:
        return int(header)
    return body
