"""Settings: what an account and a fleet of Scaleway Instances are made of, as plain values."""

from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import Struct

from hostler.ports.secret import Secret

GIGABYTE = 1_000_000_000
"""Scaleway counts disks in decimal gigabytes."""

LARGEST_USER_DATA = 127_998
"""Bytes of user data at most: the bound of the official Terraform provider (instance/server.go)."""

DEADLINE = timedelta(seconds=20)
"""How long one call may take."""


class Account(Struct, frozen=True, kw_only=True):
    """Whose money it is: the endpoint (no trailing slash), the project, and the secret key."""

    project: str
    secret_key: Secret
    organization: str = ""
    endpoint: str = "https://api.scaleway.com"


class Disk(Struct, frozen=True, kw_only=True):
    """One volume of a server: `size` in decimal gigabytes, and the I/O rate of block volumes.

    `type` is `sbs_volume` (network block storage) or `l_ssd` (on the hypervisor; it has no
    `iops` and goes with the server when that is terminated).
    """

    size: int = 20
    type: str = "sbs_volume"
    iops: int = 5000

    def __str__(self) -> str:
        """Return the disk in a line of a plan."""
        rate = f" {self.iops} IOPS" if self.type == "sbs_volume" else ""
        return f"{self.size} GB {self.type}{rate}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What the machines of one fleet are made of.

    `image` is a label of the marketplace (`ubuntu_noble`) or an id, and is used where the offer
    names none. IPv4 is on by default because most networks still need it; IPv6 is off, because an
    address that nobody asked for is an entrance that nobody watches. `pool` is the tag of addresses
    that exist already and are to be used, and given back, instead of being made and deleted.
    """

    image: str = "ubuntu_noble"
    cloud_init: str = field(default="", repr=False)
    root: Disk = Disk()
    disks: tuple[Disk, ...] = ()
    ipv4: bool = True
    ipv6: bool = False
    networks: tuple[str, ...] = ()
    security_group: str = ""
    placement_group: str = ""
    tags: tuple[str, ...] = ()
    pool: str = ""
    protected: bool = False
    user: str = "root"

    @property
    def volumes(self) -> tuple[Disk, ...]:
        """All disks, the root first: the place in this tuple is the volume's index."""
        return (self.root, *self.disks)

    @property
    def image_kind(self) -> str:
        """The marketplace's word for the images that this root disk can start from."""
        return "instance_local" if self.root.type == "l_ssd" else "instance_sbs"

    @property
    def addresses(self) -> tuple[int, ...]:
        """The indexes of the address slots to fill: 0 is IPv4, 1 is IPv6."""
        return (*((0,) if self.ipv4 else ()), *((1,) if self.ipv6 else ()))


class Prices(Struct, frozen=True, kw_only=True):
    """Euros per hour of what no listing of the API prices: our assumption, from the price list.

    Server types are learnt from the API (`hourly_price`). An IPv6 address is free of charge.
    """

    ipv4: float = 0.004
    ipv6: float = 0.0
    sbs_5k_gb: float = 0.000118
    sbs_15k_gb: float = 0.000176
    l_ssd_gb: float = 0.000055
