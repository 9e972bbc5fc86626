"""Which Macs can be bought where, for how much, and the images that they boot.

The prices of M2-L and M4-XL are those that a user of them wrote down; the others, the sizes that
nobody wrote down, and the versions of the images are our assumption.
"""

from uuid import uuid5

from msgspec import Struct

from .catalogue import GIB, NAMESPACE
from .mac_records import OsImage

HOUR = 3600.0
LEASE = 24 * HOUR
MONTH = 31 * 24 * HOUR  # as recorded
MONTHLY = "renewed_monthly"
PUBLISHER = "51b656e3-4865-41e8-adbc-0c45bdd780db"
USER = "m1"
VNC_PORT = 59010
BANDWIDTH = 1_000_000_000
BANDWIDTHS = (BANDWIDTH, 2 * BANDWIDTH)


class MacType(Struct, frozen=True):
    """One type of Mac. Memory in GiB, disk in GB, EUR an hour."""

    name: str
    chip: str
    cores: int
    memory: int
    disk: int
    price: float
    zones: tuple[str, ...] = ("fr-par-1",)
    stock: str = "high_stock"


TYPES = {
    sort.name: sort
    for sort in (
        MacType("M1-M", "Apple M1", 8, 8, 256, 0.11, ("fr-par-3",)),
        MacType("M2-M", "Apple M2", 8, 16, 256, 0.17),
        MacType("M2-L", "Apple M2 Pro", 10, 16, 512, 0.21),
        MacType("M4-S", "Apple M4", 10, 16, 256, 0.22, stock="low_stock"),
        MacType("M4-M", "Apple M4", 10, 24, 512, 0.28),
        MacType("M4-XL", "Apple M4 Pro", 14, 64, 2000, 0.49),
    )
}
NEWER = tuple(name for name in TYPES if name != "M1-M")
LARGE = tuple(sort.name for sort in TYPES.values() if sort.disk >= 512)
# (name, label, family, version, Xcode, types): the newest of a family last
IMAGES = (
    ("macos-sonoma-14.7", "macOS Sonoma 14.7", "Sonoma", "14.7", "16.2", ("M1-M", "M2-M", "M2-L")),
    ("macos-sequoia-15.5", "macOS Sequoia 15.5", "Sequoia", "15.5", "16.4", tuple(TYPES)),
    ("macos-sequoia-15.7", "macOS Sequoia 15.7", "Sequoia", "15.7", "26.0", tuple(TYPES)),
    ("macos-tahoe-26.5", "macOS Tahoe 26.5", "Tahoe", "26.5", "26.4", tuple(TYPES)),
    ("macos-tahoe-26.6.1", "macOS Tahoe 26.6.1", "Tahoe", "26.6.1", "26.5", NEWER),
    ("devos-tahoe-2026.06.30", "DevOS Tahoe", "DevOS", "20260630-26", "26.5", LARGE),
)
DEVOS = "DevOS"
DEFAULT_IMAGE = "macos-tahoe-26.5"


def types_of(zone: str) -> dict[str, MacType]:
    """Return the types that a zone has."""
    return {name: sort for name, sort in TYPES.items() if zone in sort.zones}


def published(now: float) -> list[OsImage]:
    """Return all images, the same with the same ids in every world."""
    return [
        OsImage(
            id=str(uuid5(NAMESPACE, "apple-silicon/" + name)),
            zone="",
            name=name,
            organization=PUBLISHER,
            project=PUBLISHER,
            created=now,
            modified=now,
            tags=[label],
            family=family,
            version=version,
            xcode=xcode,
            types=types,
        )
        for name, label, family, version, xcode, types in IMAGES
    ]


def disk_bytes(sort: MacType) -> int:
    """Return the size of a type's disk."""
    return sort.disk * 1000**3


def memory_bytes(sort: MacType) -> int:
    """Return the size of a type's memory."""
    return sort.memory * GIB


def mac_quota_name(type_name: str) -> str:
    """Return how the quota of a type is called; the name is our assumption."""
    return "apple_silicon_type_" + type_name.replace("-", "_")
