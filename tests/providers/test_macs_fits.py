"""Which hosts a fleet may take, how one is reached, and what asking costs."""

import pytest
from macs_kit import (
    FLEET,
    HOST,
    OFFER,
    Project,
    host_resource,
    mac,
    machine,
    name,
    reader,
    tenancy_part,
)
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, Zone
from hostler.domain.model.host import HOST as HOSTS
from hostler.domain.model.host import allocation_of
from hostler.domain.model.machine import Known, Place
from hostler.domain.model.resource import Scope, Stage
from hostler.providers.scaleway.macs.plan.read import SERVER

ELSEWHERE = Zone("fr-par-3")


@pytest.mark.parametrize(
    ("text", "fields", "why"),
    [
        ("pool-1", {}, ""),
        (name(Stage.PARKED), {}, ""),
        ("other-1", {}, "not of the pool"),
        ("pool-big-1", {}, "not of the pool"),
        ("mine", {}, "of no pool"),
        ("apple-silicon-x", {}, "nobody gave it a name yet"),
        (name(Stage.CLAIMED), {}, "it is claimed"),
        (name(Stage.RELEASING), {}, "it is releasing"),
        (name(Stage.WIPING), {}, "it is wiping"),
        (name(Stage.QUARANTINED), {}, "it is quarantined"),
        (name(Stage.RETIRING), {}, "it is retiring"),
        (name(installation=InstallationId("stranger")), {}, "another installation has it"),
        ("pool-1", {"type": "M4-S"}, "it is a M4-S"),
        (
            "pool-1",
            {"os": {"id": "1", "name": "devos-tahoe-2026.06.30", "family": "DevOS"}},
            "runs",
        ),
        ("pool-1", {"os": {"id": "1", "name": "macos-tahoe-26.5", "family": "Tahoe"}}, ""),
        ("pool-1", {"os": None}, "runs"),
        ("pool-1", {"status": "reinstalling"}, "it is reinstalling"),
        ("pool-1", {"status": "error"}, "it is error"),
        ("pool-1", {"status": "locked"}, "it is locked"),
        ("pool-1", {"delivered": False}, "it is ready"),
        ("pool-1", {"deletion_scheduled": True}, "it will be deleted"),
    ],
)
def test_a_host_fits_or_it_is_said_why_not(text: str, fields: dict[str, object], why: str) -> None:
    """Any point release of the family will do, and no other family, as near as its name may be."""
    output = Project().macs.fits(FLEET, OFFER, reader().host(mac(name=text, **fields)))
    assert output == "" if not why else why in output


def test_a_host_in_another_zone_or_of_another_fleets_pool_fits_not() -> None:
    macs = Project().macs
    assert macs.fits(FLEET, replace(OFFER, zone=ELSEWHERE), host_resource())
    assert macs.fits(FleetName("unheard-of"), replace(OFFER, type="M4-S"), host_resource())


def test_without_a_pool_nothing_fits() -> None:
    """An empty prefix must not match everything."""
    assert "(none)" in Project(pool="").macs.fits(FLEET, OFFER, host_resource("pool-1"))


def test_a_machine_is_reached_at_its_address_while_its_host_is_ready() -> None:
    macs, mine = Project().macs, allocation_of(HOST, machine().id)
    known = Known(id=mine, zone=OFFER.zone, since=machine().since)
    bound = machine(places=(Place(slot=SERVER, bound=mine, known=(known,)),))
    found = macs.connection(bound, (tenancy_part(Stage.CLAIMED),))
    assert found is not None
    assert (found.address, found.user, found.arch) == ("51.159.0.1", "m1", "arm64")
    assert macs.connection(bound, (tenancy_part(Stage.CLAIMED, "rebooting"),)) is None
    assert macs.connection(bound, (tenancy_part(Stage.CLAIMED, ip=None),)) is None
    assert macs.connection(machine(), (tenancy_part(Stage.CLAIMED),)) is None


def test_one_listing_serves_hosts_and_allocations() -> None:
    macs = Project().macs
    assert macs.cost(Scope(OFFER.zone, SERVER.kind)) == 1
    assert macs.cost(Scope(OFFER.zone, HOSTS.kind)) == 0
    close = Scope(OFFER.zone, SERVER.kind, machine().id, (allocation_of(HOST, machine().id),))
    assert macs.cost(close) == 1
