"""The rules of saves: what they change can be undone, and repeated elsewhere."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from hostler.domain.errors import Conflict
from hostler.domain.ids import HostId, InstallationId, MachineId, ResourceId, machine_id
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Identity
from hostler.stores.records.changes import Change
from hostler.stores.records.rules import Rules
from hostler.stores.records.tables import Tables
from hostler.testing.conformance.store.records import (
    NOON,
    OPEN,
    ended,
    event,
    host,
    knowing,
    machine,
    minutes,
    orphan,
    request,
    row,
)

OWN = Identity(own=InstallationId("i-own"))
HOST = HostId("h-1")


def filled() -> Rules:
    """Return rules over records of every kind."""
    rules = Rules(Tables(OWN))
    rules.add_fleet(row())
    old, one, two = (machine(number, resource=f"p-{number}") for number in (1, 2, 3))
    rules.save_fleet(replace(row(), version=1), (old, one, two), (event(old), event(one)), OPEN)
    rules.save_machine(ended(replace(old, version=1)), (event(old),), OPEN)
    rules.save_host(host(HOST), (), OPEN)
    rules.bind(HOST, one.id, OPEN)
    rules.save_orphans((orphan("p-8"), orphan("p-9")), (), OPEN)
    rules.request(request(1))
    rules.take_lease("fleet/web", "a", None)
    rules.settle()
    return rules


def found(rules: Rules, number: int) -> MachineId:
    return machine_id(number) if rules.tables.find(machine_id(number)) else machine_id(0)


SAVES: dict[str, Callable[[Rules], object]] = {
    "adopt": lambda r: r.adopt((InstallationId("i-2"),), OPEN),
    "engine": lambda r: r.save_engine_record(EngineRecord(file="web.toml", since=NOON)),
    "add_fleet": lambda r: r.add_fleet(replace(row(), name="new")),
    "save_fleet": lambda r: r.save_fleet(
        replace(row(), version=2, serial=9), (machine(7), machine(8)), (event(machine(7)),), OPEN
    ),
    "save_machine": lambda r: r.save_machine(
        knowing(replace(machine(2), version=1), "p-77"), (event(machine(2)),), OPEN
    ),
    "end": lambda r: r.save_machine(ended(replace(machine(3), version=1)), (), OPEN),
    "remove_machine": lambda r: r.remove_machine(found(r, 2)),
    "forget": lambda r: r.forget(minutes(600), 100, OPEN),
    "forget_some": lambda r: r.forget(minutes(600), 1, OPEN),
    "save_host": lambda r: r.save_host(replace(host(HOST), version=1), (event(),), OPEN),
    "unbind": lambda r: r.unbind(HOST, machine_id(2), OPEN),
    "save_orphans": lambda r: r.save_orphans((orphan("p-7"),), (ResourceId("p-8"),), OPEN),
    "request": lambda r: r.request(request(2)),
    "take_requests": lambda r: r.take_requests((1,), OPEN),
    "take_lease": lambda r: r.take_lease("fleet/ci", "b", None),
    "renew_lease": lambda r: r.renew_lease(r.tables.leases["fleet/web"]),
    "drop_lease": lambda r: r.drop_lease(r.tables.leases["fleet/web"]),
}


def everything(tables: Tables) -> object:
    """Return all that tables hold, without the order of what has none."""
    return (
        sorted(msgspec.json.encode(change) for change in tables.all_but_past()),
        list(tables.past),
        dict(tables.owners),
    )


@pytest.mark.parametrize("name", SAVES)
def test_what_a_save_changed_can_be_undone(name: str) -> None:
    rules = filled()
    before = everything(rules.tables)
    SAVES[name](rules)
    assert rules.made()
    assert everything(rules.tables) != before
    rules.undo()
    assert everything(rules.tables) == before
    assert not rules.made()


@pytest.mark.parametrize("name", SAVES)
def test_changes_that_were_written_down_do_the_same_elsewhere(name: str) -> None:
    rules, twin = filled(), filled()
    SAVES[name](rules)
    written = msgspec.json.encode(rules.made())
    for change in msgspec.json.decode(written, type=tuple[Change, ...]):
        twin.tables.apply(change)
    assert everything(twin.tables) == everything(rules.tables)


def test_the_newest_of_several_saves_is_undone_first() -> None:
    rules = filled()
    before = everything(rules.tables)
    for save in SAVES.values():
        try:
            save(rules)
        except Conflict:
            continue
    rules.undo()
    assert everything(rules.tables) == before
