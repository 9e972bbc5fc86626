"""Tally: what came of the demo, from the cloud and the cluster themselves. Pure."""

from msgspec import Struct

from .manifests import LEAST, REPLICAS


class KubernetesTally(Struct, frozen=True, kw_only=True):
    """What happened.

    `rolled` Machines were replaced, in so many real seconds; `deleted_hosts` are Macs that the
    cloud does not have any more, or is to end; `strays_found` are orphans in the report whose
    object was removed by force, `reclaimed` those whose host is another's or the pool's again.
    `evicted` Pods left the Node that was drained, and `least_ready` the fewest that were ready
    meanwhile. `leaks` are hosts under our names,
    orphans and objects that were left at the end. `failed` says what did not happen in time.
    """

    control_plane: str
    machines: int = 0
    rolled: int = 0
    roll_seconds: float = 0.0
    deleted_hosts: int = 0
    strays_found: int = 0
    reclaimed: int = 0
    evicted: int = 0
    least_ready: int = 0
    leaks: int = 0
    hosts: int = 0
    wipes: int = 0
    calls: int = 0
    seconds: float = 0.0
    failed: str = ""

    @property
    def good(self) -> bool:
        """Whether all of it happened as it should."""
        return (
            not self.failed
            and self.rolled == REPLICAS
            and not self.deleted_hosts
            and self.strays_found == self.reclaimed == 1
            and self.evicted >= 1
            and self.least_ready >= LEAST
            and not self.leaks
        )

    def as_json(self) -> dict[str, object]:
        """Return it as one object."""
        return {
            "control_plane": self.control_plane,
            "machines": self.machines,
            "rolled": self.rolled,
            "roll_seconds": round(self.roll_seconds, 1),
            "deleted_hosts": self.deleted_hosts,
            "strays_found": self.strays_found,
            "reclaimed": self.reclaimed,
            "evicted": self.evicted,
            "least_ready": self.least_ready,
            "leaks": self.leaks,
            "hosts": self.hosts,
            "wipes": self.wipes,
            "calls": self.calls,
            "seconds": round(self.seconds, 1),
            "failed": self.failed,
        }
