"""How Macs go out of the world."""

from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_records import Mac


def vanish(estate: Estate, mac: Mac) -> None:
    """Take a Mac out of the world, with its attachments."""
    for attachment in mac.attachments.values():
        estate.attachments.drop(attachment, estate.now)
    mac.attachments.clear()
    mac.turn += 1
    estate.stuck.pop(mac.id, None)
    estate.by_hand.pop(mac.id, None)
    estate.by_hand.pop(f"{mac.id} held", None)
    estate.macs.drop(mac, estate.now)
    estate.gone_macs.add(mac.id)
    estate.networks.free(mac.ip)
    del estate.mac_at[mac.ip]
    estate.count(mac.organization, mac.type_name, -1)
