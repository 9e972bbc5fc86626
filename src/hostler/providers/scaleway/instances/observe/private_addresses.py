"""Private addresses: those of servers' cards, which no server's body tells: IPAM does.

A card's address does not change while it lives, so each is asked for once. What cannot be asked for
is not known yet: nothing fails by that.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from hostler.domain.ids import Zone
from hostler.ports.clock import Clock
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.wire import Server

AGAIN = timedelta(minutes=1)
"""How long IPAM is left alone after it could not be read."""


class Cards:
    """What was learnt of cards' addresses, zone by zone."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._known = dict[Zone, dict[str, str]]()
        self._shut = 0.0

    def of(self, zone: Zone) -> Mapping[str, str]:
        """Return the private IPv4 address of each card, as far as they were learnt."""
        return self._known.get(zone, {})

    async def learn(self, zone: Zone, servers: Iterable[Server], *, whole: bool) -> None:
        """Learn the addresses of these servers' cards; a whole listing lets others be forgotten."""
        cards = {nic.id for server in servers for nic in server.private_nics or () if nic.id}
        known = self._known.get(zone, {})
        if whole and cards != known.keys():
            known = self._known[zone] = {card: ip for card, ip in known.items() if card in cards}
        if cards <= known.keys() or self._clock.boot() < self._shut:
            return
        listing = await self._api.private_addresses(zone)
        if listing.error:
            self._shut = self._clock.boot() + AGAIN.total_seconds()
        found = {
            ip.resource.id: ip.address.partition("/")[0]
            for ip in listing.found.values()
            if ip.resource is not None and ip.address
        }
        self._known[zone] = {**known, **{c: found[c] for c in cards if c in found}}
