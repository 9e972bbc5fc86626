"""Held objects: only what stays when it is deleted is in force, and it stays while it is needed."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.account_ids import identified
from hostler.config.decode import Raw
from hostler.config.errors import Fault
from hostler.config.removed import with_removed
from hostler.config.values import Config
from hostler.domain.errors import HostRefused
from hostler.domain.ids import (
    AccountName,
    CycleId,
    Epoch,
    FleetName,
    HostId,
    ResourceId,
    evolve,
    machine_id,
)
from hostler.domain.model.commands import REQUEST_REFUSED, Event
from hostler.domain.model.fleet import Fleet, FleetRow, Order
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import Host, HostCondition, Purchase
from hostler.domain.model.machine import Protection
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, RequestKind
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.earlier import earlier_tables
from hostler.frontends.kubernetes.fleets.events import EventRecorder
from hostler.frontends.kubernetes.fleets.following import Followed
from hostler.frontends.kubernetes.fleets.hosts import NOT_RUN
from hostler.frontends.kubernetes.fleets.judging import Base, Leaves, Opens
from hostler.frontends.kubernetes.fleets.provider_ends import LEAVE_ORPHANS
from hostler.frontends.kubernetes.fleets.reported import Reported
from hostler.frontends.kubernetes.fleets.reporting import Reporter
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.fleets.status import written_conditions
from hostler.frontends.kubernetes.fleets.writing import FINALIZER, Writer
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import Place, Reason, Verdict
from hostler.frontends.kubernetes.objects.models import Fields, Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import Patch, merge_patch
from hostler.kubernetes.resources import Resource
from hostler.ports.engine_record import EngineRecord
from hostler.ports.kind import table_of
from hostler.ports.store import Fence, Store
from hostler.providers.power.settings import PowerTable
from hostler.queries.left_accounts import left_accounts
from hostler.queries.removed import removed_fleets
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, machine
from hostler.testing.time.clock import RigClock

RACK: Fields = {"kind": "power"}
WRONG: Fields = {"kind": "no such kind"}
BOX_OF_POWER = {"type": "small", "zone": "z", "shelly": {"url": "http://192.0.2.1"}}
BOX: Fields = {"provider": "rack", "power": BOX_OF_POWER}
WEB: Fields = {"provider": "rack", "size": 1, "power": {"types": ["small"], "zones": ["z"]}}


@dataclass
class Objects:
    """Objects of one namespace, as they are followed."""

    found: dict[str, dict[str, Written]] = field(default_factory=dict[str, dict[str, Written]])
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def write(
        self,
        kind: str,
        name: str,
        spec: Fields,
        *,
        held: bool = True,
        ends: bool = False,
        uid: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        metadata = Metadata(
            name=name,
            namespace="home",
            uid=uid or name,
            generation=1,
            finalizers=(FINALIZER,) if held else (),
            deletion_timestamp=BEGIN if ends else None,
            annotations=annotations,
        )
        self.found.setdefault(kind, {})[name] = Written(metadata=metadata, spec=spec)

    def of(self, kind: str) -> tuple[Written, ...]:
        return tuple(self.found.get(kind, {}).values())

    async def synced(self) -> None:
        return


@dataclass
class Client:
    """Takes whatever is written, and notes what is let go."""

    left: set[str] = field(default_factory=set[str])
    statuses: dict[str, Fields] = field(default_factory=dict[str, Fields])

    async def apply(
        self, resource: Resource[Written], item: Written, *_: object, **__: object
    ) -> Written:
        self.statuses[f"{resource.kind} {item.metadata.name}"] = item.status or {}
        return item

    async def create(self, *_: object) -> None:
        return

    async def patch(self, resource: Resource[Written], key: Key, patch: Patch) -> None:
        if patch.body == merge_patch({}, Metadata(), {"finalizers": []}).body:
            self.left.add(f"{resource.kind} {key.name}")


async def _opens(config: Config) -> None:
    del config


async def _with_removed(config: Config, store: Store) -> Config:
    removed = await removed_fleets(store, config, BEGIN)
    return with_removed(config, (one.row for one in removed), KINDS)


async def leaves_known(config: Config, store: Store) -> Config:
    """Return what is in force as the engine knows it: with ids, and what the store alone has."""
    return identified(await _with_removed(config, store), KINDS, {})


def leaves_of(store: Store) -> Leaves:
    async def leaves(config: Config) -> tuple[Fault, ...]:
        return await left_accounts(store, await leaves_known(config, store), BEGIN)

    return leaves


def source_of(
    folder: Path,
    objects: Objects,
    opens: Opens = _opens,
    leaves: Leaves | None = None,
    base: Base | None = None,
) -> Source:
    around = Surroundings(
        cluster=Connected(client=Client(), namespace="home", origin="a test"),  # pyright: ignore[reportArgumentType] - no object names a Secret
        namespaces=Namespaces(home="home"),
        followed=objects,  # pyright: ignore[reportArgumentType] - what a source needs of it
        places=SecretPlaces(folder / "secrets", {}, b"salt"),
        opens=opens,
        leaves=leaves or leaves_of(MemoryStore(HOME)),
        clock=RigClock(),
    )
    return Source(base or base_in(folder), around)


def base_in(folder: Path, raw: Raw | None = None) -> Base:
    return Base(path=folder / "home.toml", raw=raw or {}, kinds=KINDS, stores=STORES)


def names(config: Config) -> tuple[set[str], set[str]]:
    return {str(one.name) for one in config.accounts}, {str(one.name) for one in config.fleets}


@pytest.mark.parametrize("unheld", ["Provider", "Host", "Fleet"])
async def test_what_could_leave_at_once_is_not_in_force_before_it_is_held(
    tmp_path: Path, unheld: str
) -> None:
    objects = Objects()
    for kind, name, spec in (
        ("Provider", "rack", RACK),
        ("Host", "box", BOX),
        ("Fleet", "web", WEB),
    ):
        objects.write(kind, name, spec, held=kind != unheld)
    source = source_of(tmp_path, objects)
    assert names(await source.first({}))[1] == set()
    for one in objects.of(unheld):
        objects.write(unheld, one.metadata.name, one.wanted)
    await source.take(base_in(tmp_path))
    assert names(source.config()) == ({"rack"}, {"web"})


async def test_a_host_on_record_is_in_force_from_the_start_though_nobody_holds_it(
    tmp_path: Path,
) -> None:
    objects = Objects()
    objects.write("Provider", "rack", RACK)
    objects.write("Host", "box", BOX, held=False)
    objects.write("Fleet", "web", WEB)
    config = await source_of(tmp_path, objects).first({}, {("rack", "box")})
    assert names(config) == ({"rack"}, {"web"})


async def test_a_host_that_cannot_be_opened_is_refused_alone_and_opened_once_it_can_be(
    tmp_path: Path,
) -> None:
    wrong = {"one"}

    async def opens(config: Config) -> None:
        for account in config.accounts:
            for box in table_of(PowerTable, account.settings).boxes:
                if box.name in wrong:
                    raise HostRefused("provider.rack.boxes", box.name, "shelly.ca_file: not here")

    objects = Objects()
    objects.write("Provider", "rack", RACK)
    for name in ("one", "two"):
        objects.write("Host", name, BOX)
    source = source_of(tmp_path, objects, opens)
    (account,) = (await source.first({})).accounts
    assert [box.name for box in table_of(PowerTable, account.settings).boxes] == ["two"]
    assert source.judged.hosts["two"].accepted
    assert source.judged.hosts["one"] == Verdict(
        reason=Reason.NOT_OPENED, message="spec.power.shelly.caFile: not here"
    )
    wrong.clear()
    await source.take(base_in(tmp_path))
    assert [one.accepted for one in source.judged.hosts.values()] == [True, True]
    wrong.add("one")
    objects.write("Host", "two", {**BOX, "power": {**BOX_OF_POWER, "price": 2}})
    await source.take(base_in(tmp_path))
    (account,) = source.config().accounts
    assert [box.price for box in table_of(PowerTable, account.settings).boxes] == [0, 0]
    assert not source.judged.assembly.verdicts[Place("provider", "rack")].accepted
    assert source.judged.assembly.verdicts[Place("provider", "rack")].older


@dataclass(frozen=True)
class Left:
    """An edit that takes the fleet web away from its machine: what is written, and who is wrong."""

    kind: str
    name: str
    spec: Fields
    wrong: Place


BOXES: Fields = {"kind": "static"}
STONE: Fields = {"provider": "other", "static": {"address": "192.0.2.1"}}
FILE = {"provider": {"file": {"kind": "static", "hosts": [{"address": "192.0.2.2"}]}}}
ELSEWHERE: Fields = {"size": 1, "surge": 0, "static": {}}
LEFT = {
    "another kind": Left("Provider", "rack", BOXES, Place("provider", "rack")),
    "another Provider": Left(
        "Fleet", "web", {"provider": "other", **ELSEWHERE}, Place("fleet", "web")
    ),
    "a provider of the file": Left(
        "Fleet", "web", {"provider": "file", **ELSEWHERE}, Place("fleet", "web")
    ),
}


async def _at_work(folder: Path) -> tuple[Objects, Source, Store]:
    """Return a fleet of an object that has a machine, beside another account and a file's."""
    objects, store = Objects(), MemoryStore(HOME)
    for name, spec in (("rack", RACK), ("other", BOXES)):
        objects.write("Provider", name, spec)
    objects.write("Fleet", "web", WEB)
    for name in ("box", "box2", "box3"):
        objects.write("Host", name, BOX)
    objects.write("Host", "stone", STONE)
    source = source_of(folder, objects, leaves=leaves_of(store), base=base_in(folder, FILE))
    (fleet,) = (await leaves_known(await source.first({}), store)).fleets
    await _record(store, fleet, 1)
    return objects, source, store


