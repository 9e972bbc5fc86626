"""What an engine knew it knows until something newer lacks it: the judge's word, case by case."""

from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.inventory import Inventory, Sighting
from hostler.domain.model.machine import Known, Machine, Place
from hostler.domain.model.snapshot import Snapshot
from hostler.lab.checks.remembered import Remembered
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, ZONE, S, machine, server

WHOLE = {(ZONE, "server"): BEGIN}
OWNER = machine(1)
ONE = server(OWNER)


def has(**known: object) -> Machine:
    one = replace(Known(id=ONE.id, zone=ZONE, since=BEGIN), **known)
    return replace(OWNER, places=(Place(slot=SERVER, bound=ONE.id, known=(one,)),))


def decides(of: Machine, *, sees: bool, **inventory: Mapping[object, datetime]) -> Snapshot:
    sightings = {ONE.id: Sighting(ONE, BEGIN)} if sees else {}
    seen = replace(Inventory(sightings=sightings, whole=WHOLE), **inventory)
    facts = SimpleNamespace(
        inventory=seen,
        machines=(of,),
        capabilities=SimpleNamespace(host_kind="server"),
        counted_from=BEGIN,
    )
    return cast("Snapshot", cast("object", facts))


def after_a_jump(snapshot: Snapshot) -> Snapshot:
    facts = SimpleNamespace(**{**vars(snapshot), "counted_from": BEGIN + 1 * S})
    return cast("Snapshot", cast("object", facts))


def judged(of: Machine, **inventory: Mapping[object, datetime]) -> list[str]:
    """Return what is wrong with a decision that lacks a server which the last one knew of."""
    judge = Remembered()
    assert not judge.check(decides(has(), sees=True))
    found = judge.check(decides(of, sees=False, **inventory))
    assert not judge.check(decides(of, sees=False)), "it is told once"
    return [one.invariant for one in found]


def test_what_was_known_is_known_until_a_newer_listing_or_a_look_at_it_lacks_it() -> None:
    newer = BEGIN + 1 * S
    assert judged(has()) == ["look first"]
    assert not judged(has(), whole={(ZONE, "server"): newer})
    assert judged(has(), whole={**WHOLE, (ZONE, "volume"): newer}) == ["look first"]
    assert not judged(has(), missing={ONE.id: newer})
    assert not Remembered().check(decides(has(), sees=False)), "it never was known"


def test_of_what_was_known_before_a_jump_of_the_clock_nothing_is_said() -> None:
    """Only a look at itself had shown it, and no listing of all since: servers 161001188."""
    judge = Remembered()
    assert not judge.check(decides(has(), sees=True, whole={}))
    assert not judge.check(after_a_jump(decides(has(), sees=False, whole={})))


@pytest.mark.parametrize("past", [{"removed": BEGIN}, {"absent": BEGIN}, {"deleted": True}])
def test_of_what_is_deleted_by_its_record_nothing_is_said(past: dict[str, object]) -> None:
    assert not judged(has(**past))


def test_a_host_is_known_as_any_resource() -> None:
    tenant = replace(OWNER, host=HostId(ONE.id))
    judge = Remembered()
    assert not judge.check(decides(tenant, sees=True))
    (found,) = judge.check(decides(tenant, sees=False))
    assert (found.machine, ResourceId(found.text.split()[1])) == (tenant.id, ONE.id)
