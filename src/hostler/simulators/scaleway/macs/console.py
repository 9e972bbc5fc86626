"""What a person does with Macs, images and stocks: in process, and under `/_sim/`."""

from collections.abc import Callable
from itertools import count, islice

from msgspec import Struct

from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import TYPES, types_of
from hostler.simulators.scaleway.state.mac_records import Mac, OsImage
from hostler.simulators.scaleway.state.options import Stock
from hostler.simulators.scaleway.state.record import Owner

from . import lifecycle, orders
from .images import default_image

STOCKS = ("no_stock", "low_stock", "high_stock")
Happen = Callable[[str, Mac | OsImage, float], bool]
DEEDS = {
    "delete": "mac_deleted_by_hand",
    "reinstall": "mac_reinstalled_by_hand",
    "lock": "mac_locked",
    "stick": "mac_stuck_locking",
    "break": "mac_broken",
    "occupy": "mac_busy",
    "disguise": "mac_unknown_status",
    "seal": "mac_sealed",
    "refuse-ssh": "mac_ssh_refused",
    "hang-ssh": "mac_ssh_hung",
    "forge-key": "mac_ssh_wrong_key",
}
"""What can be done to a Mac, and the fault that each is."""


class Console(Struct, frozen=True):
    """What a person does with the console of Scaleway, and Scaleway itself.

    `happen` lets a fault happen to a record, and counts it. Raises KeyError for a Mac or an image
    that there is not, and ValueError for what cannot be.
    """

    cloud: Cloud
    happen: Happen

    def stock(self, requested: Stock) -> list[str]:
        """Add Macs that are delivered and ready, bought just now; return their ids."""
        cloud, sort = self.cloud, types_of(requested.zone).get(requested.type_name)
        image = sort and default_image(cloud, sort)
        if sort is None or image is None:
            sold = ", ".join(sorted(types_of(requested.zone))) or "none"
            what = f"{requested.type_name} in {requested.zone}"
            raise ValueError(f"no Macs of type {what}; sold there: {sold}")
        owner = Owner(requested.zone, cloud.options.organization, cloud.options.project)
        if requested.prefix not in cloud.pool_prefixes:
            cloud.pool_prefixes.append(requested.prefix)
        made = list[str]()
        for name in free_names(cloud, requested):
            mac = orders.new_mac(cloud, owner, name, sort, image)
            orders.put(cloud, mac)
            lifecycle.delivered(cloud, mac)
            mac.sealed_until = 0.0
            made.append(mac.id)
        return made

    def rename(self, mac_id: str, name: str) -> bool:
        """Give a Mac a name."""
        mac = self.mac(mac_id)
        mac.name, mac.modified = name, self.cloud.now
        return True

    def do(self, deed: str, mac_id: str, spell: float = 60.0) -> bool:
        """Do one of `DEEDS` to a Mac; tell if it could be done."""
        if deed not in DEEDS:
            raise ValueError(f"do: expected rename, {', '.join(DEEDS)}, not {deed}")
        return self.happen(DEEDS[deed], self.mac(mac_id), spell)

    def retire_image(self, name: str) -> bool:
        """Retire an image by its name or id."""
        for image in self.cloud.os_images:
            if name in {image.id, image.name}:
                return self.happen("mac_image_retired", image, 0.0)
        raise KeyError(name)

    def set_stock(self, type_name: str, stock: str, zone: str = "") -> None:
        """Say how many Macs of a type there are, in a zone or in all of them."""
        if stock not in STOCKS:
            raise ValueError(f"stock: expected {', '.join(STOCKS)}, not {stock}")
        sold = types_of(zone) if zone else TYPES
        if type_name not in sold:
            known = ", ".join(sold) or "none"
            raise ValueError(f"type: no {type_name} in {zone or 'any zone'}; expected {known}")
        self.cloud.stock[f"{zone}/{type_name}" if zone else type_name] = stock

    def mac(self, mac_id: str) -> Mac:
        """Return a Mac."""
        found = self.cloud.macs.get(mac_id)
        if found is None:
            raise KeyError(mac_id)
        return found


def free_names(cloud: Cloud, requested: Stock) -> list[str]:
    """Return names that no Mac has: the prefix and a number."""
    taken = {mac.name for mac in cloud.macs}
    names = (f"{requested.prefix}{number}" for number in count(1))
    return list(islice((name for name in names if name not in taken), requested.count))
