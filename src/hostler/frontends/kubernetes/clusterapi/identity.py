"""Identity: the id under which a HostlerMachine asks the engine for its machine. Pure.

It follows from the object's uid and is written into the object's spec before anything is asked, so
that a crash anywhere asks for the same machine again, and an object that was moved keeps it.
"""

import hashlib

from hostler.domain.ids import MachineId, is_machine_id, machine_id
from hostler.kubernetes.objects import Metadata


def next_id(metadata: Metadata, ended: str = "") -> MachineId:
    """Return the id to ask under: the first one, or that after an id whose machine came to nothing.

    The same object and the same id before give the same id, whoever computes it.
    """
    digest = hashlib.sha256(f"{metadata.uid}/{ended}".encode()).digest()
    return machine_id(int.from_bytes(digest[:8], "big") & ((1 << 50) - 1))


def id_of(text: str) -> MachineId | None:
    """Return the id that a spec names; None where it names none, or something else."""
    return MachineId(text) if is_machine_id(text) else None
