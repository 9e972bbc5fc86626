"""Names: the only owner tag that a Mac can carry. A name of ours parses whole, or is none.

`hostler.STAGE.INSTALLATION.FLEET.MACHINE.POOL.CHECK`: the stage says what is being done with the
host, POOL is a digest of the prefix of the pool that it came from, CHECK is keyed with the
installation's id. A bare prefix is no owner tag.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId
from hostler.domain.model.host import KEPT, TENANT
from hostler.domain.model.resource import Stage

STAGES = TENANT | KEPT
"""The stages that a name can tell."""

_INSTALLATION = r"[A-Za-z0-9_-]{1,64}"
_FLEET = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_MACHINE = r"m-[a-z2-7]{10}"
_NAME = re.compile(
    rf"hostler\.(?P<stage>{'|'.join(sorted(STAGES))})\.(?P<installation>{_INSTALLATION})"
    rf"\.(?P<fleet>{_FLEET})\.(?P<machine>{_MACHINE})\.(?P<pool>[0-9a-f]{{6}})"
    rf"\.(?P<check>[0-9a-f]{{8}})"
)


class Name(Struct, frozen=True, kw_only=True):
    """A name of a hostler's, of ours or of another installation."""

    stage: Stage
    installation: InstallationId
    fleet: FleetName
    machine: MachineId
    pool: str

    def __str__(self) -> str:
        """Return the name as it is written."""
        body = f"{self.installation}.{self.fleet}.{self.machine}.{self.pool}"
        return f"hostler.{self.stage}.{body}.{_check(self.installation, self.stage, body)}"


def _check(installation: str, stage: str, body: str) -> str:
    key = hashlib.sha256(installation.encode()).digest()
    return hashlib.blake2s(f"{stage}.{body}".encode(), key=key, digest_size=4).hexdigest()


@lru_cache(maxsize=65536)
def name_of(text: str) -> Name | None:
    """Return the name that a text is, or None: strict, and never raises."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    name = Name(
        stage=Stage(found["stage"]),
        installation=InstallationId(found["installation"]),
        fleet=FleetName(found["fleet"]),
        machine=MachineId(found["machine"]),
        pool=found["pool"],
    )
    return name if str(name) == text else None


@lru_cache(maxsize=1024)
def pool_digest(prefix: str) -> str:
    """Return what stands for a pool's prefix in names; six zeros where there is no pool."""
    return hashlib.sha256(prefix.encode()).hexdigest()[:6] if prefix else "000000"


def pool_of(digest: str, prefixes: Iterable[str]) -> str:
    """Return the prefix that a digest stands for, or an empty string where none of these is it."""
    return next((prefix for prefix in prefixes if pool_digest(prefix) == digest), "")


def pool_name(prefix: str, host: HostId, wiped: str) -> str:
    """Return a fresh name in a pool: another one for each wipe, the same when it is asked again."""
    return f"{prefix}{hashlib.sha256(f'{host} {wiped}'.encode()).hexdigest()[:12]}"
