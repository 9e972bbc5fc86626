"""Ids: each kind is a type of its own, so that they cannot be mixed up; and `evolve` for values."""

import hashlib
from datetime import timedelta
from typing import Any, NewType, TypeVar

from msgspec import Struct
from msgspec.structs import replace

InstallationId = NewType("InstallationId", str)
FleetName = NewType("FleetName", str)
AccountName = NewType("AccountName", str)
MachineId = NewType("MachineId", str)
HostId = NewType("HostId", str)
ResourceId = NewType("ResourceId", str)
Zone = NewType("Zone", str)
CycleId = NewType("CycleId", str)
Epoch = NewType("Epoch", int)

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_LETTERS = frozenset(_BASE32)
_LENGTH = 10


def machine_id(number: int) -> MachineId:
    """Return `m-` and ten base32 characters made of the low 50 bits of `number`."""
    letters = (_BASE32[(number >> (5 * place)) & 31] for place in range(_LENGTH))
    return MachineId("m-" + "".join(letters))


def is_machine_id(text: str) -> bool:
    """Tell whether `text` could be a machine's id: foreign or damaged owner tags often cannot."""
    body = text.removeprefix("m-")
    return text.startswith("m-") and len(body) == _LENGTH and _LETTERS.issuperset(body)


def begins_machine_id(text: str) -> bool:
    """Tell whether a text could be a machine's id, or how one begins."""
    body = text.removeprefix("m-")
    return text.startswith("m-") and len(body) <= _LENGTH and _LETTERS.issuperset(body)


def jitter(key: str, most: timedelta) -> timedelta:
    """Return a delay from zero to `most` that depends on `key` alone: the same key, the same delay.

    Spreads retries without a random stream, so that a decision can be repeated and explained.
    """
    fraction = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return most * fraction


V = TypeVar("V", bound=Struct)


def evolve(value: V, **fields: Any) -> V:
    """Return the record with these fields, or the very record where it has them already.

    Most cycles find nothing new, and a record of fifty fields is costly to write again.
    """
    for name, field in fields.items():
        before = getattr(value, name)
        if before is not field and before != field:
            return replace(value, **fields)
    return value
