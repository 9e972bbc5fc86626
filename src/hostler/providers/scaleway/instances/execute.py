"""Execute: one call at a time, sent once, and what its answer says in the engine's words."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial

from hostler.domain.ids import FleetName, InstallationId, ResourceId
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.ports.bootstrap import BootstrapRefused, BootstrapUnavailable
from hostler.providers.scaleway.common.catalogue import Catalogue, NoImage, is_id
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import TROUBLE, Failed, outcome_of, unread
from hostler.providers.scaleway.common.owner_tags import (
    address_id,
    is_part,
    name_of,
    tags_of,
    taken_tag,
)
from hostler.providers.scaleway.common.settings import GIGABYTE, Disk, Template
from hostler.providers.scaleway.common.wire import Server

from .address_pool import Pool
from .observe.read import Reader, server_volumes
from .plan import calls
from .plan.calls import claim_for, fleet_of, text, texts
from .user_data import UserData

_UNAVAILABLE = timedelta(seconds=10)
"""After which time bootstrap data is looked for again."""

_FAMILIES = {"inet": 0, "inet6": 1}


class InstanceCalls:
    """Makes calls. Never raises for what the outside does."""

    def __init__(  # noqa: PLR0913, PLR0917 - what calls are made with
        self,
        api: Api,
        catalogue: Catalogue,
        pool: Pool,
        installation: InstallationId,
        templates: Mapping[FleetName, Template],
        user_data: UserData,
    ) -> None:
        self._user_data = user_data
        self._api, self._catalogue, self._pool = api, catalogue, pool
        self._installation, self._templates = installation, templates
        self._pools = {fleet: one.pool for fleet, one in templates.items() if one.pool}
        self._ways: Mapping[str, Callable[[Call, ResourceId], Awaitable[Outcome]]] = {
            calls.ATTACH_ADDRESS: self._attach_address,
            calls.RELEASE_ADDRESS: self._release_address,
            calls.DELETE_ADDRESS: self._delete_address,
            calls.SET_USER_DATA: self._set_user_data,
            calls.ATTACH_NETWORK: self._attach_network,
            calls.POWER_ON: self._power_on,
            calls.STAND_BY: self._stand_by,
            calls.TERMINATE: self._terminate,
            calls.NOTE_VOLUMES: self._note_volumes,
            calls.PROTECT: partial(self._protect, protected=True),
            calls.UNPROTECT: partial(self._protect, protected=False),
            calls.DELETE_SERVER: self._delete_server,
            calls.TAG_VOLUME: self._tag_volume,
            calls.DELETE_VOLUME: self._delete_volume,
            calls.TAG_ADDRESS: self._tag_address,
            calls.TAG_SERVER: self._tag_server,
        }

    async def do(self, call: Call) -> Outcome:
        """Make one call, once."""
        try:
            with self._api.client.acting():
                return await self._do(call)
        except TROUBLE as trouble:
            return outcome_of(trouble, call)
        except BootstrapUnavailable as error:
            return Refused(why=Refusal.NOT_SENT, text=str(error), after=_UNAVAILABLE)
        except BootstrapRefused as error:
            return Refused(why=Refusal.BOOTSTRAP, text=str(error))

    async def _do(self, call: Call) -> Outcome:
        if call.kind == calls.MAKE_ADDRESS:
            return await self._make_address(call)
        if call.kind == calls.TAKE_ADDRESS:
            owner_tags = tags_of(claim_for(call, call.slot, self._installation))
            return await self._pool.take(call, owner_tags, self._reader(call))
        if call.kind == calls.MAKE_SERVER:
            return await self._make_server(call)
        way = self._ways.get(call.kind)
        if way is None or call.target is None:
            return _invalid(f"there is no call {call}")
        return await way(call, call.target)

    async def _make_address(self, call: Call) -> Outcome:
        tags = self._tags(call, call.slot)
        ip = await self._api.create_address(call.zone, text(call, "type"), tags)
        return Done(resources=(self._reader(call).address(ip),))

    async def _attach_address(self, call: Call, target: ResourceId) -> Outcome:
        body: dict[str, object] = {"server": text(call, "server")}
        ip = await self._api.change_address(call.zone, address_id(target), body)
        return Done(resources=(self._reader(call).address(ip),))

    async def _release_address(self, call: Call, target: ResourceId) -> Outcome:
        return await self._pool.release(call, target)

    async def _delete_address(self, call: Call, target: ResourceId) -> Outcome:
        await self._api.delete_address(call.zone, target)
        return Done(absent=(target,))

    async def _make_server(self, call: Call) -> Outcome:
        template = self._templates.get(fleet_of(call))
        if template is None:
            return _invalid(f"fleet {fleet_of(call)} has no template")
        try:
            image = await self._image(call, template)
        except NoImage as error:
            return _invalid(str(error))
        except TROUBLE as trouble:
            return unread(trouble, "image")
        await self._user_data.of(call, template)  # none is made that could not be given its own
        try:
            server = await self._api.create_server(call.zone, self._body(call, template, image))
        except Failed as failed:
            return self._not_made(failed, call)
        return Done(resources=self._made(call, server))

    def knows_image(self, call: Call) -> bool:
        """Tell whether a server can be made without asking for its image first."""
        template = self._templates.get(fleet_of(call))
        image = text(call, "image")
        return (
            template is None
            or is_id(image)
            or self._catalogue.knows_image(
                call.zone, image, template.image_kind, text(call, "type")
            )
        )

    async def _image(self, call: Call, template: Template) -> str:
        image = text(call, "image")
        if is_id(image):
            return image
        kind = template.image_kind
        return await self._catalogue.image(call.zone, image, kind, text(call, "type"))

    def _body(self, call: Call, template: Template, image: str) -> dict[str, object]:
        body: dict[str, object] = {
            "name": text(call, "name"),
            "commercial_type": text(call, "type"),
            "image": image,
            "tags": list(self._tags(call, call.slot)),
            "dynamic_ip_required": False,
            "public_ips": [address_id(resource) for resource in texts(call, "addresses")],
            "volumes": {
                str(index): self._disk(call, index, disk)
                for index, disk in enumerate(template.volumes)
            },
        }
        extras = {
            "security_group": template.security_group,
            "placement_group": template.placement_group,
            "protected": template.protected,
        }
        return {**body, **{key: value for key, value in extras.items() if value}}

    def _disk(self, call: Call, index: int, disk: Disk) -> dict[str, object]:
        claim = claim_for(call, Slot("volume", index), self._installation)
        return {
            "name": name_of(claim),
            "size": disk.size * GIGABYTE,
            "volume_type": disk.type,
            **({"boot": True} if index == 0 else {}),
        }

    def _made(self, call: Call, server: Server) -> tuple[Resource, ...]:
        """Return the server, its volumes and its addresses, as the creation's answer shows them."""
        reader = self._reader(call)
        owner = ResourceId(server.id)
        template = self._templates[fleet_of(call)]
        volumes = (
            self._volume(call, place, ResourceId(volume.id), template, owner)
            for place, volume in server_volumes(server)
            if volume.id
        )
        asked = {
            address_id(resource): ResourceId(resource) for resource in texts(call, "addresses")
        }
        addresses = (
            reader.attached(ip, asked[ip.id], owner)
            for ip in server.public_ips or ()
            if ip.id in asked
        )
        return (reader.server(server), *volumes, *addresses)

    def _volume(
        self, call: Call, place: int, volume: ResourceId, template: Template, owner: ResourceId
    ) -> Resource:
        slot = Slot("volume", place)
        disks = template.volumes
        disk = disks[place] if place < len(disks) else disks[0]
        return Resource(
            id=volume,
            slot=slot,
            zone=call.zone,
            owner_tag=claim_for(call, slot, self._installation).owner_tag,
            status="in_use",
            condition=Condition.BUSY,
            owner=owner,
            type=disk.type,
            notes=(("size", str(disk.size)),),
        )

    def _not_made(self, failed: Failed, call: Call) -> Outcome:
        """Return why no server was made; what a label meant may have been withdrawn."""
        problem = failed.problem
        labelled = not is_id(text(call, "image"))
        if problem.missing and "image" in problem.resource.lower() and labelled:
            self._catalogue.forget_images(call.zone)
            return Refused(why=Refusal.WRONG_STATE, text=str(problem))
        return outcome_of(failed, call)

    async def _set_user_data(self, call: Call, target: ResourceId) -> Outcome:
        template = self._templates.get(fleet_of(call))
        if template is None:
            return _invalid(f"fleet {fleet_of(call)} has no template")
        content = await self._user_data.of(call, template)
        await self._api.set_cloud_init(call.zone, target, content)
        return Done()

    async def _attach_network(self, call: Call, target: ResourceId) -> Outcome:
        network = text(call, "network")
        try:
            await self._api.attach_network(call.zone, target, network)
        except Failed as failed:
            if not await self._joined(call, target, network):
                return outcome_of(failed, call)
        return Done()

    async def _joined(self, call: Call, target: ResourceId, network: str) -> bool:
        """Tell whether a refused card is there already: an earlier try had its effect."""
        try:
            server = await self._api.server(call.zone, target)
        except TROUBLE:
            return False
        return any(nic.private_network_id == network for nic in server.private_nics or ())

    async def _power_on(self, call: Call, target: ResourceId) -> Outcome:
        await self._api.act(call.zone, target, "poweron")
        return Done(resources=(self._moving(call, target, Condition.STARTING),))

    async def _stand_by(self, call: Call, target: ResourceId) -> Outcome:
        await self._api.act(call.zone, target, "stop_in_place")
        return Done(resources=(self._moving(call, target, Condition.STOPPING),))

    async def _terminate(self, call: Call, target: ResourceId) -> Outcome:
        await self._api.act(call.zone, target, "terminate")
        return Done(resources=(self._moving(call, target, Condition.STOPPING),))

    async def _note_volumes(self, call: Call, target: ResourceId) -> Outcome:
        """Return the volumes that the server's body named; nothing is asked, nothing can fail."""
        entries = [entry.split(":") for entry in texts(call, "volumes")]
        return Done(
            resources=tuple(
                self._held(call, Slot("volume", int(place)), ResourceId(volume), type_, target)
                for place, volume, type_ in entries
            )
        )

    def _held(
        self, call: Call, slot: Slot, volume: ResourceId, type_: str, owner: ResourceId
    ) -> Resource:
        return Resource(
            id=volume,
            slot=slot,
            zone=call.zone,
            owner_tag=claim_for(call, slot, self._installation).owner_tag,
            status="promised",
            owner=owner,
            type=type_,
        )

    async def _protect(self, call: Call, target: ResourceId, *, protected: bool) -> Outcome:
        server = await self._api.change_server(call.zone, target, {"protected": protected})
        return Done(resources=(self._reader(call).server(server),))

    async def _delete_server(self, call: Call, target: ResourceId) -> Outcome:
        await self._api.delete_server(call.zone, target)
        return Done(absent=(target,))

    async def _tag_server(self, call: Call, target: ResourceId) -> Outcome:
        """Write the owner tag of a server beside the tags that it has."""
        there = await self._api.server(call.zone, target)
        tags = _with(self._tags(call, call.slot), there.tags)
        server = await self._api.change_server(call.zone, target, {"tags": tags})
        return Done(resources=(self._reader(call).server(server),))

    async def _tag_address(self, call: Call, target: ResourceId) -> Outcome:
        """Write the owner tag of an address beside the tags that it has, and its pool's."""
        there = await self._api.address(call.zone, address_id(target))
        pool = text(call, "pool")
        of_pool = (pool, taken_tag(pool)) if pool else ()
        tags = (*of_pool, *self._tags(call, call.slot))
        body: dict[str, object] = {"tags": _with(tags, there.tags)}
        ip = await self._api.change_address(call.zone, there.id, body)
        return Done(resources=(self._reader(call).address(ip),))

    async def _tag_volume(self, call: Call, target: ResourceId) -> Outcome:
        tags = self._tags(call, call.slot)
        reader = self._reader(call)
        if text(call, "type") != "sbs_volume":
            local = await self._api.tag_volume(call.zone, target, tags)
            return Done(resources=(reader.volume(local),))
        body: dict[str, object] = {"tags": list(tags), "perf_iops": call.arg("iops")}
        block = await self._api.change_block(call.zone, target, body)
        return Done(resources=(reader.block(block),))

    async def _delete_volume(self, call: Call, target: ResourceId) -> Outcome:
        if text(call, "type") == "sbs_volume":
            await self._api.delete_block(call.zone, target)
        else:
            await self._api.delete_volume(call.zone, target)
        return Done(absent=(target,))

    def _moving(self, call: Call, target: ResourceId, condition: Condition) -> Resource:
        """Return a server on its way: nothing may be asked of it until an observation."""
        return Resource(
            id=target,
            slot=call.slot,
            zone=call.zone,
            owner_tag=claim_for(call, call.slot, self._installation).owner_tag,
            status=condition.value,
            condition=condition,
        )

    def _tags(self, call: Call, slot: Slot) -> tuple[str, ...]:
        template = self._templates.get(fleet_of(call))
        extra = template.tags if template else ()
        return (*tags_of(claim_for(call, slot, self._installation)), *extra)

    def _reader(self, call: Call) -> Reader:
        prices, types = self._catalogue.prices, self._catalogue.types(call.zone)
        return Reader(call.zone, prices, types, pools=self._pools)


def _with(own: tuple[str, ...], there: list[str] | None) -> list[str]:
    """Return our tags and those of others, without what is left of an owner tag."""
    others = [tag for tag in there or () if tag not in own and not is_part(tag)]
    return [*own, *others]


def _invalid(why: str) -> Refused:
    return Refused(why=Refusal.INVALID, text=why)
