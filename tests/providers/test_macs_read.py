"""What is read of a Mac: its password, its pool, its stage, and whose it is."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from macs_kit import FLEET, HOST, MACHINE, OTHER, STRANGER, mac, name, reader
from msgspec.structs import replace

from hostler.domain.model.host import TENANT, allocation_of
from hostler.domain.model.resource import Condition, Stage
from hostler.providers.scaleway.macs.api.networks import Attached
from hostler.providers.scaleway.macs.plan.read import SEALED, password


@pytest.mark.parametrize(
    ("given_one", "vnc", "expected"),
    [
        ("api", "vnc://m1:vnc@1.2.3.4:5900", "api"),
        ("", "vnc://m1:vnc@1.2.3.4:5900", "vnc"),
        (None, "vnc://m1:vnc@1.2.3.4:5900", "vnc"),
        (SEALED, "vnc://m1:vnc@1.2.3.4:5900", "vnc"),
        (SEALED, "vnc://m1:p%40ss%2F%3A%23@1.2.3.4:5900", "p@ss/:#"),
        (SEALED, "vnc://m1:%3Csealed%3E@1.2.3.4:5900", ""),
        (SEALED, "vnc://m1:<sealed>@1.2.3.4:5900", ""),
        ("", "", ""),
        ("", None, ""),
        ("", "vnc://1.2.3.4:5900", ""),
        ("", "vnc://m1@1.2.3.4:5900", ""),
        ("", "vnc://m1:@1.2.3.4:5900", ""),
        ("", "vnc://[::1", ""),
        ("", "no url at all", ""),
        (SEALED, "", ""),
    ],
)
def test_the_password_is_the_apis_then_that_of_the_vnc_address(
    given_one: str | None, vnc: str | None, expected: str
) -> None:
    assert password(mac(sudo_password=given_one, vnc_url=vnc)) == expected


@given(st.text(max_size=60))
def test_no_vnc_address_breaks_the_reading(text: str) -> None:
    assert isinstance(password(mac(sudo_password="", vnc_url=text)), str)


def test_a_witness_tells_passwords_apart_and_none_of_them() -> None:
    first = reader().host(mac(sudo_password="hunter2hunter2")).host.witness
    other = reader().host(mac(sudo_password="hunter3hunter3")).host.witness
    sealed = reader().host(mac(sudo_password=SEALED, vnc_url="")).host.witness
    assert first
    assert first != other
    assert sealed == ""
    assert "hunter2" not in repr(reader().host(mac(sudo_password="hunter2hunter2")))


@pytest.mark.parametrize(
    ("text", "stage", "pool"),
    [
        ("pool-1", "pool", "pool-"),
        ("pool-big-1", "pool", "pool-big-"),
        ("other-x", "pool", "other-"),
        ("pool", "other", "pool-"),
        ("apple-silicon-brave-einstein", "unnamed", "pool-"),
        ("mine", "other", "pool-"),
        ("", "other", "pool-"),
        ("hostler.claimed.damaged", "foreign", "pool-"),
        (name(), "claimed", "pool-"),
        (name(pool="other-"), "claimed", "other-"),
        (name(Stage.WIPING), "wiping", "pool-"),
        (name(pool="never-heard-of-"), "claimed", "pool-"),
        (name(installation=STRANGER), "foreign", "pool-"),
    ],
)
def test_a_name_tells_the_stage_and_the_pool(text: str, stage: str, pool: str) -> None:
    """The longest prefix wins; what names no known pool goes to the account's own."""
    resource = reader().host(mac(name=text))
    assert (resource.host.stage, resource.host.pool) == (stage, pool)


def test_without_a_pool_of_the_account_an_unknown_one_is_unknown() -> None:
    resource = reader(default="").host(mac(name=name(pool="never-heard-of-")))
    assert resource.host.pool == ""
    assert reader(default="", pools=()).host(mac(name="pool-1")).host.stage == Stage.OTHER


@pytest.mark.parametrize("stage", Stage)
def test_only_the_stages_of_a_machine_are_its_allocation(stage: Stage) -> None:
    resource = reader().allocation_of(mac(name=name(stage)))
    assert (resource is not None) is (stage in TENANT)
    if resource is not None:
        assert resource.id == allocation_of(HOST, MACHINE)
        assert resource.owner_tag is not None
        assert resource.owner_tag.machine == MACHINE


def test_a_host_that_is_named_otherwise_is_the_allocation_of_a_record_without_an_owner_tag() -> (
    None
):
    resource = reader().renamed(mac(name="mine"), MACHINE)
    assert resource is not None
    assert (resource.owner_tag, resource.condition) == (None, Condition.BUSY)
    others = reader().renamed(mac(name=name(machine=OTHER)), MACHINE)
    assert others is not None
    assert others.owner_tag is None


def test_an_allocation_that_is_over_by_its_name_is_none() -> None:
    assert reader().renamed(mac(name=name(Stage.WIPING)), MACHINE) is None


@pytest.mark.parametrize(
    ("commitment", "output"),
    [
        (None, False),
        ({"type": "duration_24h"}, False),
        ({"type": "renewed_monthly", "cancelled": False}, True),
        ({"type": "renewed_monthly"}, True),
        ({"type": "renewed_monthly", "cancelled": True}, False),
    ],
)
def test_a_commitment_is_told_while_it_renews(commitment: object, output: bool) -> None:
    assert reader().host(mac(commitment=commitment)).host.renews is output


def test_dates_deletions_and_deliveries_are_told() -> None:
    date = datetime(2026, 6, 12, 7, 6, 59, tzinfo=UTC)
    resource = reader().host(mac(deletable_at="2026-06-12T07:06:59Z", deletion_scheduled=True))
    assert resource.host.paid_until == date
    assert resource.host.scheduled is True
    bare = reader().host(mac(deletable_at="soon", delivered=None, os=None, type=None))
    assert (bare.host.paid_until, bare.host.delivered, bare.host.image) == (None, False, "")


def test_the_family_is_that_of_the_image_or_else_of_its_name() -> None:
    named = reader().host(mac(os={"id": "1", "name": "macos-tahoe-26.6.1", "family": ""}))
    devos = reader().host(mac(os={"id": "1", "name": "devos-tahoe-2026.06.30", "family": "DevOS"}))
    assert named.host.image == "tahoe"
    assert devos.host.image == "devos"


@pytest.mark.parametrize(
    ("attached", "condition"),
    [
        ((), Condition.STARTING),
        ((Attached("net-2", 7),), Condition.STARTING),
        ((Attached("net-1", 0),), Condition.STARTING),
        ((Attached("net-1", 5, leaves=True),), Condition.STARTING),
        ((Attached("net-1", 5),), Condition.UP),
        ((Attached("net-1", 5), Attached("net-2", 7)), Condition.UP),
    ],
)
def test_a_machine_is_up_when_it_is_in_its_networks_with_a_known_vlan(
    attached: tuple[Attached, ...], condition: Condition
) -> None:
    wired = replace(reader(), networks={FLEET: ("net-1",)}, attached={HOST: attached})
    resource = wired.allocation_of(mac(name=name(Stage.CLAIMED)))
    assert resource is not None
    assert resource.condition is condition
    others = replace(wired, networks={})
    assert (resource := others.allocation_of(mac(name=name(Stage.CLAIMED)))) is not None
    assert resource.condition is Condition.UP
