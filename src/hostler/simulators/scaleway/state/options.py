"""How a simulated Scaleway is set up: who may enter, what it costs in time, and its limits."""

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct, field
from msgspec.structs import replace

FLOORS = ("412", "412-untyped", "400", "403")
"""The shapes in which a deletion before its date is refused."""


DELETED_STATUSES = ("403", "404")


MOST = 5000  # Macs in one stock


class MacOptions(Struct, frozen=True, kw_only=True):
    """The setting of the Apple silicon part. Spans are seconds of world time.

    floor: how a deletion that comes too early is refused: one of `FLOORS`, or "mixed" (drawn).
    deleted_status: what a deleted server answers: "403", as recorded, or "404".
    sealed: for how long after an installation its password is `<sealed>` where it is read, too.
    vlan_polls: an attachment is read up to so many times before its VLAN is shown.
    """

    floor: str = "412"
    deleted_status: str = "403"
    sealed: float = 0.0
    vlan_polls: int = 0

    def __post_init__(self) -> None:
        if self.floor not in {*FLOORS, "mixed"}:
            raise ValueError(f"floor: expected one of {', '.join(FLOORS)} or mixed")
        if self.deleted_status not in DELETED_STATUSES:
            raise ValueError(f"deleted_status: expected {' or '.join(DELETED_STATUSES)}")


class Stock(Struct, frozen=True):
    """Macs that somebody has bought, delivered and ready, named by a prefix and a number."""

    count: int
    type_name: str = "M2-L"
    zone: str = "fr-par-1"
    prefix: str = "pool-"

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise ValueError(f"macs: expected 1 to {MOST} of them, not {self.count}")


def stock_of(text: str) -> Stock:
    """Read `N[:TYPE[:ZONE[:PREFIX]]]`; what is left out or empty is as usual.

    Raises ValueError for what is none.
    """
    count, *rest = text.split(":", 3)
    if not count.isdecimal():
        raise ValueError(f"macs: expected N[:TYPE[:ZONE[:PREFIX]]], not {text}")
    usual = Stock(int(count))
    fields = dict(zip(("type_name", "zone", "prefix"), rest, strict=False))
    return replace(usual, **{name: value for name, value in fields.items() if value})


INSTANCE_ZONES = (
    "fr-par-1",
    "fr-par-2",
    "fr-par-3",
    "nl-ams-1",
    "nl-ams-2",
    "nl-ams-3",
    "pl-waw-1",
    "pl-waw-2",
    "pl-waw-3",
    "it-mil-1",
)
ORGANIZATION = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
GENERATIONS = ("2026", "2025", "mixed")


class Account(Struct, frozen=True, kw_only=True):
    """One secret key and whose it is. Resources of other organisations are not found with it."""

    secret_key: str
    organization: str
    project: str


class Options(Struct, frozen=True, kw_only=True):
    """The setting of one world. Spans are seconds of world time.

    generation: which bodies refusals have: "2026", "2025", or "mixed" (drawn for each refusal).
    accounts: who may enter; none given means that any UUID is a good secret key.
    epoch, date_pace: the date at clock 0, and how many seconds of world time pass in one second
        of dates: a server that runs its clock ten times faster still shows today's dates.
    pace: a factor on the length of every transition (0.1: ten times quicker).
    latency: a factor on the latency of every answer (0: at once).
    boot: half of all guests are up so long after `running`, and nine in ten (`boot_slow`).
    list_lag: a new resource is missing in lists for up to so long.
    ipam_lag: the addresses of a private NIC are missing in IPAM for up to so long.
    rate, burst: the gateway's limit in requests a second; 0 means none.
    quotas: how many of a server type, or of "ips", an organisation may have; absent: no limit.
    stock: availability by "TYPE" or "zone/TYPE"; absent: as in the catalogue.
    shortage: what a shortage does: refuses the "create" or the "start", lets a start "fall_back".
    guests: server addresses are in 127.64.0.0/10, where listeners can stand.
    journal: how many lines the journal keeps.
    macs: the setting of the Apple silicon part.
    """

    generation: str = "2026"
    accounts: tuple[Account, ...] = ()
    organization: str = ORGANIZATION
    project: str = ORGANIZATION
    zones: tuple[str, ...] = INSTANCE_ZONES
    epoch: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    date_pace: float = 1.0
    pace: float = 1.0
    latency: float = 1.0
    boot: float = 8.0
    boot_slow: float = 15.0
    list_lag: float = 0.0
    ipam_lag: float = 1.0
    rate: float = 0.0
    burst: int = 100
    quotas: Mapping[str, int] = field(default_factory=dict[str, int])
    stock: Mapping[str, str] = field(default_factory=dict[str, str])
    shortage: str = "start"
    guests: bool = False
    journal: int = 10_000
    macs: MacOptions = MacOptions()
