"""Online: what a provider may offer beside the provider port: a check of its settings by asking."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from hostler.domain.ids import FleetName
from hostler.domain.machine import Offer


class Finding(Protocol):
    """One thing that was checked."""

    @property
    def well(self) -> bool:
        """Whether it is in order."""
        ...

    @property
    def about(self) -> str:
        """What was checked: a zone, a type, an image."""
        ...

    @property
    def text(self) -> str:
        """What was found, in a sentence."""
        ...

    @property
    def lasting(self) -> bool:
        """Whether it is not in order, and no waiting heals that: somebody must change something."""
        ...


@runtime_checkable
class ChecksOnline(Protocol):
    """A provider that can tell whether credentials, zones, types and images are in order."""

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Finding, ...]:
        """Ask, changing nothing; never raises for what the outside does: that is a finding."""
        ...
