"""Routes and resources: what an endpoint is, and the endpoints that most resources share."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Generic, TypeVar
from urllib.parse import quote

from msgspec import Struct, field

from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.record import Record
from hostler.simulators.scaleway.state.stock import Shelf

from .pages import Key, Style, listing, matching, ordered, page_of

Handler = Callable[[Cloud, Call], Answer]


class Route(Struct, frozen=True):
    """One endpoint. In `path` a `*` stands for an argument; a public one needs no key."""

    key: str
    method: str
    path: str
    handler: Handler
    public: bool = False


R = TypeVar("R", bound=Record)


def no_orders() -> dict[str, Callable[[R], Key]]:
    """Return no orders beside the usual ones."""
    return {}


class Resource(Struct, Generic[R], frozen=True, kw_only=True):
    """One sort of resource: where it is stored, what errors call it, and how it is shown.

    `key` is what its body stands under in an answer; nothing where it is the whole answer. `keep`
    makes the filter of a list from its query. `orders` are those beside the usual ones.
    """

    stored: Callable[[Cloud], Shelf[R]]
    name: str
    body: Callable[[Cloud, R], object]
    style: Style
    key: str = ""
    keep: Callable[[Call], Callable[[R], bool]] = matching
    newest_first: bool = False
    orders: Mapping[str, Callable[[R], Key]] = field(default_factory=no_orders)

    def find(self, cloud: Cloud, call: Call) -> R:
        """Return what a path names."""
        return cloud.find(self.stored(cloud), call, call.names[0], self.name)

    def answer(
        self, cloud: Cloud, item: R, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        """Answer with the body of one."""
        body = self.body(cloud, item)
        return Answer(status, {self.key: body} if self.key else body, headers, subject=item)

    def made(self, cloud: Cloud, call: Call, item: R) -> Answer:
        """Answer with one that has just been made, and with where it is."""
        return self.answer(cloud, item, 201, location(call, item.id))

    def get(self, cloud: Cloud, call: Call) -> Answer:
        """Show one."""
        return self.answer(cloud, self.find(cloud, call))

    def list_all(self, cloud: Cloud, call: Call) -> Answer:
        """List them, one page at a time."""
        keep, shelf = self.keep(call), self.stored(cloud)
        items = listing(cloud, call, shelf, keep, newest_first=self.newest_first)
        return self.page(
            cloud, call, items if self.style.header else ordered(call, items, self.orders)
        )

    def page(self, cloud: Cloud, call: Call, items: list[R]) -> Answer:
        """Answer with the page of a list that was asked for."""
        return page_of(cloud, call, items, partial(self.body, cloud), self.style)

    def drop(self, cloud: Cloud, item: R) -> Answer:
        """Remove one, and answer that it is gone."""
        self.stored(cloud).drop(item, cloud.now)
        return Answer(204, subject=item)

    def delete(self, cloud: Cloud, call: Call) -> Answer:
        """Delete one that nothing stands against."""
        return self.drop(cloud, self.find(cloud, call))

    def routes(self, key: str, path: str, **own: Handler) -> tuple[Route, ...]:
        """Return its routes: `list`, `get` and `delete` as above, unless there are own ones."""
        shared = {"list": self.list_all, "get": self.get, "delete": self.delete}
        return routes(key, path, **{**shared, **own})


def location(call: Call, item_id: str) -> tuple[tuple[str, str], ...]:
    """Return the header that says where what was made is: the whole address, as recorded."""
    path = quote(call.request.path, errors="replace")
    return (("Location", f"https://api.scaleway.com{path}/{item_id}"),)


METHODS = {"list": "GET", "create": "POST", "get": "GET", "update": "PATCH", "delete": "DELETE"}


def routes(key: str, path: str, **handlers: Handler) -> tuple[Route, ...]:
    """Return the routes of a sort of resource; those of a single one take its id."""
    return tuple(
        Route(f"{key}.{name}", method, path + ("" if name in {"list", "create"} else "/*"), handler)
        for name, method in METHODS.items()
        if (handler := handlers.get(name)) is not None
    )
