"""Names are the only mark that can be written on a Mac: they parse whole, or are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from macs_kit import FLEET, HOME, HOST, MACHINE, STRANGER, name

from hostler.domain.ids import FleetName, InstallationId, machine_id
from hostler.providers.scaleway.macs.plan.names import (
    STAGES,
    Name,
    name_of,
    pool_digest,
    pool_name,
    pool_of,
)

EDGE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NAMES = st.builds(
    Name,
    stage=st.sampled_from(sorted(STAGES)),
    installation=st.text(EDGE + "_-", min_size=1, max_size=64).map(InstallationId),
    fleet=st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", fullmatch=True).map(
        FleetName
    ),
    machine=st.integers(min_value=0, max_value=2**50 - 1).map(machine_id),
    pool=st.text(max_size=12).map(pool_digest),
)


@given(NAMES)
def test_a_name_reads_back_as_it_was_written(given_name: Name) -> None:
    assert name_of(str(given_name)) == given_name


@given(st.text(max_size=300))
def test_hostile_text_is_no_name_or_reads_back(text: str) -> None:
    found = name_of(text)
    assert found is None or str(found) == text


@given(NAMES, st.integers(min_value=0), st.characters())
def test_a_name_with_one_letter_changed_is_none(given_name: Name, place: int, letter: str) -> None:
    text = str(given_name)
    at = place % len(text)
    damaged = text[:at] + letter + text[at + 1 :]
    assert damaged == text or name_of(damaged) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hostler",
        "hostler.",
        "hostler.claimed",
        "pool-1",
        "apple-silicon-brave-einstein",
        "hostler.claimed.home1234.macs.m-abcdefghij.d4b1c5",
        "hostler.claimed.home1234.macs.m-abcdefghij.d4b1c5.00000000",
        "hostler.grabbed.home1234.macs.m-abcdefghij.d4b1c5.00000000",
        f"{name()} ",
        f" {name()}",
        f"{name()}\n",
        name().upper(),
        name().replace("claimed", "pending"),
        name().replace("home1234", "home1235"),
        "hostler.claimed." + "x" * 400,
    ],
)
def test_what_is_almost_a_name_is_none(text: str) -> None:
    assert name_of(text) is None


def test_a_name_of_another_installation_is_read_as_its_own() -> None:
    found = name_of(name(installation=STRANGER))
    assert found is not None
    assert (found.installation, found.fleet, found.machine) == (STRANGER, FLEET, MACHINE)
    assert found.installation != HOME


def test_the_digest_of_a_pool_leads_back_to_its_prefix_alone() -> None:
    prefixes = ("pool-", "pool-big-", "other-")
    for prefix in prefixes:
        assert pool_of(pool_digest(prefix), prefixes) == prefix
    assert pool_of(pool_digest("unknown-"), prefixes) == ""
    assert pool_digest("") == "000000"
    assert pool_of(pool_digest(""), prefixes) == ""


def test_a_name_in_the_pool_is_another_one_after_each_wipe() -> None:
    first = pool_name("pool-", HOST, "2026-08-01")
    assert first.startswith("pool-")
    assert first == pool_name("pool-", HOST, "2026-08-01")
    assert first != pool_name("pool-", HOST, "2026-08-02")
    assert name_of(first) is None
