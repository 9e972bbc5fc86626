"""Findings: what a check of an account found, and how its reasons are worded."""

from typing import TypeVar

from hostler.domain.ids import Zone
from hostler.ports.online import Finding

from .errors import Failed, refusal_of
from .pages import Listing, Named
from .wire import Quotum

N = TypeVar("N", bound=Named)

_NO_ZONE = frozenset({400, 404})
"""How a list is answered in a zone that there is not."""


def cannot(zone: Zone, trouble: Exception | None, error: str) -> Finding:
    """Return why a zone cannot be listed, with the cure where there is one."""
    if isinstance(trouble, Failed) and refusal_of(trouble.problem) == "denied":
        text = f"the key or its permissions are refused: {trouble}"
        return Finding(False, zone, text, lasting=True)
    if isinstance(trouble, Failed) and trouble.problem.status in _NO_ZONE:
        text = f"is no zone with servers, or is misspelt: {trouble}"
        return Finding(False, zone, text, lasting=True)
    return Finding(False, zone, f"cannot be listed: {error}")


def why_unread(listing: Listing[N], permission: str) -> str:
    """Return why something could not be listed; `permission` is what allows it."""
    trouble = listing.trouble
    if isinstance(trouble, Failed) and refusal_of(trouble.problem) == "denied":
        return f"cannot be read: the API key lacks the permission {permission} ({trouble})"
    return f"cannot be read: {listing.error}"


def lowest_limit(quotum: Quotum, zones: list[Zone]) -> int | None:
    """Return the lowest limit that counts in these zones, or None where there is none."""
    limits = [
        one.limit
        for one in quotum.limits or ()
        if one.limit is not None and not one.unlimited and one.zone in {None, "", *zones}
    ]
    if not limits and quotum.limit is not None and not quotum.unlimited:
        limits = [quotum.limit]
    return min(limits, default=None)


def unread(about: str, trouble: Exception | str) -> Finding:
    """Return that something could not be read, which may heal by itself."""
    return Finding(False, about, f"cannot be read: {trouble}")


def quota(about: str, limits: tuple[int | None, ...], most: int, use: str) -> Finding:
    """Compare a limit with what may be needed at most; `use` says what that is.

    `limits` is the limit that holds, None where it is no limit, or nothing where none is listed.
    """
    for limit in limits:
        if limit is None:
            return Finding(True, about, "is unlimited")
        return Finding(limit >= most, about, f"is {limit}; {use}")
    return Finding(True, about, "no limit is listed")
