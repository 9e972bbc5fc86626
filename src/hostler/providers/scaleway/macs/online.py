"""Online: what can be learnt of an account with Macs, and of a Mac's health, by asking the API.

That the key may rename and wipe cannot be learnt without doing it.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta

from hostler.domain.ids import FleetName, HostId, Zone
from hostler.domain.model.host import OTHERS
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.policy.remediation import Diagnosis, diagnosis_of
from hostler.ports.clock import Clock
from hostler.ports.online import Finding
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import TROUBLE, Failed
from hostler.providers.scaleway.common.findings import cannot, quota, unread, why_unread
from hostler.providers.scaleway.common.wire import Quotum

from .api.endpoints import MacApi
from .api.images import families, newest
from .api.quota import PERMISSION, highest, limits_of
from .plan.read import MacReader

_EVERY = timedelta(seconds=5)
_POLLS = 12


class Doctor:
    """Asks for a diagnosis, and waits a minute for it at most."""

    def __init__(self, api: MacApi, clock: Clock) -> None:
        self._api, self._clock = api, clock

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        """Return what was found; no answer is an answer too."""
        try:
            begun = await self._api.start_diagnostic(zone, host)
            for _ in range(_POLLS):
                await self._clock.sleep(_EVERY)
                found = await self._api.diagnostic(zone, begun)
                if found.status in {"completed", "error"}:
                    healthy = found.is_healthy if found.status == "completed" else None
                    actions = frozenset(found.supported_actions or ())
                    return diagnosis_of(healthy=healthy, actions=actions)
        except TROUBLE:
            return Diagnosis.NO_ANSWER
        return Diagnosis.NO_ANSWER


Fits = Callable[[FleetName, Offer, Resource], str]
Offers = Mapping[FleetName, tuple[Offer, ...]]
Known = Mapping[Zone, tuple[Resource, ...]]


class MacOnline:
    """Checks one account. Never raises for what the outside does: that is a finding too."""

    def __init__(self, api: MacApi, reader: Callable[[Zone], MacReader], fits: Fits) -> None:
        self._api, self._reader, self._fits = api, reader, fits

    async def check(
        self, offers: Offers, pools: Mapping[FleetName, str], most: Mapping[FleetName, int]
    ) -> tuple[Finding, ...]:
        """Check the key, each zone's types and images, what stands in the pools, and quotas.

        `most` is how many hosts a fleet may order; one that may order none is not in it.
        """
        zones = sorted({offer.zone for found in offers.values() for offer in found})
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._hosts(zone)) for zone in zones]
            sales = [
                group.create_task(self._sold(offer))
                for offer in sorted({offer for found in offers.values() for offer in found})
            ]
        seen = dict(zip(zones, (task.result() for task in tasks), strict=True))
        known = {zone: found for zone, found in seen.items() if isinstance(found, tuple)}
        zone_findings = [_zone(zone, found) for zone, found in seen.items()]
        sold = [f for task in sales for f in task.result() if _is_in(f, known)]
        quotas = await self._quotas(offers, most, known)
        return (*zone_findings, *sold, *self._pools(offers, pools, known), *quotas)

    async def _hosts(self, zone: Zone) -> tuple[Resource, ...] | Finding:
        listing = await self._api.macs(zone)
        if listing.error:
            return cannot(zone, listing.trouble, listing.error)
        reader, project = self._reader(zone), self._api.project
        macs = (mac for mac in listing.found.values() if mac.project_id in {None, project})
        return tuple(reader.host(mac) for mac in macs)

    async def _sold(self, offer: Offer) -> tuple[Finding, ...]:
        about = f"{offer.type} in {offer.zone}"
        try:
            stock = await self._api.stock(offer.zone, offer.type)
        except TROUBLE as trouble:
            if isinstance(trouble, Failed) and trouble.problem.status in {400, 404}:
                text = f"is not sold there{await self._instead(offer.zone)}"
                return (Finding(False, about, text, lasting=True),)
            return (unread(about, trouble),)
        return (Finding(True, about, f"is sold there ({stock})"), await self._image(offer))

    async def _instead(self, zone: Zone) -> str:
        """Return what a zone sells, where that is told."""
        try:
            names = await self._api.sold(zone)
        except TROUBLE:
            return ""
        return f"; sold are {', '.join(names)}: see `types`" if names else ""

    async def _image(self, offer: Offer) -> Finding:
        about = f"images of {offer.image} for {offer}"
        listing = await self._api.images(offer.zone, offer.type)
        if listing.error:
            return unread(about, listing.error)
        image = newest(listing.found.values(), offer.image, offer.type)
        if image is None:
            text = "none is published: hosts would be wiped to the usual image of their type, and "
            there = ", ".join(families(listing.found.values(), offer.type))
            cure = f"; there are {there}: see `os`" if there else ""
            return Finding(False, about, f"{text}no longer fit{cure}", lasting=True)
        return Finding(True, about, f"the newest is {image.name or image.id}")

    async def _quotas(
        self, offers: Offers, most: Mapping[FleetName, int], known: Known
    ) -> list[Finding]:
        """Compare the quota of each type and zone with what the fleets may order."""
        if not most:
            return []
        organization = self._api.client.account.organization
        if not organization:
            text = "are not known before hosts are ordered: set `organization` of the account"
            return [Finding(True, "quotas", text)]
        listing = await Api(self._api.client).quota(organization)
        if listing.error:
            return [Finding(False, "quotas", why_unread(listing, PERMISSION))]
        asked = ((fleet, offer) for fleet in most for offer in offers.get(fleet, ()))
        return [
            _quota(fleet, offer, most[fleet], known[offer.zone], listing.found.values())
            for fleet, offer in asked
            if offer.zone in known
        ]

    def _pools(
        self, offers: Offers, pools: Mapping[FleetName, str], known: Known
    ) -> Iterator[Finding]:
        """Yield for each fleet what stands in its pool; nothing where a zone is not known."""
        for fleet, asked in offers.items():
            zones = {offer.zone for offer in asked}
            if zones <= known.keys() and pools.get(fleet):
                resources = [resource for zone in sorted(zones) for resource in known[zone]]
                yield self._pool(fleet, asked, pools[fleet], resources)

    def _pool(
        self, fleet: FleetName, asked: tuple[Offer, ...], pool: str, resources: Iterable[Resource]
    ) -> Finding:
        about = f"pool {pool} of fleet {fleet}"
        mine = [p for p in resources if p.host.pool == pool and p.host.stage not in OTHERS]
        if not mine:
            text = (
                f"no host of the project has a name that begins with {pool}: give some such names "
                "in the console, or use `hostler pool FILE add SERVER`"
            )
            return Finding(False, about, text)
        free = [p for p in mine if any(not self._fits(fleet, offer, p) for offer in asked)]
        return Finding(True, about, f"{len(mine)} hosts, {len(free)} of them free and fitting")


def _zone(zone: Zone, found: tuple[Resource, ...] | Finding) -> Finding:
    if isinstance(found, Finding):
        return found
    return Finding(True, zone, f"answers; {len(found)} Macs in the project")


def _quota(
    fleet: FleetName,
    offer: Offer,
    most: int,
    resources: Iterable[Resource],
    quotas: Iterable[Quotum],
) -> Finding:
    about = f"quota of {offer.type} in {offer.zone}"
    limits = limits_of(offer.type, offer.zone, quotas)
    existing = sum(resource.type == offer.type for resource in resources)
    use = f"{existing} exist in the project, and fleet {fleet} may order {most}"
    return quota(about, (highest(limits),) if limits else (), most, use)


def _is_in(finding: Finding, known: Iterable[Zone]) -> bool:
    """Tell whether a finding is about a zone that answers: of others enough is said."""
    return any(finding.about.endswith(zone) for zone in known)