async def _record(store: Store, fleet: Fleet, number: int) -> None:
    """Have a fleet on record as an engine runs it, with a machine."""
    row = FleetRow(
        name=fleet.name,
        created=BEGIN,
        definition=fleet.definition,
        account_id=fleet.account_id,
    )
    row = await store.add_fleet(row)
    lease = await store.take_lease(f"fleet/{fleet.name}", "test", None)
    assert lease is not None
    fence = Fence(lease=f"fleet/{fleet.name}", epoch=lease.epoch)
    made = replace(machine(number), fleet=fleet.name, serial=1)
    await store.save_fleet(row, (made,), (), fence)


def refused(source: Source) -> list[Place]:
    verdicts = source.judged.assembly.verdicts
    return [one for one, verdict in verdicts.items() if not verdict.accepted]


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
async def test_an_object_that_takes_a_fleet_away_from_its_machines_is_refused_alone(
    tmp_path: Path, left: Left
) -> None:
    """What was right before stays in force; only the object that is wrong says so."""
    objects, source, _ = await _at_work(tmp_path)
    objects.write(left.kind, left.name, left.spec)
    await source.take(base_in(tmp_path, FILE))
    (fleet,) = source.config().fleets
    assert (fleet.account, refused(source)) == ("rack", [left.wrong])
    verdict = source.judged.assembly.verdicts[left.wrong]
    assert verdict.reason is Reason.NOT_OPENED
    assert "expected power: fleet web has 1 machine there" in verdict.message
    assert verdict.older


