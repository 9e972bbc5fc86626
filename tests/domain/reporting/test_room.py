"""On how many hosts a fleet's machines are, or may come."""

from datetime import timedelta

import pytest

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.reporting.hosts import HostStatus
from hostler.domain.reporting.room import room
from hostler.testing.scenes.builders import BEGIN, FLEET
from hostler.testing.scenes.hosts import BOX, HIS, MAIN, MINE, box, record

HOUR = timedelta(hours=1)


def held(kind: HoldKind, until: timedelta = HOUR) -> Host:
    return record(hold=Hold(kind=kind, until=BEGIN + until, actor="ada"))


def fits(offer: Offer, resource: Resource) -> str:
    return "" if resource.type == offer.type else "another type"


def beds(
    host: Host | None = None, binding: MachineId | None = None, resource: Resource | None = None
) -> int:
    """Return the room on one box; it is seen, unless `resource` says what is seen there."""
    found = resource or box()
    status = HostStatus(id=BOX, account=MAIN, record=host, resource=found, binding=binding)
    return room([status], {MINE}, FLEET, fits, BEGIN)


@pytest.mark.parametrize(
    ("host", "binding", "bears"),
    [
        (None, None, 1),
        (record(), None, 1),
        (held(HoldKind.MAINTENANCE), None, 0),
        (held(HoldKind.RESERVED), None, 0),
        (held(HoldKind.OFF), None, 0),
        (held(HoldKind.ON), None, 1),
        (held(HoldKind.MAINTENANCE, -HOUR), None, 1),
        (held(HoldKind.MAINTENANCE), MINE, 1),
        (record(), HIS, 0),
        (None, HIS, 0),
        (record(fleet=FLEET.name), HIS, 1),
    ],
)
def test_a_host_has_room_for_a_machine_of_ours_or_for_one_that_may_come(
    host: Host | None, binding: MachineId | None, bears: int
) -> None:
    assert beds(host, binding) == bears


def test_a_host_that_fits_no_offer_or_was_never_seen_has_none() -> None:
    assert beds(resource=box(type="another")) == 0
    unseen = HostStatus(id=HostId("host-2"), account=MAIN, record=record(), resource=None)
    assert room([unseen], set(), FLEET, fits, BEGIN) == 0


def test_hosts_are_added_up() -> None:
    hosts = [
        HostStatus(id=HostId(f"host-{n}"), account=MAIN, resource=box(host=HostId(f"host-{n}")))
        for n in range(5)
    ]
    assert room(hosts, set(), FLEET, fits, BEGIN) == 5
