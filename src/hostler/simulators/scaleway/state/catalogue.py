"""What can be bought: server types with their prices, availability, quotas, and public images.

Sizes and prices of the types named in `KNOWN` were recorded; those of the families are our
assumption, made so that there are as many types as in the real fr-par-1 (three pages of them).
"""

from uuid import UUID, uuid5

from msgspec import Struct

GIB = 1024**3
GB = 1000**3
HOURS_IN_MONTH = 730
IPV4_PER_HOUR = 0.004
BLOCK_GB_PER_HOUR = 0.000118  # our assumption, for 5000 IOPS; twice that for 15000
LOCAL_GB_PER_HOUR = 0.000044  # our assumption, for a volume that no server holds
NAMESPACE = UUID("6f1f9a52-8a34-4b57-9a0c-2b2f2a8f6d11")


class ServerType(Struct, frozen=True):
    """One commercial type. Memory in GiB, EUR an hour, local storage in GB (0: has none)."""

    name: str
    cores: int
    memory: int
    price: float
    arch: str = "x86_64"
    local: int = 0
    gpus: int = 0
    availability: str = "available"


KNOWN = (
    ServerType("DEV1-S", 2, 2, 0.01368, local=20),
    ServerType("DEV1-M", 3, 4, 0.0198, local=40),
    ServerType("DEV1-L", 4, 8, 0.042, local=80),
    ServerType("DEV1-XL", 4, 12, 0.0638, local=120),
    ServerType("GP1-XS", 4, 16, 0.091, local=150),
    ServerType("GP1-S", 8, 32, 0.187, local=300),
    ServerType("PLAY2-PICO", 1, 2, 0.014),
    ServerType("PLAY2-NANO", 2, 4, 0.027),
    ServerType("PLAY2-MICRO", 4, 8, 0.054),
    ServerType("PRO2-XXS", 2, 8, 0.055),
    ServerType("PRO2-XS", 4, 16, 0.11),
    ServerType("PRO2-S", 8, 32, 0.219),
    ServerType("PRO2-M", 16, 64, 0.438, availability="scarce"),
    ServerType("POP2-2C-8G", 2, 8, 0.0735),
    ServerType("BASIC2-A2C-4G", 2, 4, 0.023, arch="arm64"),
    ServerType("BASIC2-A4C-8G", 4, 8, 0.046, arch="arm64"),
    ServerType("COPARM1-2C-8G", 2, 8, 0.0426, arch="arm64"),
    ServerType("L4-1-24G", 8, 48, 0.75, gpus=1, availability="scarce"),
    ServerType("H100-1-80G", 24, 240, 2.73, gpus=1, availability="shortage"),
)
# (family, memory of a core in GiB, price of a core, arch): our assumption
FAMILIES = (
    ("POP2", 4, 0.0368, "x86_64"),
    ("POP2-HC", 2, 0.0266, "x86_64"),
    ("POP2-HM", 8, 0.0515, "x86_64"),
    ("POP2-HN", 2, 0.0669, "x86_64"),
    ("STANDARD1", 4, 0.0301, "x86_64"),
    ("COMPUTE1", 2, 0.0263, "x86_64"),
    ("MEMORY1", 8, 0.0411, "x86_64"),
    ("BASIC1", 2, 0.0162, "x86_64"),
    ("BASIC1-A", 2, 0.0121, "arm64"),
    ("COPARM1", 4, 0.0213, "arm64"),
    ("EDGE1", 4, 0.0345, "x86_64"),
    ("ENT1", 4, 0.0391, "x86_64"),
)
CORES = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128)


def family_types() -> list[ServerType]:
    """Return the types that the families make up, without those that are known by name."""
    known = {kind.name for kind in KNOWN}
    made = [
        ServerType(f"{family}-{cores}C-{cores * memory}G", cores, cores * memory, price, arch)
        for family, memory, core_price, arch in FAMILIES
        for cores in CORES
        for price in (round(core_price * cores, 4),)
    ]
    return [kind for kind in made if kind.name not in known]


ALL_TYPES = (*KNOWN, *family_types())
FEW = 41  # as many types has a small zone
SMALL_ZONES = frozenset({"fr-par-3", "nl-ams-3", "pl-waw-3"})
TYPES = {kind.name: kind for kind in ALL_TYPES}
SMALL = {kind.name: kind for kind in ALL_TYPES[:FEW]}


DISKLESS_ZONES = frozenset({"it-mil-1"})
"""Where every type boots from Block Storage, and none is of arm64, as recorded."""
DISKLESS = {name: kind for name, kind in SMALL.items() if not kind.local and kind.arch == "x86_64"}


def types_of(zone: str) -> dict[str, ServerType]:
    """Return the types that a zone offers, by name."""
    if zone in DISKLESS_ZONES:
        return DISKLESS
    return SMALL if zone in SMALL_ZONES else TYPES


# Quotas per organisation: once a payment method is known, and once the identity is, too.
PAYMENT_QUOTAS = {
    "DEV1-S": 10,
    "DEV1-M": 8,
    "DEV1-L": 5,
    "DEV1-XL": 0,
    "PLAY2-PICO": 10,
    "PLAY2-NANO": 5,
    "PLAY2-MICRO": 3,
    "GP1-XS": 1,
    "PRO2-XXS": 1,
    "PRO2-XS": 0,
    "PRO2-S": 0,
    "PRO2-M": 0,
    "POP2-2C-8G": 1,
    "L4-1-24G": 0,
    "ips": 20,
}
IDENTITY_QUOTAS = {
    "DEV1-S": 20,
    "DEV1-M": 15,
    "DEV1-L": 10,
    "DEV1-XL": 6,
    "PLAY2-PICO": 15,
    "PLAY2-NANO": 10,
    "PLAY2-MICRO": 5,
    "GP1-XS": 4,
    "PRO2-XXS": 5,
    "PRO2-XS": 4,
    "PRO2-S": 4,
    "PRO2-M": 3,
    "POP2-2C-8G": 5,
    "L4-1-24G": 1,
    "ips": 50,
}


class PublicImage(Struct, frozen=True):
    """One entry of the marketplace; `minimum` is the least size of its root volume in GB."""

    label: str
    name: str
    minimum: int = 10


PUBLIC_IMAGES = (
    PublicImage("ubuntu_noble", "Ubuntu 24.04 Noble Numbat"),
    PublicImage("ubuntu_jammy", "Ubuntu 22.04 Jammy Jellyfish"),
    PublicImage("debian_bookworm", "Debian Bookworm"),
    PublicImage("debian_trixie", "Debian Trixie"),
    PublicImage("fedora_42", "Fedora 42"),
    PublicImage("rockylinux_9", "Rocky Linux 9"),
    PublicImage("docker", "Docker"),
)
ARCHS = ("x86_64", "arm64")
LOCAL_IMAGE_TYPES = ("instance_local", "instance_sbs")


def image_id(zone: str, label: str, arch: str, kind: str) -> str:
    """Return the id of a public image, which is the same in every run."""
    return str(uuid5(NAMESPACE, f"{zone}/{label}/{arch}/{kind}"))


def quota_name(key: str) -> str:
    """Return how a quota is called in an error."""
    return "ips" if key == "ips" else "cp_servers_type_" + key.replace("-", "_")
