"""The judge of rolls: nothing is deleted at the provider, and nobody waits for a floor.

released  no host is deleted that the roll only released: they came from the pool.
leaves    an object whose Machine is deleted is gone long before its host's billing floor is.
"""

from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.kubernetes.checker import begun_again
from hostler.lab.kubernetes.simulated_cluster import Raw
from hostler.lab.macs.checker import MacChecker
from hostler.ports.http import HttpRequest
from hostler.testing.invariants import Violation

_SERVERS = "/apple-silicon/"
_LEAVES = 5400.0
"""So long, in seconds, an object may take to leave, faults and all; a floor lasts a day."""


class RollChecker(MacChecker):
    """All checkers of one roll, beside those of Macs."""

    _ending: dict[str, float]

    def wrong(self, invariant: str, text: str) -> None:
        """Note that something does not hold."""
        self.found((Violation(invariant=invariant, text=text),))

    def asked(self, shadow: ShadowStore, request: HttpRequest, *, holds_lease: bool) -> None:
        """Note what is asked of the provider: never the end of a host."""
        if request.method == "DELETE" and _SERVERS in request.path:
            self.wrong("released", f"DELETE {request.path}: the roll only released it")
        super().asked(shadow, request, holds_lease=holds_lease)

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved."""
        begun_again(shadow, machine, events)
        super().machine_saved(shadow, machine, events)

    def objects(self, items: list[Raw]) -> None:
        """Check that objects which are to go do so soon."""
        ending = {
            str(one["metadata"]["name"]) for one in items if "deletionTimestamp" in one["metadata"]
        }
        known = getattr(self, "_ending", {})
        self._ending = {name: known.get(name, self.now) for name in ending}
        for name, since in self._ending.items():
            if self.now - since > _LEAVES:
                self.wrong("leaves", f"{name} was to go {self.now - since:.0f} s ago")