@pytest.mark.parametrize("spec", [BOXES, {**RACK, "static": {}}, {**BOXES, "power": {}}])
async def test_a_fleet_is_changed_while_its_provider_is_refused(
    tmp_path: Path, spec: Fields
) -> None:
    """It is read for the kind that its provider stays in force as."""
    objects, source, _ = await _at_work(tmp_path)
    objects.write("Provider", "rack", spec)
    objects.write("Fleet", "web", {**WEB, "size": 2})
    await source.take(base_in(tmp_path, FILE))
    (fleet,) = source.config().fleets
    assert (fleet.size, refused(source)) == (2, [Place("provider", "rack")])


async def test_a_fleet_whose_object_is_gone_keeps_its_provider_in_its_account(
    tmp_path: Path,
) -> None:
    objects, source, _ = await _at_work(tmp_path)
    del objects.found["Fleet"]["web"]
    objects.write("Provider", "rack", BOXES)
    await source.take(base_in(tmp_path, FILE))
    assert refused(source) == [Place("provider", "rack")]


async def test_an_object_that_never_was_where_its_fleet_is_takes_no_other_down(
    tmp_path: Path,
) -> None:
    """What was in force before, and no engine ran, is no better: then the object is not."""
    objects, source, store = await _at_work(tmp_path)
    (web,) = (await leaves_known(source.config(), store)).fleets
    objects.write("Fleet", "db", {"provider": "other", **ELSEWHERE})
    await source.take(base_in(tmp_path, FILE))
    await _record(store, replace(web, name=FleetName("db")), 2)
    objects.write("Fleet", "web", {**WEB, "size": 2})
    await source.take(base_in(tmp_path, FILE))
    (fleet,) = source.config().fleets
    assert (fleet.name, fleet.size, refused(source)) == ("web", 2, [Place("fleet", "db")])
    assert not source.judged.assembly.verdicts[Place("fleet", "db")].older


async def test_who_takes_over_runs_no_provider_without_a_host_that_the_other_one_took(
    tmp_path: Path,
) -> None:
    """That Host is wrong by now, and was never in force here: its machine would count as lost."""
    objects = Objects()
    objects.write("Provider", "rack", RACK)
    objects.write("Host", "one", BOX)
    objects.write("Fleet", "web", WEB)
    source = source_of(tmp_path, objects)
    await source.first({})
    objects.write("Host", "two", {**BOX, "power": {**BOX_OF_POWER, "wattage": 5}})
    await source.take(base_in(tmp_path))
    assert names(source.config()) == ({"rack"}, {"web"})
    fleets = {p: raw for p, raw in source.judged.assembly.tables.items() if p.table == "fleet"}
    await source.again(fleets, {("rack", "one"), ("rack", "two")})
    assert names(source.config()) == (set(), set())
    objects.write("Host", "two", BOX)
    await source.take(base_in(tmp_path))
    assert names(source.config()) == ({"rack"}, {"web"})


async def test_a_fleet_stays_in_force_though_one_of_its_hosts_left(tmp_path: Path) -> None:
    """It asks for more machines than there are boxes then: that keeps those that it has."""
    objects = Objects()
    objects.write("Provider", "rack", RACK)
    for name in ("one", "two"):
        objects.write("Host", name, BOX)
    objects.write("Fleet", "web", {**WEB, "size": 2})
    source = source_of(tmp_path, objects)
    await source.first({})
    del objects.found["Host"]["two"]
    for _ in range(2):
        await source.take(base_in(tmp_path))
        assert names(source.config()) == ({"rack"}, {"web"})
        (fleet,) = source.config().fleets
        assert fleet.size == 2
        (account,) = source.config().accounts
        assert [box.name for box in table_of(PowerTable, account.settings).boxes] == ["one"]
    begun_anew = source_of(tmp_path, objects)
    earlier = {
        place: raw for place, raw in source.judged.assembly.tables.items() if place.table == "fleet"
    }
    assert names(await begun_anew.first(earlier)) == ({"rack"}, {"web"})
    objects.write("Fleet", "web", {**WEB, "size": 3})
    await source.take(base_in(tmp_path))
    assert [one.size for one in source.config().fleets] == [2]


