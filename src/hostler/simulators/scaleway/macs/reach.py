"""What a connection to SSH on a simulated Mac meets: in process, and served on loopback."""

import base64
import hashlib
from enum import StrEnum
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct

from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import USER
from hostler.simulators.scaleway.state.mac_records import Disk, Mac, MacStatus

ANSWERING = frozenset({MacStatus.READY, MacStatus.BUSY})
"""The statuses in which SSH answers: that it does not while updating is our assumption."""


class Ssh(StrEnum):
    """How SSH answers a connection."""

    UP = "up"
    REFUSED = "refused"
    SILENT = "silent"  # accepted, and then nothing comes


class Reach(Struct, frozen=True, kw_only=True):
    """What one connection meets. Who has a key of `disk.keys`, or the password, may log in.

    seed: what the private host key is made from that is shown; that of the disk, as a rule.
    """

    mac_id: str
    ssh: Ssh
    user: str
    password: str
    disk: Disk
    seed: bytes

    @property
    def host_key(self) -> str:
        """The fingerprint of the host key that is shown, as OpenSSH writes it."""
        return fingerprint(self.seed)


def reach(cloud: Cloud, address: str) -> Reach | None:
    """Return what a connection to an address meets now, or None where no Mac is.

    A wrong host key is shown to one connection: each call stands for one.
    """
    mac = cloud.mac_at.get(address)
    if mac is None:
        return None
    ssh, seed = ssh_of(cloud, mac), mac.disk.seed
    if ssh is Ssh.UP and mac.porch.wrong_keys:
        mac.porch.wrong_keys -= 1
        seed = hashlib.sha256(b"forged " + seed).digest()
    return Reach(mac_id=mac.id, ssh=ssh, user=USER, password=mac.password, disk=mac.disk, seed=seed)


def ssh_of(cloud: Cloud, mac: Mac) -> Ssh:
    """Return how SSH on a Mac answers."""
    if mac.ended is not None or mac.status not in ANSWERING or mac.porch.refused > cloud.now:
        return Ssh.REFUSED
    return Ssh.SILENT if mac.porch.silent > cloud.now else Ssh.UP


@lru_cache(maxsize=1024)
def fingerprint(seed: bytes) -> str:
    """Return the fingerprint of the Ed25519 key that is made from a seed."""
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    parts = (b"ssh-ed25519", public)
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return "SHA256:" + digest.rstrip("=")
