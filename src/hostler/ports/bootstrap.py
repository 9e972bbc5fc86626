"""Bootstrap data: what one machine reads at its first boot, by the place where it is kept.

Records, calls and events have the place alone. The data is read when it is given to the machine,
and again at each further try: it holds tokens that do not live long.
"""

from typing import Protocol

from hostler.domain.errors import HostlerError


class BootstrapUnavailable(HostlerError):
    """The bootstrap data cannot be read now; the text says why, and has nothing of the data."""

    retryable = True


class BootstrapRefused(HostlerError):
    """The bootstrap data is none that a machine could be given; the text has nothing of it."""


class ReadsBootstraps(Protocol):
    """Where bootstrap data is kept."""

    async def read(self, place: str) -> bytes:
        """Return the data at a place; BootstrapUnavailable, or BootstrapRefused where it is wrong.

        Nothing of it is kept, so that whoever asks again gets what is there by then.
        """
        ...


class NoBootstraps:
    """What an engine has that speaks to nothing in which bootstrap data is kept."""

    async def read(self, place: str) -> bytes:
        """Raise BootstrapUnavailable."""
        raise BootstrapUnavailable(f"{place} cannot be read: this engine speaks to no cluster")
