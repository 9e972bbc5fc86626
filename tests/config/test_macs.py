"""The fleet file of Macs: what it may say, what it must not, and what is warned of."""

from datetime import timedelta
from pathlib import Path

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.load import load
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError
from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.providers.scaleway.common.opening import organization_of
from hostler.providers.scaleway.macs.kind import site_of, template_of
from hostler.providers.scaleway.macs.settings import MacAccountTable, MacTable, OrderTable

EXAMPLE = Path(__file__).parents[2] / "examples" / "macs.toml"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"

HALF_AN_HOUR = timedelta(minutes=30)


def read(folder: Path, fleet: str, account: str = "") -> Config:
    """Read a file with one fleet."""
    file = folder / "macs.toml"
    file.write_text(
        f'[provider.macs]\nkind = "scaleway-macs"\nproject = "{PROJECT}"\n{account}\n'
        f'[fleet.ci]\nsize = 1\ntypes = ["M2-L"]\n{fleet}\n'
    )
    return load(file, KINDS, STORES)


def wrong(folder: Path, fleet: str, account: str = "") -> str:
    """Return what is said of a file that is wrong."""
    with pytest.raises(WrongFile) as caught:
        read(folder, fleet, account)
    return str(caught.value)


def test_the_example_is_in_order() -> None:
    config = load(EXAMPLE, KINDS, STORES)
    (fleet,) = config.fleets
    assert fleet.offers == (Offer("M2-L", Zone("fr-par-1"), "Tahoe"),)
    assert config.warnings == ()
    assert not fleet.reclaim


def test_offers_go_type_by_type_and_zone_by_zone(tmp_path: Path) -> None:
    fleet = 'zones = ["fr-par-1", "fr-par-3"]\nos = "Sequoia"\npool_prefix = "pool-"'
    offers = read(tmp_path, fleet).fleets[0].offers
    assert [str(offer) for offer in offers] == [
        "M2-L in fr-par-1",
        "M2-L in fr-par-3",
    ]
    assert {offer.image for offer in offers} == {"Sequoia"}


@pytest.mark.parametrize("named", ["macos-tahoe-26.6.1", "Tahoe-26", "devos-tahoe-2026.06.30"])
def test_one_image_is_no_family(tmp_path: Path, named: str) -> None:
    assert "expected a family" in wrong(tmp_path, f'os = "{named}"')


@pytest.mark.parametrize("prefix", ["", "hostler", "hostler-", "-pool", "pool.x", "p" * 42])
def test_a_prefix_that_names_could_not_bear_is_an_error(tmp_path: Path, prefix: str) -> None:
    assert "fleet.ci.pool_prefix" in wrong(tmp_path, f'pool_prefix = "{prefix}"')
    assert "provider.macs.pool_prefix" in wrong(tmp_path, "", f'pool_prefix = "{prefix}"')


def test_a_file_without_any_pool_is_warned_of(tmp_path: Path) -> None:
    (warning,) = read(tmp_path, "").warnings
    assert warning.startswith("fleet.ci.pool_prefix: there is none")
    assert read(tmp_path, 'pool_prefix = "ci-"').warnings == ()
    assert read(tmp_path, "", 'pool_prefix = "pool-"').warnings == ()


def test_a_price_below_nothing_and_an_unknown_key_are_errors(tmp_path: Path) -> None:
    message = wrong(tmp_path, "image = 'x'", "prices = { M2-L = -1.0 }")
    assert "fleet.ci.image" in message
    assert "provider.macs.prices" in message


def test_a_cap_of_spending_needs_a_price_of_each_type(tmp_path: Path) -> None:
    fleet = 'pool_prefix = "pool-"\n[fleet.ci.order]\nmost = 2\nspend_per_day = 12'
    assert read(tmp_path, fleet).warnings == ()
    unpriced = "prices = { M2-L = 0 }"
    message = wrong(tmp_path, fleet, unpriced)
    assert "fleet.ci.order.spend_per_day" in message
    assert "a price of M2-L" in message


def test_the_dearest_type_of_a_fleet_counts_against_its_cap() -> None:
    table = MacTable(
        types=("M2-L", "M4-XL"), order=OrderTable(most=2, spend_per_day=12.0, patience=HALF_AN_HOUR)
    )
    limits = template_of(table, MacAccountTable(prices={"M2-L": 0.3})).limits
    assert limits is not None
    assert (limits.cap, limits.price) == (12.0, 0.49)
    assert limits.patience == HALF_AN_HOUR


def test_a_fleet_without_a_pool_has_its_accounts() -> None:
    account = MacAccountTable(pool_prefix="pool-")
    assert template_of(MacTable(types=("M2-L",)), account).pool == "pool-"
    assert template_of(MacTable(types=("M2-L",), pool_prefix="ci-"), account).pool == "ci-"
    assert template_of(MacTable(types=("M2-L",)), MacAccountTable()).pool == ""


def test_hosts_are_read_with_the_pools_of_all_fleets() -> None:
    fleets = {"a": MacTable(types=("M2-L",), pool_prefix="a-"), "b": MacTable(types=("M2-L",))}
    site = site_of(MacAccountTable(pool_prefix="pool-", prices={"M2-L": 1.0}), fleets)  # pyright: ignore[reportArgumentType] - names are texts
    assert site.pools == ("pool-", "a-")
    assert (site.default, site.prices["M2-L"], site.prices["M4-XL"]) == ("pool-", 1.0, 0.49)


def test_the_organization_is_taken_from_the_file_then_the_environment_and_needed_nowhere() -> None:
    named, other = PROJECT, "11111111" + PROJECT[8:]
    environment = {"SCW_DEFAULT_ORGANIZATION_ID": other}
    assert organization_of(named, environment, "p") == named
    assert organization_of(None, environment, "p") == other
    assert organization_of(None, {"SCW_ORGANIZATION_ID": other}, "p") == other
    assert not organization_of(None, {}, "p")


def test_an_organization_that_is_no_uuid_is_an_error(tmp_path: Path) -> None:
    assert "provider.macs.organization" in wrong(tmp_path, "", 'organization = "mine"')
    with pytest.raises(ConfigError, match=r"p\.organization is no UUID: .*SCW_ORGANIZATION_ID"):
        organization_of(None, {"SCW_ORGANIZATION_ID": "mine"}, "p")
