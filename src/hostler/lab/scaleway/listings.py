"""Listings of the Scaleway API as a judge reads them: page by page, from the answers alone.

A listing is whole when its pages held as many ids as the newest of them says that there are. What
is asked for with a filter is no listing of all.
"""

import re
from dataclasses import dataclass, field

import msgspec

from hostler.domain.ids import ResourceId, Zone
from hostler.lab.checks.listings import Listed, Listings
from hostler.ports.http import HttpRequest, Response

_PATH = re.compile(r"^/([a-z-]+)/v\w+/zones/([\w-]+)/(servers|ips|volumes)$")
_ONE = re.compile(r"^/[a-z-]+/v\w+/zones/[\w-]+/(?:servers|ips|volumes)/([0-9a-f-]{36})$")
_UNFILTERED = frozenset({"project", "project_id", "order", "order_by"})
_TAGS = "tags"
_PAGING = frozenset({"page", "per_page", "page_size"})
INSTANCES: Listed = {
    "server": ("instance servers",),
    "address": ("instance ips",),
    "volume": ("instance volumes", "block volumes"),
}
"""What must be listed for somebody to know all servers, addresses and volumes of a zone."""
MACS: Listed = {"server": ("apple-silicon servers",), "host": ("apple-silicon servers",)}
"""What must be listed for somebody to know all Macs of a zone."""


@dataclass(slots=True)
class _Running:
    """A listing of which some pages came: when its first one was sent, and the ids so far."""

    begun: float
    ids: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class Pages:
    """Reads the answers to one run's processes, and notes what was listed whole to each."""

    listings: Listings
    _running: dict[tuple[str, str], _Running] = field(
        default_factory=dict[tuple[str, str], _Running]
    )

    def answered(
        self, process: str, request: HttpRequest, response: Response, span: tuple[float, float]
    ) -> None:
        """Take in an answer that a process got; `span` is when it asked, and when that came."""
        begun, now = span
        if request.method == "GET" and response.status == 200 and (one := _ONE.match(request.path)):
            self.listings.read[process, ResourceId(one[1])] = now
        match = _PATH.match(request.path)
        query = dict(request.query)
        if match is not None and response.status == 200 and _TAGS in query:
            ids, _ = _read(response)
            self.listings.read |= {(process, ResourceId(found)): now for found in ids}
        if request.method != "GET" or match is None or not query.keys() <= _UNFILTERED | _PAGING:
            return
        key, page = (process, request.path), query.get("page", "1")
        if response.status != 200:
            self._running.pop(key, None)
            return
        ids, total = _read(response)
        place = process, Zone(match[2]), f"{match[1]} {match[3]}"
        running = self._running.get(key)
        if running is not None:  # the first page may be read again, for what is missing at the end
            running.ids |= ids
            self._note(place, running, total, now)
        if page == "1":
            running = self._running[key] = _Running(begun, ids)
            self._note(place, running, total, now)

    def _note(
        self, place: tuple[str, Zone, str], running: _Running, total: int, now: float
    ) -> None:
        if len(running.ids) >= total:
            self.listings.got(*place, running.begun, now)


class _Item(msgspec.Struct, frozen=True):
    """One thing of a list."""

    id: str


class _Page(msgspec.Struct, frozen=True):
    """One page of a list; where its body says how many there are, it is in `total_count`."""

    servers: tuple[_Item, ...] = ()
    ips: tuple[_Item, ...] = ()
    volumes: tuple[_Item, ...] = ()
    total_count: int | None = None


def _read(response: Response) -> tuple[set[str], int]:
    """Return the ids of a page, and how many there are in all; of garbage one is always missing."""
    try:
        page = msgspec.json.decode(response.body, type=_Page)
    except msgspec.DecodeError:
        return set(), 1
    ids = {item.id for item in (*page.servers, *page.ips, *page.volumes)}
    total = response.header("X-Total-Count")
    return ids, int(total) if total is not None else page.total_count or len(ids)
