"""Tables: what the fleet file may say of Scaleway; the descriptions are the reference of it.

Decimal gigabytes everywhere, as Scaleway counts them.
"""

import re
from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from hostler.ports.kind import POSITIVE, SIZE, refused

from .settings import GIGABYTE, Disk, Template

UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
_UUID = f"^{UUID.pattern}$"
_A_UUID = {"expected": "a UUID"}
_CURE = (
    "put it into a file and name that in secret_key_file, or into the environment (SCW_SECRET_KEY, "
    "or the name in secret_key_env); then make a new key, for this one may have been read"
)

Id = Annotated[str, Meta(pattern=_UUID, extra=_A_UUID)]
TypeName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z0-9][A-Z0-9-]{1,39}$",
        extra={"expected": 'a type of server, such as "DEV1-S" or "PLAY2-PICO"'},
    ),
]
MacType = Annotated[
    str,
    Meta(pattern=r"^[A-Z0-9][A-Z0-9-]{1,39}$", extra={"expected": 'a type of Mac, such as "M2-L"'}),
]
ZoneName = Annotated[
    str,
    Meta(pattern=r"^[a-z]{2}-[a-z]{3}-[0-9]$", extra={"expected": 'a zone, such as "fr-par-1"'}),
]
Tag = Annotated[
    str,
    Meta(
        pattern=r"^(?!hostler)[^,\x00-\x1f]{1,128}$",
        extra={"expected": "a tag: no comma, and not beginning with hostler"},
    ),
]
Text = Annotated[str, Meta(min_length=1)]
Bytes = Annotated[int, Meta(extra=SIZE)]


class AccountTable(Struct, frozen=True, kw_only=True):
    """A Scaleway account."""

    endpoint: Annotated[
        str,
        Meta(
            pattern=r"^https?://[^\s/?#@]+[^\s?#@]*$",
            description="where the API is; another one for tests and simulators",
            extra={"expected": 'an address such as "https://api.scaleway.com"'},
        ),
    ] = "https://api.scaleway.com"
    project: Annotated[
        Id | None,
        Meta(
            description="the project that everything is in; left out: SCW_DEFAULT_PROJECT_ID, or "
            "SCW_PROJECT_ID, of the environment"
        ),
    ] = None
    secret_key_env: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$",
            description="the environment variable that holds the secret key",
            extra={"expected": "the name of an environment variable"},
        ),
    ] = "SCW_SECRET_KEY"  # noqa: S105 - a name, not a secret
    secret_key_file: Annotated[
        Text | None,
        Meta(
            description="a file that holds the secret key and nothing else; it comes before the "
            "environment",
        ),
    ] = None
    secret_key: Annotated[object, refused(_CURE)] = None
    consistency_delay: Annotated[
        timedelta,
        Meta(
            extra=POSITIVE,
            description="how long effects and listings may lag; measured: see "
            "`hostler_consistency_delay_seconds_max`",
        ),
    ] = timedelta(seconds=60)
    ca_file: Annotated[
        Text | None,
        Meta(description="certificates (PEM) to trust instead of the system's"),
    ] = None


class VolumeTable(Struct, frozen=True, kw_only=True):
    """One disk."""

    size: Annotated[Bytes, Meta(description="its size, in whole gigabytes")]
    type: Annotated[
        Literal["sbs_volume", "l_ssd"],
        Meta(description="`sbs_volume`: block storage; `l_ssd`: local, goes with the server"),
    ] = "sbs_volume"
    iops: Annotated[Literal[5000, 15000], Meta(description="rate of a block volume")] = 5000

    def disk(self, key: str) -> Disk:
        """Return the disk; ValueError where its size is none."""
        if self.size % GIGABYTE or not GIGABYTE <= self.size <= 10_000 * GIGABYTE:
            raise ValueError(f'{key}.size: expected whole gigabytes from "1GB" to "10000GB"')
        return Disk(size=self.size // GIGABYTE, type=self.type, iops=self.iops)


class MachineTable(Struct, frozen=True, kw_only=True):
    """What the servers of a fleet are made from."""

    types: Annotated[
        tuple[TypeName, ...],
        Meta(
            min_length=1,
            description="types of server in order of preference: the first one is tried in every "
            "zone, then the second in every zone, and so on",
        ),
    ]
    zones: Annotated[
        tuple[ZoneName, ...], Meta(min_length=1, description="zones in order of preference")
    ] = ("fr-par-1",)
    image: Annotated[
        str, Meta(min_length=1, description="a label of the marketplace, or an image's id")
    ] = "ubuntu_noble"
    cloud_init: Annotated[
        str | None, Meta(description="user data for cloud-init; no place for secrets")
    ] = None
    cloud_init_file: Annotated[
        Text | None, Meta(description="a file that holds it, seen from the fleet file")
    ] = None
    volume: Annotated[
        VolumeTable | None, Meta(description="the root disk; left out: 20 GB of block storage")
    ] = None
    volumes: Annotated[tuple[VolumeTable, ...], Meta(description="further disks")] = ()
    public_ipv4: Annotated[bool, Meta(description="give each server a routed IPv4 address")] = True
    public_ipv6: Annotated[bool, Meta(description="give each server a routed IPv6 address")] = False
    private_networks: Annotated[
        tuple[Id, ...], Meta(description="private networks in which each server gets a card")
    ] = ()
    security_group: Annotated[Id | None, Meta(description="left out: the project's default")] = None
    placement_group: Annotated[Id | None, Meta(description="how servers lie to each other")] = None
    tags: Annotated[tuple[Tag, ...], Meta(description="tags beside our own owner tags")] = ()
    address_pool: Annotated[
        Tag | None,
        Meta(
            description="take free IPv4 addresses with this tag, and give them back, instead of "
            "making and deleting them"
        ),
    ] = None
    server_protection: Annotated[
        bool,
        Meta(
            description="set the provider's own protection on each server, so that nobody deletes "
            "one by mistake; it is lifted when its machine ends"
        ),
    ] = False
    user: Annotated[str, Meta(min_length=1, description="the login on the servers")] = "root"

    def template(self, cloud_init: str) -> Template:
        """Return the template; ValueError names the key that is wrong."""
        root = self.volume.disk("volume") if self.volume else Disk()
        return Template(
            image=self.image,
            cloud_init=cloud_init,
            root=root,
            disks=tuple(v.disk(f"volumes[{n}]") for n, v in enumerate(self.volumes)),
            ipv4=self.public_ipv4,
            ipv6=self.public_ipv6,
            networks=self.private_networks,
            security_group=self.security_group or "",
            placement_group=self.placement_group or "",
            tags=self.tags,
            pool=self.address_pool or "",
            protected=self.server_protection,
            user=self.user,
        )
