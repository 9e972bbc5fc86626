"""Notices: a watch of the journal tells that it was written, so that nobody needs to ask for that.

A notice says "look", and nothing of what is there. A watch may be cut, late, or not allowed: then
the journal is asked for as it would be without one, and now and then in any case.
"""

from collections.abc import Callable
from datetime import timedelta
from random import SystemRandom

from hostler.kubernetes.cache import Change
from hostler.kubernetes.informer import Informer, Reader, Surroundings
from hostler.kubernetes.objects import Key
from hostler.kubernetes.requests import Selection
from hostler.ports.clock import Clock

from .kinds import JOURNAL_NAMES, PartName

ANYHOW = timedelta(seconds=5)
"""How long a watch that tells of nothing is believed."""


class Notices:
    """Follows one journal. `version` returns the version of it that our records are of."""

    def __init__(
        self, reader: Reader, journal: Key, clock: Clock, draw: Callable[[], float] | None = None
    ) -> None:
        self._clock, self._journal = clock, journal
        self._informer = Informer(
            reader,
            JOURNAL_NAMES,
            Surroundings(clock=clock, draw=draw or SystemRandom().random),
            Selection(namespace=journal.namespace, fields=f"metadata.name={journal.name}"),
        )
        self._read = -ANYHOW.total_seconds()
        self._heed: Callable[[Change[PartName]], None] = _nobody
        self._informer.on_change(self._changed)

    def read(self) -> None:
        """Hear that the journal was read just now."""
        self._read = self._clock.boot()

    def is_newest(self, version: str) -> bool:
        """Tell whether this version may be taken for the newest one without a question."""
        recent = self._clock.boot() - self._read < ANYHOW.total_seconds()
        known = self._informer.cache.get(self._journal)
        return recent and known is not None and known.metadata.resource_version == version

    async def follow(self, version: Callable[[], str], notice: Callable[[], None]) -> None:
        """Call `notice` for every version that is another one than ours, until it is cancelled.

        One at a time: whoever follows after another takes its place.
        """

        def heed(change: Change[PartName]) -> None:
            if change.new is None or change.new.metadata.resource_version != version():
                notice()

        self._heed = heed
        try:
            await self._informer.run()
        finally:
            self._heed = _nobody

    def _changed(self, change: Change[PartName]) -> None:
        self._heed(change)


def _nobody(change: Change[PartName]) -> None:
    """Heed nothing: nobody follows."""
    del change
