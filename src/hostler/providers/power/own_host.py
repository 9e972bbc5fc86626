"""Own host: whether a box is the computer on which this program runs."""

import socket
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from .settings import BoxTable

_CARDS = Path("/sys/class/net")
_HOSTS = Path("/etc/hosts")


def is_own_host(box: BoxTable) -> bool:
    """Tell whether a box bears our name, an address of ours, or a network card of ours.

    Its addresses are those by which it is asked itself, too: over SSH, or by a port of its own.
    """
    itself = (box.ssh, box.reachability)
    addresses = (box.address, *(one.address for one in itself if one is not None))
    if any(_is_own_name(name) for name in (box.name, *addresses)):
        return True
    if any(is_own_address(address) for address in addresses):
        return True
    card = box.wake_on_lan
    return card is not None and _digits(card.mac) in own_cards()


def _is_own_name(name: str) -> bool:
    """Tell whether a name is this computer's, with its domain or without."""
    return name.lower() in own_names()


def own_names(hosts: Path = _HOSTS) -> Collection[str]:
    """Return this computer's names, as far as it tells them without asking a name server.

    Most systems call themselves by the first part of their name, and have the whole one in a file.
    """
    whole = socket.gethostname().lower()
    own = {whole, whole.partition(".")[0]} - {""}
    with suppress(OSError, UnicodeDecodeError):
        for line in hosts.read_text(encoding="utf-8").lower().splitlines():
            _, *names = line.partition("#")[0].split() or [""]
            if own.intersection(names):
                own |= {name for name in names if not name.startswith("localhost")}
    return own


def is_own_address(address: str) -> bool:
    """Tell whether an IP address is one of this computer's; loopback, which is everybody's, is not.

    Only whoever has an address can bind a socket to it.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if ip.is_loopback or ip.is_unspecified or ip.is_multicast:
        return False
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as tried:
        tried.bind((address, 0))
        return True
    return False


def own_cards(folder: Path = _CARDS) -> Collection[str]:
    """Return the addresses of this computer's network cards, as far as the system tells them."""
    found = set[str]()
    for file in folder.glob("*/address"):
        with suppress(OSError, UnicodeDecodeError):
            found.add(_digits(file.read_text(encoding="ascii")))
    return found - {"", "0" * 12}


def _digits(mac: str) -> str:
    return "".join(filter(str.isalnum, mac)).lower()
