"""Names of Macs as the judge reads and writes them: by the documented format alone.

The format stands in docs/reference/owner-tags.md. No code of the provider is used for it.
"""

import hashlib
from functools import lru_cache

from msgspec import Struct

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.resource import OwnerTag, Stage
from hostler.lab.scaleway.owner_tags import is_digest, owner_tag_of

_STAGES = frozenset(
    {
        "pending",
        "claimed",
        "standby",
        "rested",
        "releasing",
        "wiping",
        "parked",
        "ordered",
        "quarantined",
        "retiring",
    }
)
_LEAST = 7
"""How many words a name has at least: a fleet's name may hold dots."""


class HostName(Struct, frozen=True, kw_only=True):
    """What a hostler wrote on a host; `pool` is the digest of its pool's prefix."""

    stage: Stage
    installation: InstallationId
    fleet: FleetName
    machine: MachineId
    pool: str

    def __str__(self) -> str:
        """Return the name as it is written."""
        words = (self.stage, self.installation, self.fleet, self.machine, self.pool)
        return ".".join(("hostler", *words, _check(words)))

    @property
    def owner_tag(self) -> OwnerTag:
        """Whose the host is; names know nothing of attempts."""
        return OwnerTag(
            installation=self.installation, fleet=self.fleet, machine=self.machine, attempt=0
        )


def _check(words: tuple[str, ...]) -> str:
    key = hashlib.sha256(words[1].encode()).digest()
    return hashlib.blake2s(".".join(words).encode(), digest_size=4, key=key).hexdigest()


@lru_cache(maxsize=65536)  # names are read anew whenever the checker runs
def read_name(text: str) -> HostName | None:
    """Return what a hostler's name says, or None for any other name: a bare prefix is none."""
    words = text.split(".")
    if len(words) < _LEAST or words[0] != "hostler" or words[1] not in _STAGES:
        return None
    stage, installation, fleet = words[1], words[2], ".".join(words[3:-3])
    machine, pool, check = words[-3:]
    tag = owner_tag_of(installation, fleet, machine)
    if tag is None or not is_digest(pool, 6):
        return None
    if check != _check((stage, installation, fleet, machine, pool)):
        return None
    return HostName(
        stage=Stage(stage),
        installation=tag.installation,
        fleet=tag.fleet,
        machine=tag.machine,
        pool=pool,
    )


def parse_name(name: str) -> tuple[str, OwnerTag] | None:
    """Return the stage and the tag that a hostler's name tells, or None for any other name."""
    found = read_name(name)
    return None if found is None else (found.stage.value, found.owner_tag)


def digest_of(prefix: str) -> str:
    """Return what stands for a pool's prefix in names; six zeros where there is no pool."""
    return hashlib.sha256(prefix.encode()).hexdigest()[:6] if prefix else "0" * 6