async def filled(*, bound: bool) -> MemoryStore:
    """Return a store in which fleet web has a machine, on the host box of provider rack."""
    store, one = MemoryStore(HOME), replace(machine(1), version=0)
    lease = await store.take_lease("fleet/web", "test", None)
    assert lease is not None
    fence = Fence(lease="fleet/web", epoch=lease.epoch)
    definition = json.dumps({"provider": "rack", "size": 1})
    row = await store.add_fleet(
        FleetRow(name=FleetName("web"), created=BEGIN, definition=definition)
    )
    await store.save_fleet(row, (one,), (), fence)
    box = Host(id=HostId("box"), account=AccountName("rack"), zone=FLEET.offers[0].zone)
    await store.save_host(box, (), fence)
    if bound:
        await store.bind(box.id, one.id, fence)
    return store


async def left(folder: Path, objects: Objects, store: Store) -> set[str]:
    """Return what was let go once all objects were gone over."""
    return (await gone_over(folder, objects, store)).left


async def gone_over(
    folder: Path, objects: Objects, store: Store, judged: Source | None = None
) -> Client:
    """Return what was written while all objects were gone over, judged now or earlier."""
    source, client, clock = judged or source_of(folder, objects), Client(), RigClock()
    if judged is None:
        await source.first({})
    reported = Reported(
        followed=objects,  # pyright: ignore[reportArgumentType] - what a reporter needs of it
        source=source,
        store=store,
        clock=clock,
        leads=lambda: True,
        with_removed=_with_removed,
        reloads=lambda: False,
    )
    events = EventRecorder(client, clock, "test")  # pyright: ignore[reportArgumentType] - what events need
    await Reporter(reported, Writer(client, clock, events)).report()  # pyright: ignore[reportArgumentType] - what statuses need
    return client


async def test_a_host_tells_who_has_it_and_why_nobody_looks_after_it(tmp_path: Path) -> None:
    objects = Objects()
    objects.write("Provider", "rack", WRONG)
    objects.write("Host", "box", BOX)
    store = await filled(bound=True)
    status = (await gone_over(tmp_path, objects, store)).statuses["Host box"]
    assert (status["fleet"], status["next"]) == ("web", NOT_RUN)
    assert not await store.requests(), "no hold is asked for: nobody would grant it"
    (condition,) = written_conditions(status)
    assert condition["status"] == "False"


async def test_a_deleted_host_stays_for_its_machine_though_its_provider_is_not_in_force(
    tmp_path: Path,
) -> None:
    objects = Objects()
    objects.write("Provider", "rack", WRONG)
    objects.write("Host", "box", BOX, ends=True)
    assert await left(tmp_path, objects, await filled(bound=True)) == set()
    assert await left(tmp_path, objects, await filled(bound=False)) == {"Host box"}


async def test_a_deleted_provider_that_is_not_in_force_stays_for_machines_and_fleets(
    tmp_path: Path,
) -> None:
    objects = Objects()
    objects.write("Provider", "rack", WRONG, ends=True)
    assert await left(tmp_path, objects, await filled(bound=True)) == set()
    assert await left(tmp_path, objects, MemoryStore(HOME)) == {"Provider rack"}
    objects.write("Fleet", "web", WEB)
    assert await left(tmp_path, objects, MemoryStore(HOME)) == set()


BOUGHT = Host(
    id=HostId("box"),
    account=AccountName("rack"),
    zone=FLEET.offers[0].zone,
    purchase=Purchase(buyer=FleetName("web")),
)
ORDER = Order(id=machine_id(1), at=BEGIN, offer=FLEET.offers[0])


@pytest.mark.parametrize("kind", [RACK, WRONG])
@pytest.mark.parametrize(
    ("host", "orders", "stays"),
    [
        (BOUGHT, (), True),
        (None, (ORDER,), True),
        (replace(BOUGHT, condition=HostCondition.ABSENT), (), False),
        (replace(BOUGHT, purchase=Purchase()), (), False),
        (None, (), False),
    ],
    ids=["a host", "an order", "a host that is gone", "another's host", "nothing"],
)
async def test_a_deleted_provider_stays_for_what_a_fleet_bought_that_has_no_machine_any_more(
    tmp_path: Path, kind: Fields, host: Host | None, orders: tuple[Order, ...], *, stays: bool
) -> None:
    """It was let go with the last machine, and the host stayed on a bill that nobody looked at."""
    objects, store = Objects(), MemoryStore(HOME)
    objects.write("Provider", "rack", kind, ends=True)
    lease = await store.take_lease("fleet/web", "test", None)
    assert lease is not None
    fence = Fence(lease="fleet/web", epoch=lease.epoch)
    text = json.dumps({"provider": "rack", "size": 1, "types": ["small"], "zones": ["z"]})
    row = FleetRow(
        name=FleetName("web"), created=BEGIN, definition=text, removed=BEGIN, orders=orders
    )
    await store.add_fleet(row)
    if host is not None:
        await store.save_host(host, (), fence)
    assert await left(tmp_path, objects, store) == (set() if stays else {"Provider rack"})


