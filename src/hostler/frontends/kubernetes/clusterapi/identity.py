"""Identity: the id under which a HostlerMachine asks the engine for its machine. Pure.

It follows from the object's uid and is written into the object's spec before anything is asked, so
that a crash anywhere asks for the same machine again, and an object that was moved keeps it.
"""

import hashlib

from hostler.domain.ids import HostId, MachineId, is_machine_id, machine_id
from hostler.kubernetes.objects import Metadata

from .names import FORMER_SCHEME


def next_id(metadata: Metadata, ended: str = "") -> MachineId:
    """Return the id to ask under: the first one, or that after an id whose machine came to nothing.

    The same object and the same id before give the same id, whoever computes it.
    """
    digest = hashlib.sha256(f"{metadata.uid}/{ended}".encode()).digest()
    return machine_id(int.from_bytes(digest[:8], "big") & ((1 << 50) - 1))


def id_of(text: str) -> MachineId | None:
    """Return the id that a spec names; None where it names none, or something else."""
    return MachineId(text) if is_machine_id(text) else None


def former_host(provider_id: str) -> HostId | None:
    """Return the host that a providerID of the older provider for Macs names; None for any other.

    It is `scw-applesilicon://ZONE/SERVER`.
    """
    zone, _, host = provider_id.removeprefix(FORMER_SCHEME).partition("/")
    good = provider_id.startswith(FORMER_SCHEME) and zone and host and "/" not in host
    return HostId(host) if good else None


def is_same_host(former: str, provider_id: str) -> bool:
    """Tell whether a machine's own providerID names the host that an older one did."""
    host = former_host(former)
    zone = former.removeprefix(FORMER_SCHEME).partition("/")[0]
    return host is not None and provider_id.endswith(f"/{zone}/{host}")
