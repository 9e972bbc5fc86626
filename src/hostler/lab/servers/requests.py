"""Requests at Instances, as a judge reads them: what makes, ends and removes which thing."""

import re

from hostler.domain.ids import ResourceId
from hostler.lab.checks.listings import Counts
from hostler.lab.scaleway.checker import THING
from hostler.lab.scaleway.owner_tags import owned_in
from hostler.ports.http import HttpRequest
from hostler.testing.invariants import Found, Thing

MADE = re.compile(r"/(servers|ips|volumes)$")
_ENDS = (b'"terminate"', b'"poweroff"', b'"stop_in_place"')
_SLOTS = {"servers": "server", "ips": "address", "volumes": "volume"}


def is_destroying(request: HttpRequest) -> bool:
    """Tell whether a request ends, stops or deletes something."""
    return request.method == "DELETE" or any(word in request.body for word in _ENDS)


def is_given_back(thing: Thing, request: HttpRequest) -> bool:
    """Tell whether a request takes away whose an address of a pool is."""
    tagged = thing.owner_tag is not None and "@" in thing.id and b'"tags"' in request.body
    return tagged and owned_in(request.body, "address") is None


def is_counted(counts: Counts, process: str, request: HttpRequest) -> Found:
    """Check what is made, and what is removed that no record explains: its count is known (S3)."""
    line = f"{request.method} {request.path}"
    made = MADE.search(request.path) if request.method == "POST" else None
    owned = owned_in(request.body, _SLOTS[made[1]]) if made is not None else None
    if owned is not None and (found := counts.creates(owned.owner_tag.machine, line)):
        return found
    match = THING.search(request.path)
    if match is not None and match[2] is not None and is_destroying(request):
        return counts.reclaims(process, ResourceId(match[2]), line)
    return ()
