"""Things without an owner tag: those that only people can account for, and all others.

Whoever makes something and writes no tag on it is to blame for it. Only where somebody took the
tags away before any record had the id, no program can know whose it is. A program takes them off
nothing that stays on its own bill.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from hostler.domain.ids import ResourceId
from hostler.lab.scaleway.owner_tags import owned_in
from hostler.ports.http import HttpRequest
from hostler.testing.invariants import Found, Thing, Violation


@dataclass(slots=True)
class Untagged:
    """What was there before any process (`strangers`), and what ever carried a tag."""

    strangers: frozenset[ResourceId] = frozenset()
    tagged: set[ResourceId] = field(default_factory=set[ResourceId])

    def note(self, things: Iterable[Thing]) -> None:
        """Look at all things while their tags are there."""
        self.tagged.update(thing.id for thing in things if thing.owner_tag is not None)

    def is_taken(self, thing: Thing, recorded: Container[ResourceId]) -> bool:
        """Tell whether somebody took the tags of a thing away that no record ever had.

        `recorded` are the ids that a record has or had.
        """
        bare = thing.owner_tag is None and thing.id not in self.strangers
        return bare and thing.id in self.tagged and thing.id not in recorded


def strips(thing: Thing, request: HttpRequest) -> Found:
    """Return that a request takes the owner tag off something; what is given back is none of it."""
    tagged = thing.owner_tag is not None and request.method == "PATCH"
    if not tagged or b'"tags"' not in request.body or owned_in(request.body, thing.kind):
        return ()
    text = f"{request.path} takes the owner tag off a {thing.kind} that stays on the bill"
    return (Violation(invariant="S1", text=text),)
