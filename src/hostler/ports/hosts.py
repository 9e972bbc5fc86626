"""Hosts: what a provider offers beside the provider port where hosts outlive machines."""

from datetime import datetime
from typing import Protocol, runtime_checkable

from hostler.domain.decision.view import HostTerms
from hostler.domain.ids import FleetName, HostId, Zone
from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.resource import Resource
from hostler.domain.policy.remediation import Diagnosis

from .preparer import Hides


@runtime_checkable
class KeepsHosts(HostTerms, Protocol):
    """The pure half of a provider whose hosts outlive machines; capabilities name their kind."""

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a host that no machine has. Pure."""
        ...

    def order(self, fleet: FleetName, orders: tuple[Order, ...]) -> Call:
        """Return the call that orders these hosts, all or none. Pure."""
        ...

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        """Ask how healthy a host is; `NO_ANSWER` where nobody says so in time. Changes nothing."""
        ...

    async def password(self, zone: Zone, host: HostId) -> Hides | None:
        """Return the password of the host's user, for `sudo`; None where it is sealed."""
        ...
