"""Quotas of Macs: read before an order, which is not sent where it is certainly beyond one."""

import pytest
from macs_kit import FLEET, NOW, OFFER, WHOSE, ZONE, Project
from structlog.testing import capture_logs

from hostler.domain.ids import MachineId, Zone
from hostler.domain.model.calls import Call, Done, Refusal, Refused
from hostler.domain.model.fleet import Order
from hostler.providers.scaleway.common.wire import Limit, Quotum
from hostler.providers.scaleway.macs.api.quota import highest, limits_of
from hostler.providers.scaleway.macs.plan import host_calls
from hostler.simulators.scaleway.faults.rates import Rule

EXPECTED = "a quota is not known before hosts are ordered"
OTHERS = "11111111-2222-4333-8444-000000000000"
"""An organization of which the key may read nothing."""
THERE = Zone("fr-par-3")


def an_order(many: int) -> Call:
    """Return an order of that many hosts."""
    ids = [MachineId(f"m-{'a' * 9}{letter}") for letter in "abcdefgh"[:many]]
    return host_calls.order(
        FLEET, "pool-", tuple(Order(id=one, offer=OFFER, at=NOW) for one in ids)
    )


async def test_an_order_beyond_the_quota_is_refused_with_the_numbers_and_never_sent() -> None:
    p = Project(2, quotas={"M2-L": 3}, organization=WHOSE)
    outcome = await p.do(an_order(2))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.QUOTA
    assert outcome.text == (
        "the quota of M2-L in fr-par-1 is 3: 2 stand already, and only 1 of 2 more may; ask the "
        "support for a larger one, or lower order.most"
    )
    assert outcome.room == 1
    assert p.changes() == []


@pytest.mark.parametrize("limit", [2, 1])
async def test_an_order_of_which_none_is_within_the_quota_says_so(limit: int) -> None:
    p = Project(2, quotas={"M2-L": limit}, organization=WHOSE)
    outcome = await p.do(an_order(2))
    assert isinstance(outcome, Refused)
    assert "2 stand already, and 2 more are beyond it" in outcome.text
    assert outcome.room == 0


@pytest.mark.parametrize("quotas", [{"M2-L": 3}, {}, {"M4-M": 0}, {"DEV1-S": 0}])
async def test_an_order_within_the_quota_or_without_any_is_sent(quotas: dict[str, int]) -> None:
    p = Project(2, quotas=quotas, organization=WHOSE)
    assert isinstance(await p.do(an_order(1)), Done)
    assert len(p.changes()) == 1


async def test_hosts_of_another_type_do_not_count() -> None:
    p = Project(1, quotas={"M2-L": 2}, organization=WHOSE)
    p.world.stock_macs(2, "M4-M")
    assert isinstance(await p.do(an_order(1)), Done)


@pytest.mark.parametrize(
    ("whose", "broken"),
    [
        ("", ""),
        ("11111111-2222-4333-8444-000000000000", ""),
        (WHOSE, "quota.list"),
        (WHOSE, "mac.list"),
    ],
)
async def test_where_the_quota_is_not_known_the_order_is_sent_and_that_is_told_once(
    whose: str, broken: str
) -> None:
    p = Project(2, quotas={"M2-L": 2}, organization=whose)
    if broken:
        p.world.script(Rule(fault="html_5xx", route=broken, count=10))
    with capture_logs() as logs:
        outcomes = [await p.do(an_order(1)) for _ in range(2)]
    assert [isinstance(outcome, Refused) for outcome in outcomes] == [True, True]
    assert len(p.changes()) == 2, "the API refused it itself"
    assert [entry["event"] for entry in logs].count(EXPECTED) == 1


async def test_a_key_that_may_not_read_quotas_is_told_the_permission() -> None:
    p = Project(1, organization=OTHERS)
    with capture_logs() as logs:
        await p.do(an_order(1))
    (output,) = [entry["why"] for entry in logs if entry["event"] == EXPECTED]
    assert "the API key lacks the permission OrganizationReadOnly" in output


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("apple_silicon_type_M2_L", True),
        ("apple-silicon-m2-l", True),
        ("applesilicon.M2.L.servers", True),
        ("m2_l", True),
        ("apple_silicon_type_M2_XL", False),
        ("apple_silicon_type_M2_LL", False),
        ("apple_silicon_type_XM2_L", False),
        ("cp_servers_type_M2_L", False),
        ("apple_silicon", False),
    ],
)
def test_a_quota_is_of_a_type_whose_name_stands_in_it(name: str, meant: bool) -> None:
    assert limits_of("M2-L", ZONE, [Quotum(name, limit=4)]) == ((4,) if meant else ())


def test_a_limit_of_the_zone_counts_and_one_of_another_zone_does_not() -> None:
    limits = [Limit(limit=7, zone=ZONE), Limit(limit=1, zone=THERE)]
    quota = [Quotum("apple_silicon_m2_l", limits=limits)]
    assert limits_of("M2-L", ZONE, quota) == (7,)
    assert limits_of("M2-L", THERE, quota) == (1,)


def test_of_several_limits_the_highest_is_the_one_that_certainly_holds() -> None:
    assert highest((2, 5)) == 5
    assert highest((2, None)) is None
    assert highest((0,)) == 0
    assert highest(()) is None
