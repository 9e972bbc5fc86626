"""What is known of the private networks of Macs between one listing and the next."""

import msgspec
import pytest
from macs_kit import HOST, ZONE, mac, reader
from msgspec.structs import replace

from hostler.domain.ids import Zone
from hostler.providers.scaleway.common.pages import Listing
from hostler.providers.scaleway.macs.api.endpoints import MacApi
from hostler.providers.scaleway.macs.api.networks import Attached, Networks
from hostler.providers.scaleway.macs.api.wire import Attachment


class Listed(MacApi):
    """Answers listings of attachments in turn."""

    def __init__(self, *listings: Listing[Attachment]) -> None:
        self._listings = list(listings)

    async def all_attachments(self, zone: Zone) -> Listing[Attachment]:
        assert zone == ZONE
        return self._listings.pop(0)


IN_NET = Attachment(id="a-1", server_id=HOST, private_network_id="net-1", vlan=5)


async def test_a_listing_that_fails_keeps_what_was_known() -> None:
    """It shows fewer networks than there are: a Mac would be put into them once more."""
    networks = Networks(
        Listed(Listing({"a-1": IN_NET}), Listing(error="page 2: 502"), Listing[Attachment]())
    )
    await networks.learn(ZONE)
    assert networks.of(ZONE) == {HOST: (Attached("net-1", 5),)}
    await networks.learn(ZONE)
    assert networks.of(ZONE) == {HOST: (Attached("net-1", 5),)}
    await networks.learn(ZONE)
    assert networks.of(ZONE) == {}
    assert networks.of(Zone("fr-par-2")) is None, "it was never listed"


@pytest.mark.parametrize(
    ("status", "vlan"),
    [("attached", 5), ("attaching", 0), ("error", 0), ("", 5), ("a new word", 5)],
)
async def test_a_vlan_is_believed_once_the_host_is_in_the_network(status: str, vlan: int) -> None:
    """What is still on its way in may end in error, and its VLAN never serve."""
    output = msgspec.structs.replace(IN_NET, status=status)
    networks = Networks(Listed(Listing({"a-1": output})))
    await networks.learn(ZONE)
    assert networks.of(ZONE) == {HOST: (Attached("net-1", vlan),)}


@pytest.mark.parametrize(("attached", "leaves"), [(None, "yes"), ({}, "")])
def test_what_was_never_listed_may_be_in_any_network_and_is_not_put_back(
    attached: dict[str, tuple[Attached, ...]] | None, leaves: str
) -> None:
    """A process began anew, and its first listing failed."""
    resource = replace(reader(), attached=attached).host(mac())
    assert (resource.note("nics"), resource.note("leaving")) == ("", leaves)
