"""Routes and resources: what an endpoint is, and the endpoints that most resources share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.records import Record
from hostler.simulators.scaleway.state.stock import Shelf

from .pages import Style, listing, matching, page_of

Handler = Callable[[Estate, Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint. In `path` a `*` stands for an argument; a public one needs no key."""

    key: str
    method: str
    path: str
    handler: Handler
    public: bool = False


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[R]):
    """One sort of resource: where it is stored, what errors call it, and how it is shown.

    `key` is what its body stands under in an answer; nothing where it is the whole answer. `keep`
    makes the filter of a list from its query.
    """

    stored: Callable[[Estate], Shelf[R]]
    name: str
    body: Callable[[Estate, R], object]
    style: Style
    key: str = ""
    keep: Callable[[Call], Callable[[R], bool]] = matching
    newest_first: bool = False

    def find(self, estate: Estate, call: Call) -> R:
        """Return what a path names."""
        return estate.find(self.stored(estate), call, call.names[0], self.name)

    def answer(
        self, estate: Estate, item: R, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        """Answer with the body of one."""
        body = self.body(estate, item)
        return Answer(status, {self.key: body} if self.key else body, headers, subject=item)

    def get(self, estate: Estate, call: Call) -> Answer:
        """Show one."""
        return self.answer(estate, self.find(estate, call))

    def list_all(self, estate: Estate, call: Call) -> Answer:
        """List them, one page at a time."""
        keep, shelf = self.keep(call), self.stored(estate)
        return self.page(
            estate, call, listing(estate, call, shelf, keep, newest_first=self.newest_first)
        )

    def page(self, estate: Estate, call: Call, items: list[R]) -> Answer:
        """Answer with the page of a list that was asked for."""
        return page_of(estate, call, items, partial(self.body, estate), self.style)

    def drop(self, estate: Estate, item: R) -> Answer:
        """Remove one, and answer that it is gone."""
        self.stored(estate).drop(item, estate.now)
        return Answer(204, subject=item)

    def delete(self, estate: Estate, call: Call) -> Answer:
        """Delete one that nothing stands against."""
        return self.drop(estate, self.find(estate, call))

    def routes(self, key: str, path: str, **own: Handler) -> tuple[Route, ...]:
        """Return its routes: `list`, `get` and `delete` as above, unless there are own ones."""
        shared = {"list": self.list_all, "get": self.get, "delete": self.delete}
        return routes(key, path, **{**shared, **own})


METHODS = {"list": "GET", "create": "POST", "get": "GET", "update": "PATCH", "delete": "DELETE"}


def routes(key: str, path: str, **handlers: Handler) -> tuple[Route, ...]:
    """Return the routes of a sort of resource; those of a single one take its id."""
    return tuple(
        Route(f"{key}.{name}", method, path + ("" if name in {"list", "create"} else "/*"), handler)
        for name, method in METHODS.items()
        if (handler := handlers.get(name)) is not None
    )
