"""Settings: what an account and a fleet of Macs are made of, and what the fleet file may say."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct, field

from hostler.domain.policy.purchasing import Limits
from hostler.providers.scaleway.common.config_tables import AccountTable, Id, MacType, ZoneName

PREFIX = r"^(?!hostler)[A-Za-z0-9][A-Za-z0-9_-]{0,40}$"
A_PREFIX = {
    "expected": "letters, digits, - and _, and not beginning with hostler: names that begin so are "
    "free hosts"
}
PRICES = {"M2-L": 0.21, "M4-XL": 0.49}
"""Euros per hour as a user of these types wrote them down; no API tells them."""

Prefix = Annotated[str, Meta(pattern=PREFIX, extra=A_PREFIX)]


class MacAccountTable(AccountTable, frozen=True, kw_only=True):
    """A Scaleway account with Macs."""

    pool_prefix: Annotated[
        Prefix | None,
        Meta(
            description="how names of free hosts begin, for fleets that name no pool of their own "
            "and for hosts whose pool is not known; without any, nothing can be released"
        ),
    ] = None
    organization: Annotated[
        Id | None,
        Meta(
            description="the organization whose quotas are read before hosts are ordered; left "
            "out: SCW_DEFAULT_ORGANIZATION_ID, or SCW_ORGANIZATION_ID, of the environment; without "
            "any, a quota is known by the refusal of an order only"
        ),
    ] = None
    prices: Annotated[
        dict[str, Annotated[float, Meta(ge=0)]],
        Meta(description="euros per hour of each type; no API tells them"),
    ] = {}  # noqa: RUF012 - msgspec copies it


class OrderTable(Struct, frozen=True, kw_only=True):
    """How many hosts may be ordered for a fleet, and ended when they are not wanted any more."""

    most: Annotated[
        int, Meta(ge=1, le=1000, description="hosts that are ordered and stand at most")
    ]
    batch: Annotated[int, Meta(ge=1, le=100, description="ordered at once at most")] = 10
    spend_per_day: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(
            description="euros that orders of 24 hours may commit to at most; a host is committed "
            "for a day"
        ),
    ] = None

    patience: Annotated[
        timedelta,
        Meta(
            description="how long the size must be asked for before a host is ordered for it: "
            "until then a machine waits for one that comes free"
        ),
    ] = timedelta(0)

    def limits(self) -> Limits:
        """Return the limits that the policy is asked with."""
        return Limits(
            batch=self.batch, most=self.most, cap=self.spend_per_day, patience=self.patience
        )


class MacTable(Struct, frozen=True, kw_only=True):
    """What the Macs of a fleet are claimed by."""

    types: Annotated[
        tuple[MacType, ...],
        Meta(min_length=1, description="types of Mac in order of preference, such as M2-L"),
    ]
    zones: Annotated[
        tuple[ZoneName, ...], Meta(min_length=1, description="zones in order of preference")
    ] = ("fr-par-1",)
    os: Annotated[
        str,
        Meta(
            min_length=1,
            description="the family of macOS; hosts are wiped to its newest image that their type "
            "can boot",
        ),
    ] = "Tahoe"
    pool_prefix: Annotated[
        Prefix | None,
        Meta(
            description="how names of the hosts begin that may be claimed; left out: the account's"
        ),
    ] = None
    private_networks: Annotated[
        tuple[Id, ...], Meta(description="private networks that each host is put into")
    ] = ()
    order: Annotated[
        OrderTable | None,
        Meta(description="order hosts when the pool has none left; left out: never"),
    ] = None


class MacTemplate(Struct, frozen=True, kw_only=True):
    """What a fleet's hosts must be: its pool's prefix, the networks that they are put into.

    `limits` are those of ordering hosts; None where none may be ordered.
    """

    pool: str = ""
    networks: tuple[str, ...] = ()
    limits: Limits | None = None


class MacSite(Struct, frozen=True, kw_only=True):
    """What an account's Macs are read with: all prefixes of pools, the default, prices."""

    pools: tuple[str, ...] = ()
    default: str = ""
    prices: dict[str, float] = field(default_factory=lambda: dict(PRICES))