@pytest.mark.parametrize(
    ("kind", "ends", "waits"),
    [
        (RACK, False, "fleet web has 1 machine, kept as it is: hostler delete FILE web ends it"),
        (RACK, True, "fleet web has 1 machine, which ends"),
        (WRONG, False, "fleet web has 1 machine, and nobody looks after that, for its table"),
    ],
    ids=["kept", "ends", "not in force"],
)
async def test_a_deleted_provider_says_what_it_waits_for(
    tmp_path: Path, kind: Fields, *, ends: bool, waits: str
) -> None:
    """Whoever deletes a namespace with it would wait for ever, and find nothing wrong."""
    objects, _, store = await _at_work(tmp_path)
    row = next(iter(await store.fleets()))
    fence = Fence(lease="fleet/web", epoch=Epoch(1))
    await store.save_fleet(evolve(row, removed=BEGIN, ends=ends), (), (), fence)
    objects.write("Provider", "rack", kind, ends=True)
    message = await _deleting(tmp_path, objects, store)
    assert message.startswith("its object was deleted: Fleet web names it")
    del objects.found["Fleet"]["web"]
    assert f"its object was deleted: {waits}" in await _deleting(tmp_path, objects, store)


async def _deleting(folder: Path, objects: Objects, store: Store) -> str:
    """Return why the provider rack waits for its end."""
    client = await gone_over(folder, objects, store)
    conditions = written_conditions(client.statuses["Provider rack"])
    (found,) = (one for one in conditions if one["type"] == "Deleting")
    return str(found["message"])


@pytest.mark.parametrize(
    ("others", "why"),
    [
        (("other",), 'fleet.web.provider = "rack" expected one of'),
        ((), "there is no provider rack"),
    ],
)
async def test_a_fleet_that_nobody_looks_after_says_so_with_its_machines(
    tmp_path: Path, others: tuple[str, ...], why: str
) -> None:
    """They are on the bill, whatever is in force; no machines would be a lie."""
    objects, _, store = await _at_work(tmp_path)
    providers = objects.found["Provider"]
    objects.found["Provider"] = {name: providers[name] for name in others}
    status = (await gone_over(tmp_path, objects, store)).statuses["Fleet web"]
    assert status["machines"] == 1
    (ready,) = (one for one in written_conditions(status) if one["type"] == "Ready")
    message = str(ready["message"])
    assert message.startswith("no engine has it, and nobody looks after its machines, for its")
    assert why in message


@pytest.mark.parametrize("still", [True, False])
async def test_a_deleted_fleet_is_no_longer_paused_once_its_object_says_so(
    tmp_path: Path, *, still: bool
) -> None:
    """Its own pause kept its machines and its object, whatever was written there."""
    objects, _, store = await _at_work(tmp_path)
    row = next(iter(await store.fleets()))
    pause = Protection(until=BEGIN + timedelta(days=1), actor="home/web (Fleet)", why="")
    fence = Fence(lease="fleet/web", epoch=Epoch(1))
    await store.save_fleet(evolve(row, removed=BEGIN, ends=True, pause=pause), (), (), fence)
    ends = {**WEB, "deletionPolicy": "end", "paused": still}
    objects.write("Fleet", "web", ends, ends=True)
    await gone_over(tmp_path, objects, store)
    asked = [request.kind for request in await store.requests()]
    assert asked == ([] if still else [RequestKind.RESUME])


@pytest.mark.parametrize(("kind", "name"), [("Fleet", "web"), ("Provider", "rack")])
async def test_an_object_that_was_made_anew_is_not_told_what_its_forerunner_was(
    tmp_path: Path, kind: str, name: str
) -> None:
    """Whoever waits for it to be accepted would be told so of another one of its name."""
    objects, source, store = await _at_work(tmp_path)
    objects.write(kind, name, {"size": 5}, uid="another")
    written = (await gone_over(tmp_path, objects, store, source)).statuses[f"{kind} {name}"]
    (accepted,) = (one for one in written_conditions(written) if one["type"] == "Accepted")
    assert (accepted["status"], written["observedGeneration"]) == ("Unknown", 0)


OUTSIDE = Orphan(
    resource=ResourceId("h-1"),
    kind="host",
    zone=FLEET.offers[0].zone,
    fleet=FleetName("web"),
    cls=OrphanClass.OUTSIDE,
    first=BEGIN,
    last=BEGIN,
)


@pytest.mark.parametrize("machines", [0, 1])
async def test_a_deleted_fleet_without_a_provider_goes_with_its_last_machine(
    tmp_path: Path, machines: int
) -> None:
    """One to which only orphans were ascribed stayed for ever: nobody could be asked to end it."""
    objects, store = Objects(), MemoryStore(HOME)
    lease = await store.take_lease("fleet/web", "test", None)
    assert lease is not None
    fence = Fence(lease="fleet/web", epoch=lease.epoch)
    text = json.dumps({"provider": "rack", "size": 1})
    row = await store.add_fleet(FleetRow(name=FleetName("web"), created=BEGIN, definition=text))
    await store.save_fleet(row, tuple(machine(n) for n in range(1, machines + 1)), (), fence)
    await store.save_orphans((OUTSIDE,), (), fence)
    await store.save_engine_record(EngineRecord(file="x", since=BEGIN, tables={}))
    objects.write("Fleet", "web", {**WEB, "deletionPolicy": "end"}, ends=True)
    assert await left(tmp_path, objects, store) == (set() if machines else {"Fleet web"})


