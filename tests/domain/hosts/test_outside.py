"""Every host of an account is in exactly one class that a person sees (C1): which names are which.

The names are those of real incidents: the host of origin 001 bore the first one for 14 days.
"""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.fleets.reclaim import orphan_report
from hostler.domain.hosts.orphans import ACTIONABLE, WHY_NOT
from hostler.domain.hosts.outside import outside
from hostler.domain.ids import FleetName, HostId, InstallationId, Zone
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.resource import Condition, OrphanClass, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.reporting.hosts import STATES, HostStatus
from hostler.providers.scaleway.macs.api.wire import Mac
from hostler.providers.scaleway.macs.plan.names import Name, pool_digest
from hostler.providers.scaleway.macs.plan.read import MacReader
from hostler.queries.hosts import owner
from hostler.queries.orphans import OrphanReport
from hostler.testing.scenes.builders import ABROAD, BEGIN, FLEET, HOME, WEB, machine
from hostler.testing.scenes.hosts import (
    BOX,
    MAIN,
    MINE,
    account_snapshot,
    box,
    fleet_snapshot,
    record,
)

READER = MacReader(
    zone=Zone("z"), installation=HOME, ours=frozenset({HOME}), pools=("pool-",), default="pool-"
)
UNPARSED, NOBODYS, FREE = OrphanClass.CLAIMED_LOOKING, OrphanClass.OUTSIDE, None


def name(installation: InstallationId = HOME, fleet: str = "web", stage: str = "claimed") -> str:
    """Return a name as a hostler writes it."""
    written = Name(
        stage=Stage(stage),
        installation=installation,
        fleet=FleetName(fleet),
        machine=MINE,
        pool=pool_digest("pool-"),
    )
    return str(written)


def called(text: str, status: str = "ready", *, scheduled: bool = False) -> Resource:
    """Return a Mac of this name as the provider reads it."""
    mac = Mac(id=str(BOX), name=text, status=status, delivered=True, deletion_scheduled=scheduled)
    return READER.host(mac)


def account_of(resource: Resource, host: Host | None = None) -> AccountSnapshot:
    """Return an account in which there is this host, and a fleet of ours."""
    return account_snapshot((resource,), (host,) if host else (), fleets=(FLEET,))


def class_of(resource: Resource, host: Host | None = None, **facts: object) -> OrphanClass | None:
    """Return the class that a host is reported with, or None where it is not reported."""
    (found, *_) = [*outside(replace(account_of(resource, host), **facts)), None]
    return found.orphan if found else None


@pytest.mark.parametrize(
    ("text", "facts", "cls"),
    [
        ("desk-1", {}, NOBODYS),
        ("tuist-tuist-macos-fleet-7d9f8b6c54-x2v9q", {}, UNPARSED),
        (name(ABROAD, "other"), {}, OrphanClass.FOREIGN),
        (name(ABROAD, "other"), {"adopted": True}, None),
        (name(stage="retiring"), {}, None),
        ("pool-1", {}, None),
    ],
)
def test_a_host_that_a_person_renames_on_its_way_out_is_reported(
    text: str, facts: dict[str, object], cls: OrphanClass | None
) -> None:
    """Nobody deletes it any more, and it is paid for; what its provider will delete goes on."""
    host = record(condition=HostCondition.RETIRING, goal=HostGoal.RETIRED, **facts)
    assert class_of(called(text), host) == cls
    assert class_of(called(text, scheduled=True), host) is None


@pytest.mark.parametrize(
    ("text", "status", "cls", "state"),
    [
        ("tuist-tuist-builders-fleet-rg4h9-c295c", "ready", UNPARSED, "claimed-looking"),
        ("tuist-tuist-macos-fleet-7d9f8b6c54-x2v9q", "ready", UNPARSED, "claimed-looking"),
        ("tuist-builders-fleet-c295c", "ready", UNPARSED, "claimed-looking"),
        (name()[:-9], "ready", UNPARSED, "claimed-looking"),
        (name()[:-1], "ready", UNPARSED, "claimed-looking"),
        ("hostler.claimed.home.web", "ready", UNPARSED, "claimed-looking"),
        ("builders-fleet-0", "ready", NOBODYS, "not in a pool"),
        ("johns-mac", "ready", NOBODYS, "not in a pool"),
        ("web-small-linux", "ready", NOBODYS, "not in a pool"),
        ("", "ready", NOBODYS, "not in a pool"),
        ("apple-silicon-brave-curie", "ready", NOBODYS, "unnamed"),
        ("johns-mac", "error", NOBODYS, "not in a pool"),
        (name(ABROAD, "elsewhere"), "ready", OrphanClass.FOREIGN, "another installation's"),
        ("pool-1", "ready", FREE, "in the pool"),
        ("pool-1", "reinstalling", FREE, "in the pool"),
        ("pool-1", "error", OrphanClass.LOCKED, "unfit"),
        ("pool-1", "locked", OrphanClass.LOCKED, "unfit"),
        ("pool-1", "melting", OrphanClass.LOCKED, "unfit"),
        ("pool-rg4h9-c295c", "ready", FREE, "in the pool"),
    ],
)
def test_each_name_and_status_has_one_class(
    text: str, status: str, cls: OrphanClass | None, state: str
) -> None:
    """What is reported is counted by the gauge and ends `orphans` with 3; what is not is free."""
    resource = called(text, status)
    assert class_of(resource) == cls
    assert cls not in ACTIONABLE, "a name that nobody of ours wrote makes no host ours"
    displayed = HostStatus(id=BOX, account=MAIN, resource=resource)
    assert displayed.state == state
    assert displayed.is_available == (cls is None)
    assert state in STATES
    aside = tuple(outside(account_of(resource)))
    report = orphan_report(replace(fleet_snapshot((), (resource,)), aside=aside)).orphans
    assert [orphan.cls for orphan in report] == ([cls] if cls else [])
    assert OrphanReport(orphans=report).needs_attention == (cls is not None)
    assert all(orphan.blocked for orphan in report)


