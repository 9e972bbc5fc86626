"""Addresses: how devices are named in the network, and what can be no name."""

from collections.abc import Iterator
from ipaddress import ip_address

_ELSEWHERE = frozenset("/\\@[]?#")
"""What is in no host's name, but in the address of a page."""


def faults_of(key: str, address: str) -> Iterator[str]:
    """Yield that a key's address cannot be one, if it cannot: nobody would ever be reached."""
    if not _is_one(address):
        yield (
            f"{key}: expected a host name or an IP address alone, such as bmc-1.lan or "
            "192.0.2.113: no port, scheme or space"
        )


def _is_one(address: str) -> bool:
    if _is_ip(address):
        return True
    odd = any(one.isspace() or not one.isprintable() or one in _ELSEWHERE for one in address)
    if odd or ":" in address or address.startswith("-"):
        return False
    if address.rstrip(".").rpartition(".")[2].isdecimal():  # such as 192.0.2.300
        return False
    try:
        return bool(address.encode("idna"))
    except UnicodeError:  # a label is empty, or too long
        return False


def _is_ip(address: str) -> bool:
    try:
        return bool(ip_address(address))
    except ValueError:
        return False
