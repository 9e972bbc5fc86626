"""Examine: quotas, networks, groups and keys, told by asking the API and changing nothing."""

import asyncio
from collections.abc import Iterable, Mapping

from hostler.domain.ids import FleetName, Zone
from hostler.ports.online import Finding, Wanted
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import TROUBLE, Failed
from hostler.providers.scaleway.common.findings import (
    lowest_limit,
    quota,
    unread,
    why_unread,
)
from hostler.providers.scaleway.common.settings import Template
from hostler.providers.scaleway.common.ssh_keys import same_key
from hostler.providers.scaleway.common.wire import Quotum


class Examiner:
    """Examines one account. Never raises for what the outside does: that is a finding too."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def examine(
        self,
        fleets: Mapping[FleetName, Wanted],
        templates: Mapping[FleetName, Template],
        public: str,
        organization: str,
    ) -> tuple[Finding, ...]:
        """See ports.online.Examines."""
        wanted = [(fleet, templates.get(name, Template())) for name, fleet in fleets.items()]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._quotas(list(fleets.values()), organization)),
                group.create_task(self._things(wanted)),
                group.create_task(self._private(wanted)),
                group.create_task(self._key(public)),
            ]
        return tuple(finding for task in tasks for finding in task.result())

    async def _quotas(self, fleets: list[Wanted], organization: str) -> list[Finding]:
        if not organization:
            return []
        listing = await self._api.quota(organization)
        if listing.error:
            return [Finding(False, "quotas", why_unread(listing, "OrganizationReadOnly"))]
        return [
            _quota(type_, sorted(zones), fleet.most, listing.found)
            for fleet in fleets
            for type_, zones in _types(fleet).items()
        ]

    async def _things(self, wanted: Iterable[tuple[Wanted, Template]]) -> list[Finding]:
        """Ask for what templates name by its id, in every zone or region that it is needed in."""
        asked = {
            about: path
            for fleet, template in wanted
            for zone in dict.fromkeys(offer.zone for offer in fleet.offers)
            for about, path in _named(zone, template)
        }
        return [await self._thing(about, path) for about, path in asked.items()]

    async def _thing(self, about: str, path: str) -> Finding:
        try:
            await self._api.exists(path)
        except TROUBLE as trouble:
            if isinstance(trouble, Failed) and trouble.problem.missing:
                return Finding(False, about, "is not there", lasting=True)
            return unread(about, trouble)
        return Finding(True, about, "exists")

    async def _private(self, wanted: Iterable[tuple[Wanted, Template]]) -> list[Finding]:
        """Tell whether private addresses can be read, where there will be some."""
        zones = {o.zone for fleet, template in wanted if template.networks for o in fleet.offers}
        regions = {zone.rpartition("-")[0]: zone for zone in sorted(zones)}
        found = list[Finding]()
        for region, zone in regions.items():
            listing = await self._api.private_addresses(zone)
            about = f"private addresses in {region}"
            text = why_unread(listing, "IPAMReadOnly") if listing.error else "can be read"
            found.append(Finding(not listing.error, about, text))
        return found

    async def _key(self, public: str) -> list[Finding]:
        if not public:
            return []
        listing = await self._api.ssh_keys()
        if listing.error:
            return [Finding(False, "ssh key", why_unread(listing, "SSHKeysFullAccess"))]
        known = (key for key in listing.found.values() if same_key(public, key))
        found = next(known, None)
        if found is None:
            return [Finding(True, "ssh key", "is not registered yet; the plugin does that")]
        if found.disabled:
            text = f"is registered as {found.name!r}, and disabled there: enable it"
            return [Finding(False, "ssh key", text)]
        return [Finding(True, "ssh key", f"is registered as {found.name!r}")]


def _types(fleet: Wanted) -> dict[str, set[Zone]]:
    found = dict[str, set[Zone]]()
    for offer in fleet.offers:
        found.setdefault(offer.type, set()).add(offer.zone)
    return found


def _quota(type_: str, zones: list[Zone], most: int, quotas: Mapping[str, Quotum]) -> Finding:
    about = f"quota of {type_}"
    quotum = quotas.get("cp_servers_type_" + type_.replace("-", "_"))
    limits = (lowest_limit(quotum, zones),) if quotum is not None else ()
    return quota(about, limits, most, f"the group may come to {most}")


def _named(zone: Zone, template: Template) -> Iterable[tuple[str, str]]:
    region, base = zone.rpartition("-")[0], f"/instance/v1/zones/{zone}"
    for network in template.networks:
        path = f"/vpc/v2/regions/{region}/private-networks/{network}"
        yield f"private network {network} in {region}", path
    if group := template.security_group:
        yield f"security group {group} in {zone}", f"{base}/security_groups/{group}"
    if group := template.placement_group:
        yield f"placement group {group} in {zone}", f"{base}/placement_groups/{group}"
