"""What the store holds of fleets that the file has no longer, and what is said of that."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from hostler.config.digests import digests_of_file
from hostler.config.store_url import StoreUrl
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, HostId, ResourceId, machine_id
from hostler.domain.model.fleet import Fleet, FleetRow, Order
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Billing, Machine
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence
from hostler.queries.removed import removed_fleets
from hostler.queries.standing import standing
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, machine

NOW = BEGIN + timedelta(hours=10)


def config(*fleets: Fleet, unreadable: Mapping[FleetName, str] | None = None) -> Config:
    return Config(
        path=Path("web.toml"),
        store=StoreUrl("sqlite", "web.db"),
        accounts=(),
        fleets=fleets,
        templates={},
        settings=Settings(),
        unreadable=unreadable or {},
    )


async def store_of(row: FleetRow, *machines: Machine, hosts: tuple[Host, ...] = ()) -> MemoryStore:
    store = MemoryStore(HOME)
    lease = await store.take_lease("fleet/web", "test", None)
    assert lease is not None
    fence = Fence(lease="fleet/web", epoch=lease.epoch)
    stored = await store.add_fleet(replace(row, version=0))
    await store.save_fleet(replace(row, version=stored.version), machines, (), fence)
    for host in hosts:
        await store.save_host(host, (), fence)
    return store


ROW = FleetRow(name=FleetName("web"), created=BEGIN)
PAID = replace(machine(1), billing=Billing(price=0.5, billed_from=BEGIN), version=0)


async def test_fleet_of_the_file_is_none_of_them() -> None:
    assert await removed_fleets(await store_of(ROW, PAID), config(FLEET), NOW) == ()


async def test_fleet_that_is_an_object_of_a_cluster_is_none_of_them() -> None:
    """Whoever may not read it there must not be told to put it back, or to end its machines."""
    known = replace(config(), objects=frozenset({"fleet.web"}), unread="the objects: no answer")
    store = await store_of(ROW, PAID)
    assert await removed_fleets(store, known, NOW) == ()
    notices = (await standing(known, store, NOW, exists=True, runs=True)).notices
    assert notices == ("the objects: no answer",)
    other = replace(known, objects=frozenset({"fleet.other"}))
    assert len(await removed_fleets(store, other, NOW)) == 1


async def test_an_address_of_a_store_that_is_written_otherwise_is_no_other_file() -> None:
    store = await store_of(ROW)
    known = replace(config(), objects=frozenset({"provider.cloud"}))
    tables = {**digests_of_file(known), "store": "as the engine has it"}
    record = EngineRecord(file="/var/lib/hostler/default.toml", since=NOW, tables=tables)
    await store.save_engine_record(record)
    assert (await standing(known, store, NOW, exists=True, runs=True)).notices == ()
    changed = replace(record, tables={**tables, "engine": "another"})
    await store.save_engine_record(changed)
    (notice,) = (await standing(known, store, NOW, exists=True, runs=True)).notices
    assert notice == "the engine of this store runs another file: /var/lib/hostler/default.toml"


async def test_fleet_with_nothing_left_is_none_of_them() -> None:
    assert await removed_fleets(await store_of(ROW), config(), NOW) == ()


async def test_fleet_is_counted_with_its_cost() -> None:
    (found,) = await removed_fleets(await store_of(ROW, PAID), config(), NOW)
    assert (found.machines, found.hosts, found.cost) == (1, 0, 5.0)


async def test_fleet_that_is_only_known_from_the_store_is_one_still() -> None:
    known = config(replace(FLEET, removed=True))
    assert len(await removed_fleets(await store_of(ROW, PAID), known, NOW)) == 1


LEFT_OVER = Orphan(
    resource=ResourceId("server-9"),
    kind="server",
    zone=FLEET.offers[0].zone,
    fleet=ROW.name,
    cls=OrphanClass.UNISSUED,
    first=BEGIN,
    last=BEGIN,
    price=0.5,
)


async def test_fleet_of_which_only_orphans_are_left_is_told_with_them() -> None:
    """Whoever runs a copy of the store goes on making machines for it, and they are billed."""
    store = await store_of(ROW)
    lease = await store.take_lease("account/main", "test", None)
    assert lease is not None
    fence = Fence(lease="account/main", epoch=lease.epoch)
    others = replace(LEFT_OVER, resource=ResourceId("server-8"), fleet=FleetName("other"))
    await store.save_orphans((LEFT_OVER, others), (), fence)
    (found,) = await removed_fleets(store, config(), NOW)
    assert (found.machines, found.orphans) == (0, 1)
    text = found.sentence({}, NOW)
    assert "has 1 orphan, €5.00 so far: see hostler orphans FILE" in text


async def test_hosts_that_it_bought_count_until_they_are_absent() -> None:
    bought = Host(id=HostId("mac-1"), account=FLEET.account, zone=FLEET.offers[0].zone)
    bought = bought.with_purchase(buyer=FleetName("web"))
    absent = replace(bought, id=HostId("mac-2"), condition=HostCondition.ABSENT)
    store = await store_of(ROW, hosts=(bought, absent))
    (found,) = await removed_fleets(store, config(), NOW)
    assert (found.machines, found.hosts) == (0, 1)


async def test_an_order_counts_until_its_host_came_and_for_a_day_at_most() -> None:
    """Of a fleet of which nothing is left was said for ever that its 0 machines end."""
    ids = [machine_id(number) for number in (1, 2, 3)]
    ages = (timedelta(hours=9), timedelta(hours=9), timedelta(hours=25))
    orders = tuple(
        Order(id=id_, offer=FLEET.offers[0], at=NOW - age)
        for id_, age in zip(ids, ages, strict=True)
    )
    absent = Host(id=HostId("mac-1"), account=FLEET.account, zone=FLEET.offers[0].zone)
    absent = replace(absent.with_purchase(order=ids[0]), condition=HostCondition.ABSENT)
    store = await store_of(replace(ROW, orders=orders), hosts=(absent,))
    (found,) = await removed_fleets(store, config(), NOW)
    assert (found.machines, found.hosts, found.orders) == (0, 0, 1)
    assert "has 1 order: kept as they are" in found.sentence({}, NOW)
    left = await store_of(replace(ROW, orders=orders[::2]), hosts=(absent,))
    assert await removed_fleets(left, config(), NOW) == ()


async def notice(row: FleetRow, unreadable: Mapping[FleetName, str] | None = None) -> str:
    store = await store_of(row, PAID)
    found = await standing(config(unreadable=unreadable), store, NOW, exists=True, runs=False)
    (text,) = found.notices
    return text


async def test_every_reading_command_says_what_becomes_of_it() -> None:
    text = await notice(replace(ROW, removed=BEGIN))
    assert "web is not in the file since 00:00:00" in text
    assert "has 1 machine, €5.00 so far: kept as they are" in text
    assert "hostler delete FILE web" in text
    assert "they end" in await notice(replace(ROW, removed=BEGIN, ends=True))
    lost = await notice(ROW, {FleetName("web"): "its table can no longer be read: no provider"})
    assert "nobody looks after them, for its table can no longer be read" in lost


async def test_nothing_is_said_where_there_is_no_store() -> None:
    found = await standing(config(), await store_of(ROW, PAID), NOW, exists=False, runs=False)
    assert found.removed == ()


BUILDERS = replace(FLEET, name=FleetName("builders"))
GONE = replace(FLEET, removed=True)
OFFER = "hostler adopt FILE --fleet builders --from-fleet web"


async def offered(row: FleetRow, *others: FleetRow, fleets: tuple[Fleet, ...]) -> str:
    store = await store_of(row, PAID)
    for other in others:
        await store.add_fleet(other)
    (found,) = await removed_fleets(store, config(*fleets), NOW)
    return found.sentence({}, NOW)


async def test_carrying_over_is_offered_to_a_fleet_that_came_as_it_left() -> None:
    left = replace(ROW, removed=BEGIN + timedelta(hours=5))
    new = FleetRow(name=BUILDERS.name, created=BEGIN + timedelta(hours=5))
    assert OFFER in await offered(ROW, fleets=(BUILDERS, GONE)), "before an engine runs the file"
    text = await offered(left, new, fleets=(BUILDERS, GONE))
    assert OFFER in text
    assert "hostler delete FILE web" in text
    older = replace(new, created=BEGIN + timedelta(hours=4))
    assert "adopt" not in await offered(left, older, fleets=(BUILDERS, GONE))
    other = replace(BUILDERS, account=AccountName("other"))
    assert "adopt" not in await offered(ROW, fleets=(other, GONE))
    assert "adopt" not in await offered(replace(left, ends=True), fleets=(BUILDERS, GONE))
    assert "adopt" not in await offered(ROW, fleets=(replace(BUILDERS, removed=True), GONE))


async def test_carrying_over_is_not_offered_to_a_fleet_that_came_along_with_the_one_that_left() -> (
    None
):
    """Whoever renames a fleet within a minute of the first run has others that are as young."""
    soon = timedelta(seconds=20)
    beside = replace(FLEET, name=FleetName("db"))
    rows = (replace(ROW, removed=BEGIN + soon), FleetRow(name=beside.name, created=BEGIN))
    assert "adopt" not in await offered(*rows, fleets=(beside, GONE))
    new = FleetRow(name=BUILDERS.name, created=BEGIN + soon)
    assert OFFER in await offered(*rows, new, fleets=(beside, BUILDERS, GONE))
    assert OFFER in await offered(*rows, fleets=(beside, BUILDERS, GONE))


async def test_of_several_fleets_that_came_the_one_that_is_like_the_one_that_left_is_offered() -> (
    None
):
    other = replace(FLEET, name=FleetName("cache"), template="another")
    larger = replace(FLEET, name=FleetName("api"), size=FLEET.size + 1)
    assert OFFER in await offered(ROW, fleets=(other, BUILDERS, GONE))
    assert OFFER in await offered(ROW, fleets=(larger, BUILDERS, GONE))
    twin = replace(BUILDERS, name=FleetName("twin"))
    assert "adopt" not in await offered(ROW, fleets=(other, twin, BUILDERS, GONE))
    assert "adopt" not in await offered(ROW, fleets=(other, larger, replace(GONE, template="old")))


async def test_a_fleet_that_is_being_carried_over_says_to_which_one() -> None:
    taker = FleetRow(name=BUILDERS.name, created=BEGIN, adopts=ROW.name)
    text = await offered(ROW, taker, fleets=(BUILDERS, GONE))
    assert "fleet builders takes them over" in text
    assert "hostler" not in text
