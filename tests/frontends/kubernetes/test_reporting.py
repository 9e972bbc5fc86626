"""Reporting: one object that cannot be written keeps no other's status from being written."""

import asyncio
import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import pytest
from msgspec import structs
from msgspec.structs import replace

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.domain.ids import AccountName, FleetName, HostId, Zone
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.events import EventRecorder
from hostler.frontends.kubernetes.fleets.judging import Base
from hostler.frontends.kubernetes.fleets.reported import Reported
from hostler.frontends.kubernetes.fleets.reporting import Reporter
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.fleets.status import written_conditions
from hostler.frontends.kubernetes.fleets.writing import REFUSED, Writer
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.models import FLEETS, Fields, Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.errors import ApiError, Timeout, TooManyRequests, Unavailable
from hostler.kubernetes.objects import Key, Metadata
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence, Store
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, HOME, machine
from hostler.testing.time.clock import RigClock

NAMES = ("a", "b", "c")
WEBHOOK = Unavailable("failed calling webhook: connection refused", code=500, unknown=True)


class Objects:
    """Three fleets that hostler holds already, and those of them that were deleted."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.deleted = set[str]()
        self.provider = "static"
        self.others: dict[str, Written] = {}

    def of(self, kind: str) -> tuple[Written, ...]:
        finalizers = ("hostler.dev/ends",)
        if kind != "Fleet":
            return tuple(one for other, one in self.others.items() if other == kind)
        return tuple(
            Written(
                metadata=Metadata(
                    name=name,
                    namespace="home",
                    uid=name,
                    generation=3,
                    finalizers=finalizers,
                    deletion_timestamp=BEGIN if name in self.deleted else None,
                ),
                spec={"size": 0, "provider": self.provider, "deletionPolicy": "end"},
            )
            for name in NAMES
        )

    async def synced(self) -> None:
        return


@dataclass
class Client:
    """Takes statuses, but for those of objects about which the server breaks; and finalizers."""

    breaks: dict[str, ApiError] = field(default_factory=dict[str, ApiError])
    asked: Counter[str] = field(default_factory=Counter[str])
    patched: list[str] = field(default_factory=list[str])
    written: dict[str, tuple[Fields, ...]] = field(default_factory=dict[str, tuple[Fields, ...]])

    async def patch(self, resource: object, key: Key, *_: object, **__: object) -> None:
        del resource
        self.patched.append(key.name)

    async def apply(self, resource: object, item: Written, *_: object, **__: object) -> Written:
        del resource
        self.asked[item.metadata.name] += 1
        if item.metadata.name in self.breaks:
            raise self.breaks[item.metadata.name]
        self.written[item.metadata.name] = written_conditions(item.status)
        return item

    async def create(self, *_: object) -> None:
        return


async def _opens(config: Config) -> None:
    del config


async def _leaves(config: Config) -> tuple[Fault, ...]:
    del config
    return ()


async def _as_it_is(config: Config, store: Store) -> Config:
    del store
    return config


async def reporter(folder: Path, client: Client, clock: RigClock) -> Reporter:
    """Return a reporter over the three fleets, on the account of a file."""
    objects = Objects()
    base = Base(
        path=folder / "home.toml",
        raw={"provider": {"static": {"hosts": [{"address": "127.0.0.1"}]}}},
        kinds=KINDS,
        stores=STORES,
    )
    around = Surroundings(
        cluster=Connected(client=client, namespace="home", origin="a test"),  # pyright: ignore[reportArgumentType] - no object names a Secret
        namespaces=Namespaces(home="home"),
        followed=objects,  # pyright: ignore[reportArgumentType] - what a source needs of it
        places=SecretPlaces(folder / "secrets", {}, b"salt"),
        opens=_opens,
        leaves=_leaves,
        clock=clock,
    )
    source = Source(base, around)
    await source.first({})
    reported = Reported(
        followed=objects,  # pyright: ignore[reportArgumentType] - as above
        source=source,
        store=MemoryStore(HOME),
        clock=clock,
        leads=lambda: True,
        with_removed=_as_it_is,
        reloads=lambda: False,
    )
    events = EventRecorder(client, clock, "test")  # pyright: ignore[reportArgumentType] - what events need
    return Reporter(reported, Writer(client, clock, events))  # pyright: ignore[reportArgumentType] - what statuses need


@pytest.mark.parametrize(
    "error", [WEBHOOK, Timeout("the webhook did not answer", code=504)], ids=["500", "504"]
)
async def test_a_webhook_that_fails_for_one_object_keeps_no_other_from_being_written(
    tmp_path: Path, error: ApiError
) -> None:
    client, clock = Client({"a": error}), RigClock()
    one = await reporter(tmp_path, client, clock)
    await one.report()
    await one.report()
    assert client.asked == {"a": 1, "b": 1, "c": 1}, "and that one is left alone for a while"


async def test_an_object_is_written_once_the_server_takes_it_again(tmp_path: Path) -> None:
    client, clock = Client({"b": WEBHOOK}), RigClock()
    one = await reporter(tmp_path, client, clock)
    await one.report()
    client.breaks.clear()
    clock.pass_by(timedelta(seconds=REFUSED + 1))
    await one.report()
    assert client.asked["b"] == 2


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("refused"),
        Unavailable("not ready", code=503),
        Timeout("no answer"),
        TooManyRequests("later", code=429),
    ],
    ids=["unreachable", "503", "no answer", "429"],
)
async def test_a_server_that_answers_nobody_is_not_asked_about_every_object(
    tmp_path: Path, error: ApiError
) -> None:
    client = Client(dict.fromkeys(NAMES, error))
    one = await reporter(tmp_path, client, RigClock())
    with pytest.raises(ApiError):
        await one.report()
    assert client.asked == {"a": 1}


Case = Literal["never ran", "in force", "about to run", "runs", "ran meanwhile"]


@pytest.mark.parametrize("case", get_args(Case))
async def test_a_fleet_that_is_deleted_right_after_it_was_made_stays_where_an_engine_may_have_it(
    tmp_path: Path, case: Case
) -> None:
    """Else what that engine makes in this moment would be left, whatever the object says."""
    client = Client()
    one = await reporter(tmp_path, client, RigClock())
    source, store = one.of.source, one.of.store
    assert isinstance(store, MemoryStore)
    objects: object = one.of.followed
    assert isinstance(objects, Objects)
    objects.deleted.add("a")
    tables = {"fleet.a": "digest"} if case == "runs" else dict[str, str]()
    await store.save_engine_record(EngineRecord(file="home.toml", since=BEGIN, tables=tables))
    if case != "in force":
        await source.again({}, ())
    if case == "about to run":
        one = dataclasses.replace(one, of=replace(one.of, reloads=lambda: True))
    if case == "ran meanwhile":
        one = dataclasses.replace(one, of=replace(one.of, store=Late(store)))
    await one.report()
    assert client.patched == (["a"] if case == "never ran" else [])


class Late:
    """A store in which a fleet gets its row while all are gone over."""

    def __init__(self, store: MemoryStore) -> None:
        self._store, self._read = store, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def fleets(self) -> tuple[FleetRow, ...]:
        self._read += 1
        row = FleetRow(name=FleetName("a"), created=BEGIN)
        return (row,) if self._read > 1 else ()


@pytest.mark.parametrize("left", [True, False], ids=["machines", "nothing"])
async def test_a_fleet_that_ends_stays_while_it_has_machines_of_which_nobody_can_tell(
    tmp_path: Path, left: bool
) -> None:
    """As after a restart that finds its Provider refused: no configuration has the fleet."""
    client = Client()
    one = await reporter(tmp_path, client, RigClock())
    objects: object = one.of.followed
    assert isinstance(objects, Objects)
    objects.deleted.add("a")
    await one.of.source.again({}, ())
    store, name = one.of.store, FleetName("a")
    row = FleetRow(name=name, created=BEGIN, removed=BEGIN, ends=True)
    stored = await store.add_fleet(row)
    if left:
        lease = await store.take_lease("fleet/a", "an engine", None)
        assert lease is not None
        fence = Fence(lease=lease.name, epoch=lease.epoch)
        await store.save_fleet(stored, (replace(machine(), fleet=name),), (), fence)

    async def unread(config: Config, _: Store) -> Config:
        return replace(config, unreadable={name: "its provider is not in force"} if left else {})

    one = dataclasses.replace(one, of=replace(one.of, with_removed=unread))
    await one.report()
    assert client.patched == ([] if left else ["a"])
    if left:
        (ready,) = (c["message"] for c in client.written["a"] if c["type"] == "Ready")
        assert "nobody looks after it, for its provider is not in force" in str(ready)
        assert {c["observedGeneration"] for c in client.written["a"]} == {3}


def held(name: str, *, ends: bool = False, **spec: object) -> Written:
    """Return an object that hostler holds."""
    deleted = BEGIN if ends else None
    metadata = Metadata(name=name, namespace="home", uid=name, deletion_timestamp=deleted)
    metadata = structs.replace(metadata, finalizers=("hostler.dev/ends",))
    return Written(metadata=metadata, spec=spec)


@pytest.mark.parametrize(
    ("kind", "policy", "goes"),
    [("nonsense", "off", False), ("nonsense", "leave", True), ("power", "off", True)],
    ids=["to be off", "left as it is", "wrong itself"],
)
async def test_a_host_that_is_to_be_off_stays_while_its_provider_is_not_in_force(
    tmp_path: Path, kind: str, policy: str, *, goes: bool
) -> None:
    """As after a restart that finds the Provider wrong: no fleet of the host is known then.

    A Host that is wrong itself, and on record, is why its Provider is not in force: it goes.
    """
    client = Client()
    one = await reporter(tmp_path, client, RigClock())
    objects: object = one.of.followed
    assert isinstance(objects, Objects)
    objects.provider = "rack"
    objects.others = {
        "Provider": held("rack", kind=kind),
        "Host": held("box", ends=True, provider="rack", deletionPolicy=policy, power={"a": 1}),
    }
    await one.of.source.again({}, {("rack", "box")})
    assert "rack" not in {str(account.name) for account in one.of.source.config().accounts}
    store = one.of.store
    lease = await store.take_lease("account/rack", "an engine", None)
    assert lease is not None
    fence = Fence(lease=lease.name, epoch=lease.epoch)
    box = Host(
        id=HostId("box"),
        account=AccountName("rack"),
        zone=Zone(""),
        condition=HostCondition.FREE,
        since=BEGIN,
    )
    await store.save_host(box, (), fence)
    await one.report()
    assert client.patched == (["box"] if goes else [])
    if not goes:
        (message,) = (c["message"] for c in client.written["box"] if c["type"] == "Deleting")
        assert "its Provider is not in force" in str(message)


async def test_of_objects_that_come_and_go_no_more_is_remembered_than_is_trusted() -> None:
    """Whole statuses of all that ever were stayed in memory."""
    client, clock = Client({f"w{number}": WEBHOOK for number in range(200)}), RigClock()
    events = EventRecorder(client, clock, "test")  # pyright: ignore[reportArgumentType] - what events need
    writer = Writer(client, clock, events)  # pyright: ignore[reportArgumentType] - what statuses need
    for number in range(200):
        for name in (f"o{number}", f"w{number}"):
            one = Written(metadata=Metadata(name=name, namespace="home", uid=name))
            await writer.safely(one, partial(writer.status, FLEETS, one, {"size": 0}, (), 1))
        clock.pass_by(timedelta(seconds=1))
    assert client.asked == dict.fromkeys((*client.breaks, *(f"o{n}" for n in range(200))), 1)
    assert list(writer._written) == [f"o{number}" for number in range(200 - 15, 200)]
    assert list(writer._refused) == [f"w{number}" for number in range(200 - 30, 200)]
