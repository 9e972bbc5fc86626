"""Given up: a host that somebody put into a pool ends only where a person asked for that (S11).

A host that was ordered may go once its window is over: orders.py judges that. Any other goes back
to its pool when its machine ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hostler.domain.ids import HostId
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.testing.invariants import Found, Violation

from .ground_truth import Change, GroundTruth

_RETIRING, _ORDERED = "retiring", "ordered"


@dataclass(slots=True)
class GivenUp:
    """Which hosts were ordered: `bought` bore the name of an order at some time."""

    truth: GroundTruth
    bought: set[HostId] = field(default_factory=set[HostId])

    def changed(self, change: Change, requests: Iterable[Request]) -> Found:
        """Judge a host that is named to end; `requests` are all that people asked for so far."""
        fact, by = self.truth.hosts.get(change.host), change.by
        stages = {owner[0] for one in (fact, change.before) if one and (owner := one.owner)}
        if _ORDERED in stages:
            self.bought.add(change.host)
        owner = fact.owner if fact is not None else None
        if by is None or owner is None or change.what != "renamed" or owner[0] != _RETIRING:
            return ()
        machines = {by.machine, str(owner[1].machine)}
        asked = (one for one in requests if one.kind is RequestKind.RETIRE)
        wanted = any(one.host == change.host or one.machine in machines for one in asked)
        if wanted or change.host in self.bought:
            return ()
        text = (
            f"host {change.host} of the pool is given up by {by.ours[0]}, and nobody asked for it"
        )
        return (Violation(invariant="S11", text=text, machine=owner[1].machine),)