KEPT: Fields = {**WEB, "deletionPolicy": "end", "protected": True}


async def _protected(folder: Path) -> tuple[Objects, Source, Store]:
    """Return a protected fleet that is in force and on record, whose object was deleted."""
    objects, store = Objects(), MemoryStore(HOME)
    objects.write("Provider", "rack", RACK)
    objects.write("Host", "box", BOX)
    objects.write("Fleet", "web", KEPT)
    source = source_of(folder, objects, leaves=leaves_of(store))
    (fleet,) = (await leaves_known(await source.first({}), store)).fleets
    await _record(store, fleet, 1)
    objects.write("Fleet", "web", KEPT, ends=True)
    await source.take(base_in(folder))
    return objects, source, store


async def _ran(store: Store, config: Config) -> None:
    """Have an engine note which fleet it runs, or that it has it no longer."""
    (row,) = await store.fleets()
    fleet = config.known("web")
    changed = (
        evolve(row, removed=BEGIN) if fleet is None else evolve(row, definition=fleet.definition)
    )
    await store.save_fleet(changed, (), (), Fence(lease="fleet/web", epoch=Epoch(1)))


async def test_a_deleted_fleet_that_is_protected_ends_once_its_object_says_so(
    tmp_path: Path,
) -> None:
    """It was protected for ever by what it said when it was deleted, whatever was written there.

    What a removed fleet is says its table of then: so an engine has to have run it unprotected.
    """
    objects, source, store = await _protected(tmp_path)
    (fleet,) = source.config().fleets
    assert fleet.protected
    written = (await gone_over(tmp_path, objects, store, source)).statuses["Fleet web"]
    (ready,) = (one for one in written_conditions(written) if one["type"] == "Ready")
    assert ready["reason"] == "Deleting"
    assert "1 machine left, kept by spec.protected: set it to false" in str(ready["message"])
    objects.write("Fleet", "web", {**KEPT, "protected": False}, ends=True)
    await source.take(base_in(tmp_path))
    assert [one.protected for one in source.config().fleets] == [False]
    await gone_over(tmp_path, objects, store, source)
    await source.take(base_in(tmp_path))
    assert names(source.config())[1] == {"web"}, "no engine has run it unprotected yet"
    await _ran(store, source.config())
    objects.changed.clear()
    await gone_over(tmp_path, objects, store, source)
    assert objects.changed.is_set()
    await source.take(base_in(tmp_path))
    assert names(source.config())[1] == set()
    await _ran(store, source.config())
    await gone_over(tmp_path, objects, store, source)
    assert [request.kind for request in await store.requests()] == [RequestKind.DELETE]
    (removed,) = (await leaves_known(source.config(), store)).fleets
    assert removed.removed
    assert not removed.protected


@pytest.mark.parametrize("edit", [{"size": 0}, {"deletionPolicy": "leave"}])
async def test_a_deleted_fleet_that_is_protected_follows_what_is_written_on_it(
    tmp_path: Path, edit: Fields
) -> None:
    objects, source, store = await _protected(tmp_path)
    objects.write("Fleet", "web", {**KEPT, **edit}, ends=True)
    await source.take(base_in(tmp_path))
    assert [one.size for one in source.config().fleets] == ([0] if "size" in edit else [])
    await _ran(store, source.config())
    left_ = (await gone_over(tmp_path, objects, store, source)).left
    assert left_ == (set() if "size" in edit else {"Fleet web"})


async def test_a_deleted_fleet_stays_protected_when_another_process_begins(tmp_path: Path) -> None:
    """Its table of before is that on record; one that has ended already comes back for nothing."""
    objects, _, store = await _protected(tmp_path)
    followed: Followed = objects  # pyright: ignore[reportAssignmentType] - what is needed of it
    for removed in (False, True):
        begun = source_of(tmp_path, objects, leaves=leaves_of(store))
        earlier = await earlier_tables(store, followed, begun.namespaces)
        assert names(await begun.first(earlier))[1] == (set() if removed else {"web"})
        await _ran(store, begun.config() if removed else replace(begun.config(), fleets=()))


async def test_a_deleted_fleet_is_protected_while_its_provider_was_not_in_force(
    tmp_path: Path,
) -> None:
    objects, source, store = await _protected(tmp_path)
    await gone_over(tmp_path, objects, store, source)
    providers = objects.found.pop("Provider")
    await source._make()
    assert names(source.config())[1] == set()
    objects.found["Provider"] = providers
    await gone_over(tmp_path, objects, store, source)
    await source.take(base_in(tmp_path))
    assert [one.protected for one in source.config().fleets] == [True]


