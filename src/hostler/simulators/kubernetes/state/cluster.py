"""Cluster: everything that one server knows, and the clock and the dice that it lives by."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from msgspec import Struct

from hostler.simulators.kubernetes.kinds.registry import Registry

from .storage import Storage

DAY_ONE = datetime(2026, 1, 1, tzinfo=UTC)


class Options(Struct, frozen=True, kw_only=True):
    """How a server is.

    window: how many changes it remembers; a watch from before them has expired.
    namespaces: those that are there from the start.
    controllers: whether the controllers that come with a cluster run: owners' dependents are
        collected, namespaces emptied, disruption budgets counted. Without them it is an API server
        alone.
    bookmarks: seconds between two bookmarks of a watch.
    streaming_lists: whether `sendInitialEvents` is allowed.
    """

    window: int = 20_000
    namespaces: tuple[str, ...] = ("default", "kube-system", "kube-public", "kube-node-lease")
    controllers: bool = True
    bookmarks: float = 60.0
    streaming_lists: bool = True


@dataclass(slots=True, eq=False)
class Cluster:
    """Objects, kinds, time and chance of one server."""

    now: Callable[[], datetime]
    random: Random
    options: Options
    storage: Storage
    kinds: Registry = field(default_factory=Registry)

    def stamp(self) -> str:
        """Return the time as metadata has it: in whole seconds."""
        return f"{self.now().astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def uid(self) -> str:
        """Return a new uid."""
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join(
            (digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:])
        )

    def suffix(self) -> str:
        """Return the end of a generated name."""
        return "".join(self.random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
