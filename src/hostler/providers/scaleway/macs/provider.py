"""Macs: Scaleway's Apple silicon as the engine's provider port: hosts that outlive machines."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName, HostId, InstallationId, Zone
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import AT_HOME, HOST, Host, HostGoal, host_of
from hostler.domain.model.machine import BootstrapFormat, Machine, Offer
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    REACHABLE,
    Condition,
    Observation,
    Resource,
    Scope,
    Stage,
)
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis
from hostler.ports.clock import Clock
from hostler.ports.keys import Registered
from hostler.ports.online import Finding
from hostler.ports.provider import Connection
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import TROUBLE
from hostler.providers.scaleway.common.owner_tags import writable
from hostler.providers.scaleway.common.ssh_keys import SshKeys

from .api.endpoints import MacApi
from .api.images import family_key
from .api.networks import Networks
from .execute import MacCalls
from .observe import MacObserver
from .online import Doctor, MacOnline
from .plan import host_calls, machine_calls
from .plan.read import SERVER, MacReader, password
from .settings import MacSite, MacTemplate

CONSISTENCY_DELAY = timedelta(seconds=60)
FLOOR = timedelta(hours=24)
_COSTS = {
    machine_calls.ORDER: 3,
    machine_calls.REINSTALL: 3,
    machine_calls.DETACH: 4,
    machine_calls.DELETE: 3,
    machine_calls.REBOOT: 2,
}
"""The most requests that a call takes; a rename reads the host first, and takes two."""
_QUOTA = 2
"""The requests by which an order is held against a quota: the quotas, and the hosts that stand."""
_AWAY = {
    Stage.OTHER: "its name is of no pool",
    Stage.UNNAMED: "nobody gave it a name yet",
    Stage.FOREIGN: "another installation has it",
}


class Macs:
    """One account's Macs in some zones. `installation` is written into every name."""

    def __init__(  # noqa: PLR0913 - all that an account is made of, by name
        self,
        client: Client,
        clock: Clock,
        *,
        installation: InstallationId,
        zones: tuple[Zone, ...],
        templates: Mapping[FleetName, MacTemplate],
        site: MacSite,
        consistency_delay: timedelta = CONSISTENCY_DELAY,
        adopted: tuple[InstallationId, ...] = (),
    ) -> None:
        """Raise ConfigError where a fleet's name could not be read back from a name."""
        for fleet in templates:
            if not writable(installation, fleet):
                raise ConfigError(f"fleet {fleet!r} cannot be written into an owner tag")
        self._client, self._installation = client, installation
        self._templates, self._site = dict(templates), site
        self._ours = frozenset({installation, *adopted})
        self._capabilities = Capabilities(
            main=SERVER,
            kinds=(SERVER.kind, HOST.kind),
            consistency_delay=consistency_delay,
            deadline=client.deadline,
            standby=True,
            zones=zones,
            bootstraps=frozenset({BootstrapFormat.SCRIPT}),
            hosts=HostCapabilities(
                kind=HOST.kind,
                ownership=Ownership.NAMES,
                cleaning=Cleaning.WIPE,
                paid_period=FLOOR,
            ),
        )
        self._api = MacApi(client)
        self._doctor = Doctor(self._api, clock)
        self._keys = SshKeys(Api(client))
        self._wanted = {fleet: one.networks for fleet, one in templates.items() if one.networks}
        self._networks = Networks(self._api)
        networks = self._networks if self._wanted else None
        self._observer = MacObserver(self._api, clock, self._reader, networks)
        self._calls = MacCalls(self._api, self._reader, installation, self.pool_of)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def _reader(self, zone: Zone) -> MacReader:
        site = self._site
        return MacReader(
            zone,
            self._installation,
            self._ours,
            site.pools,
            site.default,
            site.prices,
            self._networks.of(zone) if self._wanted else {},
            self._wanted,
        )

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        return await self._observer.observe(scopes)

    async def do(self, call: Call) -> Outcome:
        return await self._calls.do(call)

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        template = self._templates.get(machine.fleet)
        networks = template.networks if template is not None else ()
        consistency_delay = self._capabilities.consistency_delay
        return machine_calls.next_calls(
            goal, machine, resources, now, consistency_delay, networks=networks
        )

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        return host_calls.host_calls(goal, host, resource, now)

    def pool_of(self, fleet: FleetName) -> str:
        template = self._templates.get(fleet)
        return template.pool if template is not None else self._site.default

    def limits(self, fleet: FleetName) -> Limits | None:
        template = self._templates.get(fleet)
        return template.limits if template is not None else None

    def order(self, fleet: FleetName, orders: tuple[Order, ...]) -> Call:
        return host_calls.order(fleet, self.pool_of(fleet), orders)

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        return await self._doctor.diagnose(zone, host)

    async def password(self, zone: Zone, host: HostId) -> Secret | None:
        try:
            text = password(await self._api.mac(zone, host))
        except TROUBLE:
            return None
        return Secret(text) if text else None

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        pool, stage = self.pool_of(fleet), resource.host.stage
        if stage not in AT_HOME:
            return _AWAY.get(stage, f"it is {stage}")
        if not pool or resource.host.pool != pool:
            return f"it is not of the pool {pool or '(none)'}"
        if resource.zone != offer.zone or resource.type != offer.type:
            return f"it is a {resource.type} in {resource.zone}"
        if offer.image and resource.host.image != family_key(offer.image):
            return f"it runs {resource.host.image}"
        if resource.condition is not Condition.UP or not resource.host.delivered:
            return f"it is {resource.status}"
        return "it will be deleted" if resource.host.scheduled else ""

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Finding, ...]:
        """Ask whether key, zones, types, images, pools and quotas are in order; change nothing."""
        online = MacOnline(self._api, self._reader, self.fits)
        limits = {fleet: self.limits(fleet) for fleet in offers}
        most = {f: limit.most for f, limit in limits.items() if limit and limit.most is not None}
        return await online.check(offers, {fleet: self.pool_of(fleet) for fleet in offers}, most)

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        bound = machine.bound(SERVER)
        resource = next((resource for resource in resources if resource.id == bound), None)
        if resource is None or not resource.address:
            return None
        if resource.status != "ready" and resource.condition not in REACHABLE:
            return None
        return Connection(
            address=resource.address, user=resource.note("user") or "m1", arch="arm64"
        )

    def has_template(self, fleet: FleetName) -> bool:
        return fleet in self._templates

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return an id in our own scheme: Scaleway's cloud-controller-manager knows no Macs."""
        del resources
        bound = machine.bound(SERVER)
        if bound is None:
            return None
        return f"hostler://scaleway-macs/{machine.offer.zone}/{host_of(bound)}"

    def cost(self, call: Call | Scope) -> int:
        if isinstance(call, Call):
            counted = call.kind == machine_calls.ORDER and self._client.account.organization
            return _COSTS.get(call.kind, 2) + (_QUOTA if counted else 0)
        if call.kind == HOST.kind:  # comes along with the listing of allocations
            return 0
        listed = 1 if self._wanted else 0
        return listed + (1 if call.machine is None else max(1, len(call.known)))

    async def register_key(self, public: str, name: str) -> Registered:
        """See ports.keys.RegistersKeys; a host has the key from its next wipe on."""
        return await self._keys.register(public, name)

    async def release_key(self, public: str, name: str) -> Registered:
        """See ports.keys.RegistersKeys; a host keeps the key until its next wipe."""
        return await self._keys.release(public, name)

    async def close(self) -> None:
        await self._client.close()
