"""Addresses: which of them are the same, however they are written. Pure."""

from ipaddress import ip_address


def canonical(address: str) -> str:
    """Return the one way to write an address: names have no case, and IPv6 has many spellings."""
    try:
        return str(ip_address(address.strip("[]")))
    except ValueError:
        return address.lower().rstrip(".")
