"""Instances: Scaleway servers with their addresses and volumes, as the engine's provider port."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName, InstallationId, Zone
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.machine import BootstrapFormat, Machine, Offer, Origin
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import REACHABLE, Observation, Resource, Scope, Slot
from hostler.ports.bootstrap import NoBootstraps, ReadsBootstraps
from hostler.ports.clock import Clock
from hostler.ports.keys import Registered
from hostler.ports.online import Finding, Wanted
from hostler.ports.provider import Connection
from hostler.providers.scaleway.common.catalogue import Catalogue
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.owner_tags import writable
from hostler.providers.scaleway.common.settings import Prices, Template
from hostler.providers.scaleway.common.ssh_keys import SshKeys

from .address_pool import Pool
from .examine import Examiner
from .execute import InstanceCalls
from .observe.listing import Observer
from .online import Online
from .plan.calls import (
    ATTACH_NETWORK,
    MAKE_SERVER,
    RELEASE_ADDRESS,
    SERVER,
    TAG_ADDRESS,
    TAG_SERVER,
    TAKE_ADDRESS,
)
from .plan.create import build
from .plan.delete import clear, stand_by
from .plan.site import Site
from .user_data import UserData

CONSISTENCY_DELAY = timedelta(seconds=60)
_COSTS = {
    MAKE_SERVER: 2,
    ATTACH_NETWORK: 2,
    TAKE_ADDRESS: 3,
    RELEASE_ADDRESS: 2,
    TAG_ADDRESS: 2,
    TAG_SERVER: 2,
}
"""The most requests that a call takes; the others take one."""


class Instances:
    """One account's servers in some zones. `installation` is written into every owner tag."""

    def __init__(  # noqa: PLR0913 - all that an account is made of, by name
        self,
        client: Client,
        clock: Clock,
        *,
        installation: InstallationId,
        zones: tuple[Zone, ...],
        templates: Mapping[FleetName, Template],
        consistency_delay: timedelta = CONSISTENCY_DELAY,
        prices: Prices | None = None,
        bootstraps: ReadsBootstraps | None = None,
    ) -> None:
        """Raise ConfigError where a fleet's name could not be read back from an owner tag."""
        for fleet in templates:
            if not writable(installation, fleet):
                raise ConfigError(f"fleet {fleet!r} cannot be written into an owner tag")
        self._client, self._installation = client, installation
        self._templates = dict(templates)
        self._capabilities = Capabilities(
            main=SERVER,
            kinds=("server", "address", "volume"),
            consistency_delay=consistency_delay,
            deadline=client.deadline,
            standby=True,
            bootstraps=frozenset(BootstrapFormat),
            zones=zones,
        )
        api = Api(client)
        catalogue = Catalogue(api, clock, prices or Prices())
        pools = {fleet: template.pool for fleet, template in templates.items() if template.pool}
        self._online, self._examiner = Online(api, catalogue), Examiner(api)
        self._keys = SshKeys(api)
        self._networks = any(template.networks for template in templates.values())
        self._observer = Observer(api, clock, catalogue, pools, networks=self._networks)
        user_data = UserData(bootstraps or NoBootstraps(), client, clock)
        self._calls = InstanceCalls(
            api, catalogue, Pool(api, clock), installation, self._templates, user_data
        )

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        return await self._observer.observe(scopes)

    async def do(self, call: Call) -> Outcome:
        return await self._calls.do(call)

    def next_calls(
        self,
        goal: Goal,
        machine: Machine,
        resources: tuple[Resource, ...],
        now: datetime,  # noqa: ARG002 - nothing here waits for a time
    ) -> tuple[Call, ...]:
        ours = tuple(resource for resource in resources if self._touchable(machine, resource))
        match goal:
            case Goal.PRESENT:
                return self._present(machine, ours)
            case Goal.ABSENT:
                return self._clear(machine, ours, ours)
            case Goal.STANDBY:
                return stand_by(machine, ours)

    def _present(self, machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
        """Remove what is too much, and go on with what is there.

        Removal goes first, unless the last call failed: then they take turns, so that a resource
        that cannot be removed keeps no machine from being made, nor the other way round.
        """
        zone = machine.offer.zone
        wrong = [resource for resource in resources if resource.surplus or resource.zone != zone]
        removal = self._clear(machine, tuple(wrong), resources)
        template = self._templates.get(machine.fleet)
        if template is None:
            return removal
        forward = build(Site(machine, template, _used(machine, resources, wrong)))
        return (*forward, *removal) if machine.tries % 2 else (*removal, *forward)

    def _clear(
        self, machine: Machine, wrong: tuple[Resource, ...], resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        template = self._templates.get(machine.fleet)
        servers = tuple(resource for resource in resources if resource.slot.kind == "server")
        unprotect = template is not None and template.protected
        return clear(machine, wrong, servers, unprotect=unprotect)

    def _touchable(self, machine: Machine, resource: Resource) -> bool:
        """Tell whether a resource may be this machine's, unless its owner tag says otherwise."""
        owner_tag = resource.owner_tag
        if owner_tag is None:
            return True
        ours = owner_tag.installation == self._installation or machine.origin is Origin.ADOPTED
        return ours and owner_tag.machine == machine.id

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        bound = machine.bound(SERVER)
        server = next((resource for resource in resources if resource.id == bound), None)
        if server is None or server.condition not in REACHABLE or not server.address:
            return None
        template = self._templates.get(machine.fleet)
        return Connection(
            address=server.address,
            user=template.user if template else "root",
            internal=server.note("private"),
            arch=server.note("arch"),
        )

    def has_template(self, fleet: FleetName) -> bool:
        return fleet in self._templates

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the form of Scaleway's cloud-controller-manager and Cluster API provider."""
        del resources
        bound = machine.bound(SERVER)
        return f"scaleway://instance/{machine.offer.zone}/{bound}" if bound else None

    def cost(self, call: Call | Scope) -> int:
        if isinstance(call, Call):
            known = call.kind == MAKE_SERVER and self._calls.knows_image(call)
            return 1 if known else _COSTS.get(call.kind, 1)
        generations = 2 if call.kind == "volume" else 1
        cards = 1 if call.kind == "server" and self._networks else 0
        if call.machine is None:
            return generations + cards
        if call.alone:
            return generations * len(call.known)
        hanging = 1 if call.kind == "volume" else 0
        return generations * (1 + len(call.known)) + hanging + cards

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Finding, ...]:
        """Ask the API whether the key, the zones, types and images are in order; change nothing."""
        return await self._online.check(offers, self._templates)

    async def examine(
        self, fleets: Mapping[FleetName, Wanted], public: str, organization: str
    ) -> tuple[Finding, ...]:
        return await self._examiner.examine(fleets, self._templates, public, organization)

    async def register_key(self, public: str, name: str) -> Registered:
        return await self._keys.register(public, name)

    async def release_key(self, public: str, name: str) -> Registered:
        return await self._keys.release(public, name)

    async def close(self) -> None:
        await self._client.close()


def _used(
    machine: Machine, resources: tuple[Resource, ...], wrong: list[Resource]
) -> dict[Slot, Resource]:
    """Return the resource of each slot: the bound one, or the first where none of them is bound.

    What an answer named a moment ago is bound, and what it takes the place of is not judged yet.
    """
    right = [resource for resource in reversed(resources) if resource not in wrong]
    right.sort(key=lambda resource: resource.id == machine.bound(resource.slot))
    return {resource.slot: resource for resource in right}
