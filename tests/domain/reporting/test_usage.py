from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, Zone, machine_id
from hostler.domain.model.machine import Deletion, Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.reporting.usage import Usage, recorded, staying, usage

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
H = timedelta(hours=1)
BORN = Machine(
    id=machine_id(1),
    fleet=FleetName("web"),
    serial=1,
    created=NOW - 8 * H,
    phase=Phase.PENDING,
    since=NOW - 8 * H,
    offer=Offer(type="small", zone=Zone("z-1")),
)
PAID = replace(BORN.with_billing(price=0.5, billed_from=NOW - 7 * H), phase=Phase.STARTING)
LIFE = (
    (NOW - 8 * H, BORN),
    (NOW - 7 * H, PAID),
    (NOW - 6 * H, replace(PAID, phase=Phase.READY)),
    (NOW - 3 * H, replace(PAID, phase=Phase.DRAINING)),
    (NOW - 2 * H, replace(PAID, phase=Phase.STOPPING)),
)


def test_a_machine_is_paid_while_it_has_a_price_and_used_while_it_works_or_drains() -> None:
    found = usage(LIFE, NOW)
    assert found == Usage(machines=1, paid_hours=7, used_hours=4, cost=3.5, price=0.5)
    assert found.overhead == pytest.approx(0.75)


def test_machines_add_up() -> None:
    other = replace(PAID, id=machine_id(2), phase=Phase.READY)
    found = usage((*LIFE, (NOW - 1 * H, other)), NOW)
    assert (found.machines, found.paid_hours, found.used_hours) == (2, 8, 5)


def test_without_use_there_is_no_overhead_to_speak_of() -> None:
    assert usage((), NOW) == Usage()
    assert Usage(machines=1, paid_hours=3).overhead == 0


def test_what_is_used_and_not_paid_for_has_no_overhead() -> None:
    """Hosts that exist anyway are nobody's bill: they are not used at a saving of 100 %."""
    owned = Usage(machines=1, used_hours=3)
    assert (owned.has_overhead, owned.overhead) == (False, 0)
    assert Usage(machines=1, paid_hours=4, used_hours=3).has_overhead


def test_the_recorded_demand_counts_each_machine_while_it_is_wanted() -> None:
    other = replace(PAID, id=machine_id(2), phase=Phase.READY)
    ended = replace(other, deletion=Deletion(at=NOW - 4 * H, actor="anna", why="enough"))
    images = sorted((*LIFE, (NOW - 5 * H, other), (NOW - 4 * H, ended)), key=lambda i: i[0])
    found = recorded(images, NOW)
    assert [(NOW - time) / H for time in found.times] == [8, 5, 4, 3]
    assert found.wanted == (1, 2, 1, 0)
    assert found.until == NOW


def test_a_machine_that_went_over_to_another_fleet_is_not_this_fleets_any_more() -> None:
    """A fleet that got its old name back was billed for ever for what had gone to another one."""
    ended = replace(PAID, id=machine_id(2), phase=Phase.DELETED)
    images = (*LIFE, (NOW - 1 * H, ended))
    assert staying(images, {BORN.id}) == images
    assert staying(images, ()) == images[-1:]
