"""Online: what a provider may offer beside the provider port: a check of its settings by asking."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from hostler.domain.ids import FleetName
from hostler.domain.model.machine import Offer


class Finding(Struct, frozen=True, order=True):
    """One thing that was checked: whether it is in order, about what, and in a sentence what.

    `lasting` says that no waiting heals what is not in order: somebody must change something.
    """

    well: bool
    about: str
    text: str
    lasting: bool = False


@runtime_checkable
class ChecksOnline(Protocol):
    """A provider that can tell whether credentials, zones, types and images are in order."""

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Finding, ...]:
        """Ask, changing nothing; never raises for what the outside does: that is a finding."""
        ...


class Wanted(Struct, frozen=True, kw_only=True):
    """What a fleet may come to: its offers, and how many machines at most."""

    offers: tuple[Offer, ...]
    most: int


@runtime_checkable
class Examines(Protocol):
    """A provider that can tell whether quotas, networks, groups and keys are in order."""

    async def examine(
        self, fleets: Mapping[FleetName, Wanted], public: str, organization: str
    ) -> tuple[Finding, ...]:
        """Ask, changing nothing, as `check_online` does; `public` is the line of a public key.

        Without an `organization` (or a key) nothing is asked about its quotas (or about the key).
        """
        ...
