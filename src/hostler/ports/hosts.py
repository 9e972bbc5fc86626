"""Hosts: what a provider offers beside the provider port where hosts outlive machines.

Each protocol is one ability; a provider has those that are true of its hosts.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol, runtime_checkable

from hostler.domain.ids import FleetName, HostId, Zone
from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis

from .preparer import Hides


@runtime_checkable
class KeepsHosts(Protocol):
    """The pure half of a provider whose hosts outlive machines; its capabilities say how."""

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a host that no machine has. Pure."""
        ...

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        """Return why a host may not be claimed for this offer of a fleet; empty where it may."""
        ...


@runtime_checkable
class PoolsHosts(Protocol):
    """Free hosts bear names of a pool: ownership by names needs it."""

    def pool_of(self, fleet: FleetName) -> str:
        """Return how the names in a fleet's pool begin; empty where it has none. Pure."""
        ...


@runtime_checkable
class BuysHosts(Protocol):
    """Hosts can be ordered and are paid for by periods: a paid period needs it."""

    def limits(self, fleet: FleetName) -> Limits | None:
        """Return the limits of ordering hosts for a fleet; None where none may be ordered. Pure."""
        ...

    def order(self, fleet: FleetName, orders: tuple[Order, ...]) -> Call:
        """Return the call that orders these hosts, all or none. Pure."""
        ...


@runtime_checkable
class DiagnosesHosts(Protocol):
    """Somebody beside the host itself can say how healthy it is."""

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        """Ask how healthy a host is; `NO_ANSWER` where nobody says so in time. Changes nothing."""
        ...


@runtime_checkable
class ExpectsHostKeys(Protocol):
    """Observing a host is a login at it: it is asked nothing unless it shows its own key."""

    def expect_host_keys(self, keys: Mapping[HostId, str]) -> None:
        """Say which keys are on record, before each observation; who has none may show any."""
        ...


@runtime_checkable
class KnowsPasswords(Protocol):
    """The provider knows a password of the host's user, for `sudo`."""

    async def password(self, zone: Zone, host: HostId) -> Hides | None:
        """Return the password of the host's user; None where it is sealed."""
        ...
