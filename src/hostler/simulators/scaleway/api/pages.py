"""How lists are cut into pages, in both styles, and what faults make of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct

from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.errors import invalid
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.record import Record
from hostler.simulators.scaleway.state.stock import Shelf

R = TypeVar("R", bound=Record)
T = TypeVar("T")
Key = float | str | tuple[int, int]  # by which a list is put in order
LARGEST = 100
DIGITS = 9  # of the number of a page, at most
LAG = 60.0  # seconds after which no lagging list shows what is gone, or misses what is new


class Style(Struct, frozen=True):
    """How an API pages: the name of the size parameter, and where the total is said.

    limit: the default number of items; header: X-Total-Count and Link, no total in the body.
    page: the name of the parameter that says which page is asked for.
    """

    size: str
    header: bool
    limit: int = 50
    key: str = ""
    page: str = "page"

    def of(self, key: str) -> "Style":
        """Return the style of a list whose items stand under a key."""
        return Style(self.size, self.header, self.limit, key, self.page)


INSTANCE = Style("per_page", header=True)
INSTANCE_VOLUMES = Style("per_page", header=True, limit=100)
NEWER = Style("page_size", header=False)
TOKENS = Style("page_size", header=False, page="page_token")
"""Of the second version of the Instance API: a page names the next one, which is asked for so."""


class Order(Struct, frozen=True):
    """In which order a list is asked for."""

    field: str
    newest_first: bool


def order_of(call: Call, *fields: str) -> Order:
    """Return the order that a call asks for, the first field ascending if none; refuse others."""
    requested = call.choice("order_by") or f"{fields[0]}_asc"
    field, _, way = requested.rpartition("_")
    if field not in fields or way not in ("asc", "desc"):
        raise invalid(("order_by", "constraint", "not a valid value"))
    return Order(field, way == "desc")


def arranged(call: Call, items: list[T], keys: Mapping[str, Callable[[T], Key]]) -> list[T]:
    """Return a list in the order that is asked for, or as it is; refuse one that there is not."""
    if not call.choice("order_by"):
        return items
    order = order_of(call, *keys)
    items = sorted(items, key=keys[order.field])
    if order.newest_first:
        items.reverse()
    return items


def ordered(
    call: Call, items: list[R], more: Mapping[str, Callable[[R], Key]] | None = None
) -> list[R]:
    """Return a list of records in the order that is asked for, or as it is."""
    keys: dict[str, Callable[[R], Key]] = {
        "created_at": lambda item: item.created,
        "updated_at": lambda item: item.modified,
        "name": lambda item: item.name,
        **(more or {}),
    }
    return arranged(call, items, keys)


def listing(
    cloud: Cloud,
    call: Call,
    shelf: Shelf[R],
    keep: Callable[[R], bool],
    *,
    newest_first: bool = False,
) -> list[R]:
    """Return what a list of one zone shows of a shelf, in the order of creation.

    Here lists lag: what is too new is missing, and faults may hide the newest or
    show what was deleted.
    """
    now, own = cloud.now, call.organization
    items = [
        item
        for item in shelf.within(call.place)
        if item.listed_from <= now and item.organization == own and keep(item)
    ]
    if call.struck:
        items = lagging(cloud, call, shelf, keep, items)
    if newest_first:
        items.reverse()
    return items


def lagging(
    cloud: Cloud, call: Call, shelf: Shelf[R], keep: Callable[[R], bool], items: list[R]
) -> list[R]:
    """Apply the faults that concern which items a list has."""
    recent = cloud.now - LAG
    if items and items[-1].created > recent and call.takes("list_without_newest"):
        items = items[:-1]
    dead = [item for item in shelf.deleted_since(call.place, recent) if keep(item)]
    dead = [item for item in dead if item.organization == call.organization]
    if dead and call.takes("list_with_deleted"):
        items = items + dead
    if items and call.takes("empty_list"):
        items = []
    return items


def page_of(
    cloud: Cloud, call: Call, items: list[T], wire: Callable[[T], object], style: Style
) -> Answer:
    """Answer with the page of a list that was asked for."""
    start, size = window(call, style)
    total = len(items)
    if total > size and call.takes("pages_shuffled"):
        items = cloud.dice.sample(items, total)
    if 0 < start < total and call.takes("list_shifted"):
        items, total = items[1:], total - 1
    listed = items[start : start + size]
    if listed and call.takes("truncated_page"):
        listed = listed[: len(listed) // 2]
    return paged(call, {style.key: [wire(item) for item in listed]}, total, style)


def window(call: Call, style: Style) -> tuple[int, int]:
    """Return where the page begins and how many items it has at most."""
    size = number(call, style.size, style.limit)
    return (page_number(call, style) - 1) * size, min(size, LARGEST)


def page_number(call: Call, style: Style) -> int:
    """Return which page is asked for; a token is its number, which is nobody's business."""
    return number(call, style.page if call.text(style.page) else "page", 1)


def number(call: Call, name: str, default: int) -> int:
    """Return a positive number of the query; refuse what is none."""
    text = call.text(name)
    if not text:
        return default
    if not text.isdecimal() or len(text) > DIGITS or int(text) < 1:
        raise invalid((name, "constraint", "must be a positive number"))
    return int(text) if name in ("page", "page_token") else min(int(text), LARGEST)


def paged(call: Call, body: dict[str, object], total: int, style: Style) -> Answer:
    """Answer with a body, its total said in the way of its API."""
    if not style.header:
        return Answer(200, {**body, **following(call, total, style), "total_count": total})
    headers = (("X-Total-Count", str(total)), ("Link", link(call, total, style)))
    return Answer(200, body, headers)


def following(call: Call, total: int, style: Style) -> dict[str, object]:
    """Return the token of the next page, where a list has tokens and such a page."""
    page = page_number(call, style)
    more = style.page != "page" and page * number(call, style.size, style.limit) < total
    return {"next_page_token": str(page + 1)} if more else {}


def link(call: Call, total: int, style: Style) -> str:
    """Return the value of the Link header: paths relative to the zone, with the filters kept."""
    size = number(call, style.size, style.limit)
    page, last = page_number(call, style), -(-total // size)
    targets = {"next": page + 1} if page < last else {}
    if page > 1:
        targets = {"first": 1, "previous": page - 1, **targets}
    path = quote("/" + "/".join(call.request.path.split("/")[5:]), errors="replace")
    rest = sorted(pair for pair in call.request.query if pair[0] not in ("page", style.size))
    filters = urlencode(rest, errors="replace")
    return ",".join(
        f'<{path}?page={target}&{style.size}={size}&{filters}>; rel="{name}"'
        for name, target in {**targets, "last": last}.items()
    )


def dict_page(call: Call, key: str, entries: Iterable[tuple[str, object]]) -> Answer:
    """Answer with a page of a map, as the lists of types are."""
    everything = list(entries)
    start, size = window(call, INSTANCE)
    return paged(call, {key: dict(everything[start : start + size])}, len(everything), INSTANCE)


def matching(call: Call) -> Callable[[Record], bool]:
    """Return the filter of the Instance API: all tags, a part of the name, project, owner."""
    tags = [tag for tag in call.text("tags").split(",") if tag]
    name, project = call.text("name"), call.id("project")
    organization = call.id("organization")

    def keep(item: Record) -> bool:
        return (
            all(tag in item.tags for tag in tags)
            and (not name or name in item.name)
            and (not project or item.project == project)
            and (not organization or item.organization == organization)
        )

    return keep