@pytest.mark.parametrize("paused", [True, False])
async def test_a_deleted_fleet_that_is_protected_stays_paused_as_its_object_says(
    tmp_path: Path, *, paused: bool
) -> None:
    """It is in force, and would be worked at again once the pause of before had run out."""
    objects, source, store = await _protected(tmp_path)
    objects.write("Fleet", "web", {**KEPT, "paused": paused}, ends=True)
    (row,) = await store.fleets()
    pause = Protection(until=BEGIN + timedelta(minutes=30), actor="home/web (Fleet)", why="")
    fence = Fence(lease="fleet/web", epoch=Epoch(1))
    await store.save_fleet(evolve(row, pause=pause), (), (), fence)
    await gone_over(tmp_path, objects, store, source)
    asked = [request.kind for request in await store.requests()]
    assert asked == [RequestKind.PAUSE if paused else RequestKind.RESUME]


@pytest.mark.parametrize(
    ("cls", "kind", "annotated", "stays"),
    [
        (OrphanClass.UNRECORDED, RACK, False, True),
        (OrphanClass.LOCKED, WRONG, False, True),
        (OrphanClass.UNRECORDED, RACK, True, False),
        (OrphanClass.UNRECORDED, WRONG, True, False),
        (OrphanClass.FOREIGN, RACK, False, False),
        (OrphanClass.OUTSIDE, RACK, False, False),
        (OrphanClass.SCHEDULED, RACK, False, False),
    ],
)
async def test_a_deleted_provider_stays_for_orphans_of_ours_unless_they_are_to_be_left(
    tmp_path: Path, cls: OrphanClass, kind: Fields, *, annotated: bool, stays: bool
) -> None:
    """It was let go at once, and what was left stayed on a bill that nobody looked at any more."""
    objects, store = Objects(), MemoryStore(HOME)
    annotations = {LEAVE_ORPHANS: "true"} if annotated else {}
    objects.write("Provider", "rack", kind, ends=True, annotations=annotations)
    for name in ("rack", "another"):
        definition = json.dumps({"provider": name, "size": 1, "types": ["s"], "zones": ["z"]})
        await store.add_fleet(
            FleetRow(name=FleetName(name), created=BEGIN, definition=definition, removed=BEGIN)
        )
    lease = await store.take_lease("fleet/rack", "test", None)
    assert lease is not None
    fence = Fence(lease="fleet/rack", epoch=lease.epoch)
    theirs = replace(OUTSIDE, fleet=FleetName("another"), cls=OrphanClass.UNRECORDED)
    await store.save_orphans((theirs,), (), fence)
    assert await left(tmp_path, objects, store) == {"Provider rack"}
    for number in range(4):
        name = ResourceId(f"v-{number}")
        of_ours = replace(
            OUTSIDE, resource=name, kind="volume", fleet=FleetName("rack"), cls=cls, price=0.01
        )
        await store.save_orphans((of_ours,), (), fence)
    assert await left(tmp_path, objects, store) == (set() if stays else {"Provider rack"})
    if stays:
        message = await _deleting(tmp_path, objects, store)
        assert "fleet rack has 4 orphans (volume v-0, volume v-1, volume v-2 and 1 more)" in message
        assert (
            f"kubectl -n home annotate providers.hostler.dev rack {LEAVE_ORPHANS}=true" in message
        )


@pytest.mark.parametrize("definition", ["", "[]", "{", '{"provider": "rack"}'])
async def test_a_deleted_fleet_of_which_no_table_can_be_read_stops_nobody(
    tmp_path: Path, definition: str
) -> None:
    objects, source, store = await _protected(tmp_path)
    (row,) = await store.fleets()
    fence = Fence(lease="fleet/web", epoch=Epoch(1))
    await store.save_fleet(evolve(row, definition=definition), (), (), fence)
    await gone_over(tmp_path, objects, store, source)
    followed: Followed = objects  # pyright: ignore[reportAssignmentType] - what is needed of it
    tables = await earlier_tables(store, followed, source.namespaces)
    assert len(tables) == (1 if "rack" in definition else 0)


STONES: Fields = {"kind": "static"}
STONE_BOX: Fields = {"provider": "rack", "static": {"address": "192.0.2.1"}}
NOT_OURS = "its power is not ours to decide"


async def _held_stone(folder: Path, spec: Fields, *, ends: bool) -> tuple[Objects, Reporter, Store]:
    """Return a host of its own power, of which something is wanted, with a fleet beside it."""
    objects, store, clock = Objects(), MemoryStore(HOME), RigClock()
    objects.write("Provider", "rack", STONES)
    objects.write("Fleet", "web", {"provider": "rack", "size": 0, "static": {}})
    objects.write("Host", "box", {**STONE_BOX, **spec}, ends=ends)
    source = source_of(folder, objects, leaves=leaves_of(store))
    (fleet,) = (await leaves_known(await source.first({}), store)).fleets
    await _record(store, fleet, 1)
    box = Host(id=HostId("box"), account=AccountName("rack"), zone=FLEET.offers[0].zone)
    await store.save_host(box, (), Fence(lease="fleet/web", epoch=Epoch(1)))
    reported = Reported(
        followed=objects,  # pyright: ignore[reportArgumentType] - what a reporter needs of it
        source=source,
        store=store,
        clock=clock,
        leads=lambda: True,
        with_removed=_with_removed,
        reloads=lambda: False,
    )
    client = Client()
    events = EventRecorder(client, clock, "test")  # pyright: ignore[reportArgumentType] - what events need
    writer = Writer(client, clock, events)  # pyright: ignore[reportArgumentType] - what statuses need
    return objects, Reporter(reported, writer), store


