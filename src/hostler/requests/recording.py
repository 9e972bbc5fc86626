"""Recording: a request that passed its checks is written for the engine, which takes it."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.config.units import format_duration
from hostler.domain.errors import RequestRefused
from hostler.domain.model.commands import REQUEST_REFUSED
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.ports.clock import Clock
from hostler.ports.store import Store

_POLL = timedelta(milliseconds=100)
_UNNUMBERED = 0
"""The number of a request that is not recorded yet: the store gives it one."""


class Author(Struct, frozen=True, kw_only=True):
    """Who asks, when, and why."""

    name: str
    at: datetime
    why: str = ""


class Accepted(Struct, frozen=True, kw_only=True):
    """A request that passed its checks, not yet recorded, and what its author should know."""

    request: Request
    warnings: tuple[str, ...] = ()


def new_request(kind: RequestKind, fleet: Fleet, author: Author) -> Request:
    """Return a request of this kind about a fleet."""
    return Request(
        number=_UNNUMBERED,
        kind=kind,
        fleet=fleet.name,
        at=author.at,
        actor=author.name,
        why=author.why,
    )


def protecting(
    kind: RequestKind, fleet: Fleet, author: Author, duration: timedelta | None
) -> Request:
    """Return a request that ends after a time, at most the longest that the fleet allows.

    Without a duration it is the longest. Raises RequestRefused where it is longer than that.
    """
    longest = fleet.timers.longest_protection
    if duration is not None and duration > longest:
        raise RequestRefused(
            f"at most {format_duration(longest)}: that is timers.longest_protection of fleet "
            f"{fleet.name}"
        )
    request = new_request(kind, fleet, author)
    return replace(request, until=author.at + (longest if duration is None else duration))


async def record(store: Store, accepted: Iterable[Accepted]) -> tuple[Request, ...]:
    """Record requests durably, in order, and return them with their numbers; or StoreError.

    With a StoreError none of them is on record.
    """
    return await store.request_all(tuple(entry.request for entry in accepted))


async def refusals(store: Store, after: int, numbers: Collection[int]) -> dict[int, str]:
    """Return which of the requests of these numbers an engine refused, and why.

    `after` is the number of the newest event before they were recorded.
    """
    found = dict[int, str]()
    while events := await store.events(after=after):
        after = events[-1].number
        for event in (stored.event for stored in events):
            number = event.request
            if event.kind == REQUEST_REFUSED and number is not None and number in numbers:
                found[number] = event.detail
    return found


async def wait_until_taken(
    store: Store, clock: Clock, numbers: Collection[int], patience: timedelta
) -> bool:
    """Wait for an engine to take the requests of these numbers; tell whether it took them all."""
    end = clock.boot() + patience.total_seconds()
    while clock.boot() < end:
        if all(request.number not in numbers for request in await store.requests()):
            return True
        await clock.sleep(_POLL)
    return False
