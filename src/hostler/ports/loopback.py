"""Loopback: which hosts are this very computer. Pure."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Tell whether a host of an address is this computer, reached by nobody else."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