async def _refuse(store: Store) -> int:
    """Refuse all requests, as an engine does; return how many there were."""
    fence, waiting = Fence(lease="fleet/web", epoch=Epoch(1)), await store.requests()
    (row,) = await store.fleets()
    for one in waiting:
        refusal = Event(
            kind=REQUEST_REFUSED,
            at=BEGIN,
            fleet=row.name,
            cycle=CycleId("c"),
            host=one.host,
            detail=NOT_OURS,
            request=one.number,
        )
        row = await store.save_fleet(row, (), (refusal,), fence)
    await store.take_requests(tuple(one.number for one in waiting), fence)
    return len(waiting)


async def _wanted(reporter: Reporter, store: Store, seconds: int) -> int:
    """Report each second; return how often the engine had to refuse what was wanted."""
    refused, clock = 0, reporter.of.clock
    assert isinstance(clock, RigClock)
    for _ in range(seconds):
        await reporter.report()
        refused += await _refuse(store)
        clock.pass_by(timedelta(seconds=1))
    return refused


def _condition(reporter: Reporter, kind: str) -> str:
    client: Client = reporter.writer.client  # pyright: ignore[reportAssignmentType] - that of these tests
    found = written_conditions(client.statuses["Host box"])
    return str(next(one["message"] for one in found if one["type"] == kind))


async def test_what_the_engine_refuses_of_a_host_is_not_asked_for_each_second(
    tmp_path: Path,
) -> None:
    """Each request, and each refusal, is an event in the records: a day had 86,400 of them."""
    objects, reporter, store = await _held_stone(tmp_path, {"desiredPowerState": "on"}, ends=False)
    assert await _wanted(reporter, store, 120) <= 6
    assert _condition(reporter, "Accepted") == f"in force; but it is not held so: {NOT_OURS}"
    objects.write("Host", "box", {**STONE_BOX, "maintenance": {"reason": "a fan"}})
    await reporter.report()
    assert [one.hold for one in await store.requests()] == [HoldKind.MAINTENANCE]


@pytest.mark.parametrize("bound", [True, False])
async def test_a_deleted_host_that_cannot_be_held_goes_once_no_machine_has_it(
    tmp_path: Path, *, bound: bool
) -> None:
    """As where another installation has it by now: machines were to be kept off it for ever."""
    _, reporter, store = await _held_stone(tmp_path, {}, ends=True)
    if bound:
        await store.bind(HostId("box"), machine(1).id, Fence(lease="fleet/web", epoch=Epoch(1)))
    await _wanted(reporter, store, 5)
    client: Client = reporter.writer.client  # pyright: ignore[reportAssignmentType] - that of these tests
    assert client.left == (set() if bound else {"Host box"})


async def test_a_deleted_host_whose_power_is_not_ours_says_what_to_do(tmp_path: Path) -> None:
    """It stayed for ever, and did not say why."""
    wants: Fields = {"deletionPolicy": "off"}
    objects, reporter, store = await _held_stone(tmp_path, wants, ends=True)
    assert await _wanted(reporter, store, 120) <= 6
    message = _condition(reporter, "Deleting")
    assert NOT_OURS in message
    assert message.endswith("set spec.deletionPolicy to leave, and it is left as it is")
    objects.write("Host", "box", {**STONE_BOX, "deletionPolicy": "leave"}, ends=True)
    await reporter.report()
    assert [one.hold for one in await store.requests()] == [HoldKind.RESERVED]


@pytest.mark.parametrize(("policy", "run"), [("leave", False), ("leave", True), ("end", False)])
async def test_a_deleted_fleet_whose_machines_are_left_waits_for_no_provider(
    tmp_path: Path, policy: str, *, run: bool
) -> None:
    """It, and its namespace, stayed until somebody mended the provider that was deleted with it."""
    objects, store = Objects(), await filled(bound=True)
    tables = {"fleet.web": ""} if run else {}
    await store.save_engine_record(EngineRecord(file="x", since=BEGIN, tables=tables))
    objects.write("Provider", "rack", WRONG)
    objects.write("Fleet", "web", {**WEB, "deletionPolicy": policy}, ends=True)
    goes = policy == "leave" and not run
    assert await left(tmp_path, objects, store) == ({"Fleet web"} if goes else set())


@pytest.mark.parametrize("adopts", [FleetName("db"), None])
async def test_the_end_of_a_fleet_that_takes_over_another_one_is_not_asked_for_yet(
    tmp_path: Path, adopts: FleetName | None
) -> None:
    """The engine refuses that, each time with an event: and it was asked for each second."""
    objects, _, store = await _at_work(tmp_path)
    row = next(iter(await store.fleets()))
    fence = Fence(lease="fleet/web", epoch=Epoch(1))
    await store.save_fleet(evolve(row, removed=BEGIN, adopts=adopts), (), (), fence)
    objects.write("Fleet", "web", {**WEB, "deletionPolicy": "end"}, ends=True)
    await gone_over(tmp_path, objects, store)
    asked = [request.kind for request in await store.requests()]
    assert asked == ([] if adopts else [RequestKind.DELETE])