def test_a_claim_that_nobody_of_ours_made_says_by_whom_it_looks() -> None:
    resource = called("tuist-tuist-builders-fleet-rg4h9-c295c")
    displayed = HostStatus(id=BOX, account=MAIN, resource=resource)
    assert owner(displayed) == "the machines called tuist-tuist-builders-fleet-…, as it looks"
    aside = tuple(outside(account_of(resource)))
    (orphan,) = orphan_report(replace(fleet_snapshot((), (resource,)), aside=aside)).orphans
    assert "tuist-tuist-builders-fleet" in orphan.owner


def test_what_the_provider_deletes_by_itself_needs_nobody() -> None:
    resource = called("pool-1", scheduled=True)
    assert class_of(resource) is OrphanClass.SCHEDULED
    assert HostStatus(id=BOX, account=MAIN, resource=resource).state == "unfit"


@pytest.mark.parametrize("cls", [UNPARSED, NOBODYS])
def test_each_new_class_says_what_to_do(cls: OrphanClass) -> None:
    assert "`hostler pool`" in WHY_NOT[cls]


@pytest.mark.parametrize(
    "host",
    [
        record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN),
        record(condition=HostCondition.COMING),
        record(condition=HostCondition.WIPING),
    ],
)
def test_a_hosts_own_work_explains_it_whatever_it_is_called(host: Host) -> None:
    assert class_of(called("johns-mac"), host) is None
    assert class_of(called("pool-1", "error"), host) is None


@pytest.mark.parametrize("condition", [HostCondition.DIRTY, HostCondition.FREE])
def test_a_record_of_which_nothing_is_wanted_explains_no_name_of_nobodys(
    condition: HostCondition,
) -> None:
    """A person renamed it out of its pool: it is paid for, and no machine can have it."""
    assert class_of(called("johns-mac"), record(condition=condition)) is NOBODYS


def test_a_free_host_of_ours_in_error_is_reported_under_the_name_that_we_left_it() -> None:
    free = record(condition=HostCondition.FREE, name="pool-1")
    assert class_of(called("pool-1", "error"), free) is OrphanClass.LOCKED
    parked = box("parked", Condition.LOCKED, holder=MINE)
    assert class_of(parked, record(condition=HostCondition.FREE, name=parked.name))
    assert class_of(parked) is None, "it is told as unrecorded"


def test_a_machine_has_it_whatever_it_is_called() -> None:
    assert class_of(called("johns-mac"), bindings={HostId(BOX): MINE}) is None


def test_what_another_report_tells_is_not_told_twice() -> None:
    """A claim of another installation under our fleet's name is foreign by its allocation.

    Where it has the id of a living machine of ours as well, nothing else would tell of it.
    """
    assert class_of(called(name(ABROAD, str(WEB)))) is None
    assert (
        class_of(called(name(ABROAD, str(WEB))), machines={MINE: machine()}) is OrphanClass.FOREIGN
    )
    adopted = called(name(ABROAD, "elsewhere"))
    assert class_of(adopted, ours=(HOME, ABROAD)) is None
    assert class_of(called(name())) is None


def test_where_ownership_is_in_our_records_a_person_listed_every_host() -> None:
    account = account_of(box("other"))
    hosts = account.capabilities.hosts
    assert hosts is not None
    listed = replace(hosts, ownership=Ownership.RECORD)
    account = replace(account, capabilities=replace(account.capabilities, hosts=listed))
    assert not tuple(outside(replace(account, now=BEGIN + timedelta(days=1))))
