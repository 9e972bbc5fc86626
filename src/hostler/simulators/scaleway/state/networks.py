"""The addresses that the world hands out, and how hardware addresses become IPv6 ones.

With guests, IPv4 addresses are in 127.64.0.0/10: all of 127/8 is loopback on Linux, so that a
listener can stand at each of them. Without, they are in 198.18.0.0/15, which is set aside for
measurements and leads nowhere. IPv6 prefixes are in 2001:db8::/32, private ones in 10.0.0.0/8.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address

GUESTS = IPv4Network("127.64.0.0/10")
NOWHERE = IPv4Network("198.18.0.0/15")
DOCUMENTATION = 0x20010DB8 << 96
SUBNETS = (1 << 14) - 1  # of /22 in 10.0.0.0/8, but for the first
FIRST = 16  # the lowest addresses stay free


class Networks:
    """Hands out addresses in order; one that is in use is passed over when the range is through."""

    def __init__(self, *, guests: bool) -> None:
        self._range = GUESTS if guests else NOWHERE
        self._used: set[str] = set()
        self._next4 = FIRST
        self._next6 = 0
        self._cards = 0
        self._subnets = 0

    def ipv4(self) -> str:
        """Return an address that nobody has."""
        base, size = int(self._range.network_address), self._range.num_addresses
        while True:
            self._next4 = self._next4 + 1 if self._next4 < size - 2 else FIRST
            found = str(IPv4Address(base + self._next4))
            if found not in self._used:
                self._used.add(found)
                return found

    def free(self, address: str) -> None:
        """Take an address back."""
        self._used.discard(address)

    def prefix(self) -> str:
        """Return a /64 of IPv6, without its length."""
        self._next6 += 1
        return str(IPv6Address(DOCUMENTATION | (self._next6 << 64)))

    def card(self, kind: str = "de:00:00") -> str:
        """Return a hardware address."""
        self._cards += 1
        n = self._cards
        return f"{kind}:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}"

    def subnet(self) -> int:
        """Return the number of a pair of subnets that no other network has."""
        self._subnets = self._subnets % SUBNETS + 1
        return self._subnets


def slaac(prefix: str, mac: str) -> str:
    """Return the address that a card takes in a /64 by itself."""
    octets = [int(part, 16) for part in mac.split(":")]
    octets[0] ^= 2
    parts = (*octets[:3], 0xFF, 0xFE, *octets[3:])
    return str(IPv6Address(int(IPv6Address(prefix)) | int.from_bytes(bytes(parts), "big")))
