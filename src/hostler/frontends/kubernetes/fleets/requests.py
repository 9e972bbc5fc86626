"""Requests: what a Fleet's object asks of the engine besides its settings: a pause, an end."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.kubernetes.objects.models import Written
from hostler.requests import fleets
from hostler.requests.recording import Accepted, Author

RENEWED = timedelta(hours=1)
"""How long before its end a pause is asked for again: none lasts for ever, and this one is to."""


class Asked(Struct, frozen=True, kw_only=True):
    """What stands about a fleet: its row, and the requests that no engine took yet."""

    row: FleetRow | None
    requests: tuple[Request, ...]
    now: datetime


def author_of(one: Written, now: datetime, why: str) -> Author:
    """Return in whose name an object asks."""
    return Author(name=f"{one.metadata.namespace}/{one.metadata.name} (Fleet)", at=now, why=why)


def about_pause(one: Written, fleet: Fleet, asked: Asked) -> Accepted | None:
    """Return the request that brings a fleet's pause to what its object says; None where it is so.

    A pause that somebody else asked for is left alone.
    """
    author = author_of(one, asked.now, "spec.paused")
    pause = asked.row.pause if asked.row is not None else None
    stands = pause if pause is not None and pause.until > asked.now else None
    if one.wanted.get("paused") is True:
        if stands is not None and stands.until - asked.now > RENEWED:
            return None
        return _once(fleets.pause(author, fleet), RequestKind.PAUSE, asked.requests)
    if stands is None or stands.actor != author.name:
        return None
    return _once(fleets.resume(author, fleet, asked.row), RequestKind.RESUME, asked.requests)


def at_end(one: Written, fleet: Fleet, asked: Asked) -> tuple[Accepted | None, Accepted | None]:
    """Return what an object asks for that was deleted and is to end all: that, and no pause.

    Its own pause would keep its machines, and is not renewed; it is lifted where it says so.
    """
    still = one.wanted.get("paused") is True
    return about_end(one, fleet, asked), None if still else about_pause(one, fleet, asked)


def about_end(one: Written, fleet: Fleet, asked: Asked) -> Accepted | None:
    """Return the request that a fleet ends whose object was deleted, once it is not in force.

    One that is taking over the machines of another fleet has these first: it would be refused.
    """
    row = asked.row
    if row is None or row.ends or row.removed is None or row.adopts is not None:
        return None
    author = author_of(one, asked.now, "deleted, with deletionPolicy: end")
    accepted = fleets.delete(author, replace(fleet, removed=True))
    return _once(accepted, RequestKind.DELETE, asked.requests)


def _once(accepted: Accepted, kind: RequestKind, requests: Iterable[Request]) -> Accepted | None:
    """Return a request unless the same one waits already."""
    fleet, actor = accepted.request.fleet, accepted.request.actor
    waits = any((r.kind, r.fleet, r.actor) == (kind, fleet, actor) for r in requests)
    return None if waits else accepted
