"""Images of wipes: which hosts had to be wiped to another system than their fleets ask for?

Images are retired without notice, and that keeps no host from being wiped: it gets what its type
boots where nothing is asked for. Only such a host may run another system; any other was wiped, or
ordered, to the wrong one.
"""

from hostler.domain.ids import HostId
from hostler.simulators.scaleway.state.mac_records import Mac

from .ground_truth import Change, GroundTruth


class ImagesOfWipes:
    """Notes at each wipe of a host which families were published for its type then."""

    def __init__(self, truth: GroundTruth) -> None:
        self._truth = truth
        self._published: dict[HostId, frozenset[str]] = {}

    def noted(self, change: Change) -> None:
        """Take in what became of a host."""
        mac = self._truth.mac(change.host)
        if change.what == "wiped" and mac is not None:
            images = self._truth.world.cloud.os_images
            fitting = (image.family for image in images if mac.type_name in image.types)
            self._published[change.host] = frozenset(fitting)

    def is_spoilt(self, mac: Mac, family: str) -> bool:
        """Tell whether a host runs another family, as its own was not published at its last wipe.

        One that was never wiped has no such excuse: nothing is ordered for a family that is gone.
        """
        published = self._published.get(HostId(mac.id))
        return mac.os.family != family and published is not None and family not in published
