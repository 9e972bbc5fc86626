"""Effects: a call that is on record as done was answered well, or had its effect (L2).

Whatever is decided next is decided by that: a claim that is believed and was never made gives a
machine a host that it does not have.
"""

from dataclasses import dataclass, field

from hostler.domain.ids import HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.resource import Stage
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .ground_truth import Change, GroundTruth
from .names import read_name

_CLAIMS = frozenset({Stage.PENDING, Stage.CLAIMED, Stage.STANDBY, Stage.RESTED})
"""What names aim at by which a machine has a host; of what is given up its absence is as good."""

_EARLIER = 2.0
"""So many seconds before it is on record a call may have had its effect: clocks differ."""


@dataclass(slots=True)
class Effects:
    """Which names each host ever bore, and until when; and those that were answered well."""

    truth: GroundTruth
    named: dict[HostId, list[tuple[float, str]]] = field(
        default_factory=dict[HostId, list[tuple[float, str]]]
    )
    answered: set[tuple[HostId, str]] = field(default_factory=set[tuple[HostId, str]])

    def changed(self, change: Change, now: float) -> None:
        """Note the name that a host bore until now."""
        self.named.setdefault(change.host, []).append((now, change.before.name))

    def promised(self, host: HostId) -> None:
        """Note that what was asked of a host last was answered well; it may come later."""
        asked = self.truth.hosts[host].asked if host in self.truth.hosts else ()
        self.answered |= {(host, one.name) for one in asked[-1:]}

    def saved(self, before: Machine | None, after: Machine) -> Found:
        """Judge the calls of a machine that are on record as done from now on.

        What was answered as not there has nothing more to be done to it.
        """
        older = before.asked if before is not None and before.host == after.host else ()
        known = {(a.kind, a.attempt, a.at) for a in older if a.call_state is CallState.DONE}
        if any(one.removed is not None for place in after.places for one in place.known):
            return ()
        for asked in after.asked:
            fresh = (asked.kind, asked.attempt, asked.at) not in known
            done = asked.call_state is CallState.DONE and asked.closed is not None
            if (
                after.host is None
                or not (fresh and done)
                or self._was_done(after, after.host, asked)
            ):
                continue
            text = f"{after.id} has {asked.kind} as done to {after.host}, and it never was"
            return (Violation(invariant="L2", text=text, machine=after.id),)
        return ()

    def _was_done(self, machine: Machine, host: HostId, asked: Asked) -> bool:
        """Tell whether a call had its effect, or was answered well."""
        fact = self.truth.hosts.get(host)
        if asked.shows is not Shows.OWNER_TAG or asked.aim not in _CLAIMS or fact is None:
            return True
        since = (asked.at - BEGINNING).total_seconds() - _EARLIER
        names = [name for until, name in self.named.get(host, ()) if until >= since]
        answered = (name for at, name in self.answered if at == host)
        read = (read_name(name) for name in (*names, fact.name, *answered))
        return any(one and (one.machine, one.stage) == (machine.id, asked.aim) for one in read)
