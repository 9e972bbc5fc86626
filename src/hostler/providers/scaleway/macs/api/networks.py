"""Networks: which private networks each Mac is in, and with which VLAN, as last observed.

A VLAN is null until the provider has set it up; a host is not ready for use before it is known.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from hostler.domain.ids import Zone

from .endpoints import MacApi
from .wire import Attachment

_LEAVING = "detaching"
_UNSURE = frozenset({"attaching", "error"})
"""While it has such a status, an attachment's VLAN may be told and never serve."""


class Attached(Struct, frozen=True):
    """A Mac in a private network, or on its way out; `vlan` is 0 until it is known."""

    network: str
    vlan: int = 0
    leaves: bool = False

    def __str__(self) -> str:
        """Return it as a resource's notes tell it."""
        return f"{self.network}:{self.vlan}"


class Networks:
    """Lists attachments, zone by zone. One whose listing fails keeps what was known of it.

    A zone that was never listed is not known: its hosts may be in any network.
    """

    def __init__(self, api: MacApi) -> None:
        self._api = api
        self._known = dict[Zone, dict[str, tuple[Attached, ...]]]()

    async def learn(self, zone: Zone) -> None:
        """List every attachment of a zone."""
        listing = await self._api.all_attachments(zone)
        if not listing.error:
            self._known[zone] = _by_mac(listing.found.values())

    def of(self, zone: Zone) -> Mapping[str, tuple[Attached, ...]] | None:
        """Return what each Mac of a zone is in; None where that is not known."""
        return self._known.get(zone)


def _by_mac(attachments: Iterable[Attachment]) -> dict[str, tuple[Attached, ...]]:
    found = dict[str, list[Attached]]()
    for entry in attachments:
        if entry.server_id and entry.private_network_id:
            leaves, unsure = entry.status == _LEAVING, entry.status in _UNSURE
            vlan = 0 if unsure else entry.vlan or 0
            one = Attached(entry.private_network_id, vlan, leaves)
            found.setdefault(entry.server_id, []).append(one)
    return {mac: tuple(sorted(many, key=str)) for mac, many in found.items()}


def inside(attached: Iterable[Attached]) -> str:
    """Return the networks that a host is in, as its notes tell them."""
    return ",".join(str(one) for one in attached if not one.leaves)


def named(note: str) -> set[str]:
    """Return the ids of the networks that a host is in, from the note that tells them."""
    return {text.partition(":")[0] for text in note.split(",") if text}


def missing(wanted: Iterable[str], note: str) -> tuple[str, ...]:
    """Return the networks that a host, as its notes tell, is not in yet."""
    known = named(note)
    return tuple(network for network in wanted if network not in known)


def is_wired(wanted: Iterable[str], attached: Iterable[Attached]) -> bool:
    """Tell whether a host is in all these networks, with VLANs that are known."""
    known = {one.network for one in attached if one.vlan and not one.leaves}
    return all(network in known for network in wanted)
