"""What asking the API tells of an account with Macs, changing nothing."""

import pytest
from macs_kit import FLEET, OFFER, STRANGER, WHOSE, ZONE, Project, name

from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.ports.online import Finding
from hostler.simulators.scaleway.faults.rates import Rule

TYPE = "M2-L in fr-par-1"
IMAGES = "images of {} for " + TYPE


async def found(project: Project, *offers: Offer) -> dict[str, Finding]:
    """Return the findings by what they are about; nothing may have been changed."""
    findings = await project.macs.check_online({FLEET: offers or (OFFER,)})
    assert project.changes() == []
    return {finding.about: finding for finding in findings}


async def test_an_account_that_is_in_order_says_so() -> None:
    message = await found(Project(3))
    assert {about: finding.text for about, finding in message.items()} == {
        "fr-par-1": "answers; 3 Macs in the project",
        TYPE: "is sold there (high_stock)",
        IMAGES.format("Tahoe"): "the newest is macos-tahoe-26.6.1",
        "pool pool- of fleet macs": "3 hosts, 3 of them free and fitting",
    }
    assert all(finding.well for finding in message.values())


async def test_hosts_in_use_count_for_the_pool_and_are_not_free() -> None:
    project = Project(4)
    claimed, foreign, elsewhere, _ = project.ids
    project.world.console.rename(claimed, name())
    project.world.console.rename(foreign, name(installation=STRANGER))
    project.world.console.rename(elsewhere, "desk-1")
    message = await found(project)
    assert message["pool pool- of fleet macs"].text == "2 hosts, 1 of them free and fitting"


async def test_a_pool_in_which_nothing_stands_is_told() -> None:
    project = Project(1)
    project.world.console.rename(project.ids[0], "desk-1")
    finding = (await found(project))["pool pool- of fleet macs"]
    assert (finding.well, "begins with pool-" in finding.text) == (False, True)
    assert "hostler pool FILE add SERVER" in finding.text


async def test_a_family_that_is_not_published_and_a_type_that_is_not_sold_are_told() -> None:
    project = Project(1)
    message = await found(project, Offer("M2-L", ZONE, "Catalina"), Offer("M9-X", ZONE, "Tahoe"))
    assert not message[IMAGES.format("Catalina")].well
    assert message[IMAGES.format("Catalina")].lasting
    assert (
        "; there are DevOS, Sequoia, Sonoma, Tahoe: see `os`"
        in message[IMAGES.format("Catalina")].text
    )
    unsold = message["M9-X in fr-par-1"]
    assert (unsold.well, unsold.lasting) == (False, True)
    assert unsold.text.startswith("is not sold there; sold are M2-L, ")


async def test_a_type_that_is_not_sold_is_told_also_where_no_types_are_listed() -> None:
    project = Project(1)
    project.world.script(Rule(fault="html_5xx", route="mac_type.list", count=10))
    message = await found(project, Offer("M9-X", ZONE, "Tahoe"))
    assert message["M9-X in fr-par-1"].text == "is not sold there"


async def test_a_zone_that_there_is_not_is_told_once() -> None:
    there = Zone("xx-yyy-1")
    message = await found(Project(1), OFFER, Offer("M2-L", there, "Tahoe"))
    assert [f.about for f in message.values() if not f.well] == [there]
    assert TYPE in message


async def test_a_zone_that_cannot_be_listed_is_told_and_nothing_is_said_of_its_pool() -> None:
    project = Project(1)
    project.world.script(Rule(fault="html_5xx", route="mac.list", count=10))
    message = await found(project)
    assert list(message) == ["fr-par-1"]
    assert (message["fr-par-1"].well, message["fr-par-1"].lasting) == (False, False)
    assert "cannot be listed" in message["fr-par-1"].text


@pytest.mark.parametrize(
    ("quotas", "well", "text"),
    [
        ({"M2-L": 5}, True, "is 5; 3 exist in the project, and fleet macs may order 5"),
        ({"M2-L": 4}, False, "is 4; 3 exist in the project, and fleet macs may order 5"),
        ({}, True, "no limit is listed"),
    ],
)
async def test_the_quota_is_held_against_what_the_fleet_may_order(
    quotas: dict[str, int], well: bool, text: str
) -> None:
    finding = (await found(Project(3, quotas=quotas, organization=WHOSE, most=5)))[
        "quota of M2-L in fr-par-1"
    ]
    assert (finding.well, finding.text) == (well, text)


async def test_quotas_are_asked_for_only_where_hosts_may_be_ordered_and_whose_is_known() -> None:
    message = await found(Project(1, quotas={"M2-L": 0}, organization=WHOSE))
    assert not [about for about in message if "quota" in about]
    finding = (await found(Project(1, quotas={"M2-L": 0}, most=5)))["quotas"]
    assert (finding.well, "set `organization`" in finding.text) == (True, True)


async def test_quotas_that_cannot_be_read_are_told() -> None:
    project = Project(1, organization=WHOSE, most=5)
    project.world.script(Rule(fault="html_5xx", route="quota.list", count=10))
    finding = (await found(project))["quotas"]
    assert (finding.well, "cannot be read" in finding.text) == (False, True)
