"""Endpoints: those of Apple silicon that we use; see providers/scaleway/common/endpoints.py."""

import re
from datetime import UTC, datetime

from hostler.domain.ids import Zone
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.endpoints import bare
from hostler.providers.scaleway.common.errors import Failed, Garbled, Problem
from hostler.providers.scaleway.common.pages import Listing, Paged, list_all
from hostler.providers.scaleway.common.wire import Unreadable

from .wire import (
    ATTACHMENTS,
    DIAGNOSTICS,
    MACS,
    OSES,
    STARTED,
    TYPES,
    Attachment,
    Diagnostic,
    Mac,
    Os,
)

_UNTIL = re.compile(r"cannot be deleted before (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_STATE = re.compile(r"\(state: (\w+)\)")


def is_reinstalling(problem: Problem) -> bool:
    """Tell whether a wipe was refused because one is under way, and for no other transience."""
    state = _STATE.search(problem.message)
    return problem.type == "transient_state" and state is not None and state[1] == "reinstalling"


def is_floor(problem: Problem) -> bool:
    """Tell whether a deletion was refused until a date, in any of the shapes that were seen.

    412 with a type or without one, 400 and 403: the text is the same in all.
    """
    dated = _UNTIL.search(f"{problem.message} {problem.precondition}") is not None
    typed = problem.status == 412 and problem.type in {"precondition_failed", ""}
    return typed or (dated and problem.status in {400, 403, 409, 412})


def floor_date(problem: Problem) -> datetime | None:
    """Return from when on the host may be deleted, as the refusal says it (UTC)."""
    found = _UNTIL.search(problem.message)
    if found is None:
        return None
    return datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=UTC)


class MacApi:
    """Apple silicon of one account. Listings never raise; everything else raises errors.TROUBLE."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.project = client.account.project

    async def macs(self, zone: Zone) -> Listing[Mac]:
        """List the project's Macs, eldest first; the API filters by nothing else."""
        query = (("project_id", self.project), ("order_by", "created_at_asc"))
        return await list_all(self.client, Paged(_path(zone, "servers"), MACS, "page_size", query))

    async def mac(self, zone: Zone, mac: str) -> Mac:
        """Read one Mac."""
        return bare(MACS, await self.client.get(_path(zone, f"servers/{mac}")))

    async def change(self, zone: Zone, mac: str, body: dict[str, object]) -> Mac:
        """Change some fields of a Mac; what the body does not name stays."""
        return bare(MACS, await self.client.patch(_path(zone, f"servers/{mac}"), body))

    async def order(self, zone: Zone, body: dict[str, object]) -> None:
        """Order Macs, all or none (`requests`: their names)."""
        path = _path(zone, "batch-create-servers")
        await self.client.post(path, {**body, "project_id": self.project})

    async def stock(self, zone: Zone, type_name: str) -> str:
        """Return how many there are: no_stock, low_stock, high_stock, or unknown_stock."""
        found = bare(TYPES, await self.client.get(_path(zone, f"server-type/{type_name}")))
        return found.stock or "unknown_stock"

    async def sold(self, zone: Zone) -> tuple[str, ...]:
        """Return the names of the types that a zone sells."""
        response = await self.client.get(_path(zone, "server-types"))
        try:
            page = TYPES.page(response.body)
        except Unreadable as error:
            raise Garbled(str(error)) from None
        return tuple(sorted(found.name for found in page.items if found.name))

    async def reinstall(self, zone: Zone, mac: str, image: str) -> Mac:
        """Wipe a Mac and install an image, by default the usual one of its type."""
        body: dict[str, object] = {"enable_kext": False}
        if image:
            body["os_id"] = image
        return bare(MACS, await self.client.post(_path(zone, f"servers/{mac}/reinstall"), body))

    async def reboot(self, zone: Zone, mac: str) -> Mac:
        """Reboot a Mac."""
        return bare(MACS, await self.client.post(_path(zone, f"servers/{mac}/reboot"), {}))

    async def start_diagnostic(self, zone: Zone, mac: str) -> str:
        """Begin a diagnosis of a Mac's health; return its id."""
        response = await self.client.post(
            _path(zone, "connectivity-diagnostics"), {"server_id": mac}
        )
        return bare(STARTED, response).diagnostic_id

    async def diagnostic(self, zone: Zone, diagnostic: str) -> Diagnostic:
        """Read what a diagnosis of a Mac's health came to so far."""
        path = _path(zone, f"connectivity-diagnostics/{diagnostic}")
        return bare(DIAGNOSTICS, await self.client.get(path))

    async def delete(self, zone: Zone, mac: str) -> None:
        """Delete a Mac that is not paid for any more."""
        await self.client.delete(_path(zone, f"servers/{mac}"))

    async def images(self, zone: Zone, type_name: str) -> Listing[Os]:
        """List the images that a type can boot."""
        query = (("server_type", type_name),)
        return await list_all(self.client, Paged(_path(zone, "os"), OSES, "page_size", query))

    async def attachments(self, zone: Zone, mac: str) -> Listing[Attachment]:
        """List the private networks that a Mac is in."""
        query = (("server_id", mac), ("project_id", self.project))
        path = _path(zone, "server-private-networks")
        return await list_all(self.client, Paged(path, ATTACHMENTS, "page_size", query))

    async def all_attachments(self, zone: Zone) -> Listing[Attachment]:
        """List every Mac of the project in every private network."""
        query = (("project_id", self.project),)
        path = _path(zone, "server-private-networks")
        return await list_all(self.client, Paged(path, ATTACHMENTS, "page_size", query))

    async def attachment(self, zone: Zone, mac: str, network: str) -> Attachment | None:
        """Read a Mac's attachment to a private network by itself; None where it has none."""
        path = _path(zone, f"servers/{mac}/private-networks/{network}")
        try:
            return bare(ATTACHMENTS, await self.client.get(path))
        except Failed as failed:
            if failed.problem.missing:
                return None
            raise

    async def attach(self, zone: Zone, mac: str, network: str) -> None:
        """Put a Mac into a private network."""
        path = _path(zone, f"servers/{mac}/private-networks")
        await self.client.post(path, {"private_network_id": network})

    async def detach(self, zone: Zone, mac: str, network: str) -> None:
        """Take a Mac out of a private network."""
        await self.client.delete(_path(zone, f"servers/{mac}/private-networks/{network}"))


def _path(zone: Zone, path: str) -> str:
    return f"/apple-silicon/v1alpha1/zones/{zone}/{path}"
