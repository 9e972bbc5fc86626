"""Online: what can be told of an account's settings by asking the API, changing nothing."""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from hostler.domain.ids import FleetName, Zone
from hostler.domain.model.machine import Offer
from hostler.ports.online import Finding
from hostler.providers.scaleway.common.catalogue import Catalogue, NoImage, every_page, is_id
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import TROUBLE, Failed
from hostler.providers.scaleway.common.findings import cannot, unread
from hostler.providers.scaleway.common.settings import Template
from hostler.providers.scaleway.common.wire import ServerType, Stock


class Online:
    """Checks one account. Never raises for what the outside does: that is a finding too."""

    def __init__(self, api: Api, catalogue: Catalogue) -> None:
        self._api, self._catalogue = api, catalogue

    async def check(
        self, offers: Mapping[FleetName, tuple[Offer, ...]], templates: Mapping[FleetName, Template]
    ) -> tuple[Finding, ...]:
        """Check key and project, then each zone's types, stocks and images; zone by zone."""
        zones = sorted({offer.zone for found in offers.values() for offer in found})
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._zone(zone, offers, templates)) for zone in zones]
        return tuple(finding for task in tasks for finding in task.result())

    async def _zone(
        self,
        zone: Zone,
        offers: Mapping[FleetName, tuple[Offer, ...]],
        templates: Mapping[FleetName, Template],
    ) -> list[Finding]:
        listing = await self._api.servers(zone)
        if listing.error:
            return [cannot(zone, listing.trouble, listing.error)]
        findings = [Finding(True, zone, f"answers; {len(listing.found)} servers in the project")]
        try:
            types = await every_page(zone, self._api.types)
            stocks = await every_page(zone, self._api.stocks)
        except TROUBLE as trouble:
            return [*findings, Finding(False, zone, f"its types cannot be read: {trouble}")]
        mine = [
            (offer, templates.get(fleet, Template()))
            for fleet, found in offers.items()
            for offer in found
            if offer.zone == zone
        ]
        wanted = sorted({offer.type for offer, _ in mine})
        findings += [_type(zone, name, types.get(name), stocks.get(name)) for name in wanted]
        sold = [(offer, template) for offer, template in mine if offer.type in types]
        return findings + [f for f in [await self._image(o, t) for o, t in sold] if f]

    async def _image(self, offer: Offer, template: Template) -> Finding:
        image = offer.image or template.image
        about = f"image {image} for {offer}"
        try:
            if is_id(image):
                await self._api.image(offer.zone, image)
                return Finding(True, about, "exists")
            kind = template.image_kind
            found = await self._catalogue.image(offer.zone, image, kind, offer.type)
        except NoImage as error:
            return Finding(False, about, str(error), lasting=True)
        except TROUBLE as trouble:
            absent = isinstance(trouble, Failed) and trouble.problem.status == 404
            return replace(unread(about, trouble), lasting=absent and is_id(image))
        return Finding(True, about, f"is {found}")


def _type(zone: Zone, name: str, type_: ServerType | None, stock: Stock | None) -> Finding:
    about = f"{name} in {zone}"
    if type_ is None:
        return Finding(False, about, "is not sold there", lasting=True)
    availability = (stock.availability if stock else None) or "unknown"
    price = f"{type_.hourly_price:g} euros per hour" if type_.hourly_price else "price unknown"
    return Finding(availability != "shortage", about, f"stock: {availability}; {price}")
