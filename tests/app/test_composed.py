"""The real adapters, put together."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest
from msgspec.structs import replace

from hostler.app.compose import Composed
from hostler.app.kubernetes.judging import leaver
from hostler.config.values import Config, WrongFile
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account
from hostler.domain.ids import AccountName, HostId, ResourceId, Zone
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.store import Fence
from hostler.queries.left_accounts import left_accounts
from hostler.simulators.ports import free_port
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, MIN, WEB, machine

FILE = """
[provider.scaleway]
project = "22222222-2222-2222-2222-222222222222"

[fleet.web]
size = 1
types = ["DEV1-S"]

[metrics]
listen = "127.0.0.1:{port}"
"""


def test_a_process_is_not_ready_before_its_engine_is_composed(tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "web.toml"
    file.write_text(FILE.format(port=port))

    async def asked() -> tuple[int, str]:
        composed = Composed()
        async with (
            composed.metrics(composed.load(file)),
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            return answer.status, await answer.text()

    answer = asyncio.run(asked())
    assert answer == (HTTPStatus.SERVICE_UNAVAILABLE, "not yet: no cycle of web\n")


@pytest.fixture
def _collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.mark.looptime
@pytest.mark.usefixtures("_collector")
async def test_of_engines_that_ended_one_is_remembered_at_most(tmp_path: Path) -> None:
    """Whoever reads a file again has another engine each time, and all its records with it."""
    file = tmp_path / "web.toml"
    file.write_text(FILE.format(port=1))
    composed, rig, loops = Composed(), FakeScene(FLEET), list[weakref.ref[object]]()
    config = composed.load(file)
    account = Account(name=AccountName("main"), provider=rig.provider, fleets=(FLEET,))
    for _ in range(4):
        engine = composed.engine(config, rig.ports(), (account,))
        assert isinstance(engine, Engine)
        loops.append(weakref.ref(engine.loops[0]))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(engine.run())
            await rig.until([Phase.READY] * FLEET.size, 2 * MIN)
            running.cancel()
        del engine, running, group
    await asyncio.sleep(1)
    composed.engine(config, rig.ports(), (account,))
    assert sum(loop() is not None for loop in loops) <= 1


PROJECT, OTHER = "22222222-2222-2222-2222-222222222222", "33333333-3333-3333-3333-333333333333"
MOVED = f"""
[provider.scaleway]
project = "{PROJECT}"

[provider.other]
kind = "scaleway"
project = "{OTHER}"

[fleet.web]
provider = "other"
size = 1
types = ["DEV1-S"]
"""
LAB = """
[provider.lab]
kind = "static"
hosts = [{ address = "192.0.2.1" }]

[fleet.web]
size = 1
"""
OTHER_KIND = LAB.replace("lab", "scaleway")
ELSEWHERE = {
    "another project": (FILE.replace(PROJECT, OTHER), "provider.scaleway"),
    "another account": (MOVED, "fleet.web.provider"),
    "another kind": (
        LAB,
        "fleet.web.provider",
    ),
}


def _read(file: Path, text: str, **variables: str) -> tuple[Composed, Config]:
    file.write_text(text.replace("{port}", "1"))
    composed = Composed(environment={"SCW_SECRET_KEY": PROJECT, **variables})
    return composed, composed.load(file)


async def _opened(file: Path, text: str, store: MemoryStore, **variables: str) -> list[str]:
    """Open a file's accounts, and return their names."""
    composed, config = _read(file, text, **variables)
    async with composed.accounts(await composed.with_removed(config, store), store) as accounts:
        return [account.name for account in accounts]


async def _store(
    file: Path,
    *,
    machines: int = 1,
    orphans: tuple[Orphan, ...] = (),
    text: str = FILE,
    host: tuple[str, str] = ("", ""),
    phase: Phase = Phase.READY,
) -> MemoryStore:
    """Return a store in which an engine recorded the fleet web, in the project of a file."""
    store, (composed, config) = MemoryStore(HOME), _read(file, text)
    (fleet,) = (await composed.with_removed(config, store)).fleets
    row = await store.add_fleet(
        FleetRow(name=WEB, created=BEGIN, definition=fleet.definition, account_id=fleet.account_id)
    )
    lease = await store.take_lease("fleet/web", "test", None)
    assert lease is not None
    fence = Fence(lease="fleet/web", epoch=lease.epoch)
    at, address = HostId(host[0]) if host[0] else None, host[1]
    made = tuple(
        replace(machine(n, phase), serial=n, host=at, address=address)
        for n in range(1, machines + 1)
    )
    await store.save_fleet(row, made, (), fence)
    await store.save_orphans(orphans, (), fence)
    return store


RACK = """
[provider.rack]
kind = "power"

[[provider.rack.boxes]]
name = "node-1"
address = "node-1.lan"
[provider.rack.boxes.tasmota]
url = "http://192.0.2.9"

[fleet.web]
size = 1
"""


SECOND = """
[[provider.rack.boxes]]
name = "node-2"
address = "node-1.lan"
[provider.rack.boxes.tasmota]
url = "http://192.0.2.8"
"""

ATTIC = "".join(
    (
        RACK.replace("node-1", "node-3").replace("size = 1", 'size = 1\nprovider = "rack"'),
        '[provider.attic]\nkind = "power"\n',
        SECOND.replace("provider.rack", "provider.attic"),
    )
)


@pytest.mark.parametrize(
    ("found", "text", "refused"),
    [
        (("node-1", "Node-1.lan"), RACK.replace('"node-1"', '"big"'), True),
        (("node-1", "Node-1.lan"), RACK, False),
        (("node-1", ""), RACK.replace('"node-1"', '"big"'), False),
        (("node-0", "node-0.lan"), RACK, False),
        (("", "node-1.lan"), RACK, False),
        (("node-2", "node-1.lan"), RACK, True),
        (("node-1", "node-2.lan"), RACK, False),
        (("node-2", "node-1.lan"), f"{RACK}{SECOND}", False),
        (("node-2", "node-1.lan"), ATTIC, True),
        (("node-2", "2001:DB8:0::1"), RACK.replace("node-1.lan", "2001:db8:0:0::1"), True),
    ],
)
async def test_a_box_is_not_called_otherwise_while_a_machine_has_it(
    tmp_path: Path, found: tuple[str, str], text: str, refused: bool
) -> None:
    """Its power was cut a second after the reload: under its new name nobody had it."""
    file = tmp_path / "web.toml"
    store = await _store(file, text=RACK, host=found)
    composed, config = _read(file, text)
    faults = await left_accounts(store, await composed.with_removed(config, store), BEGIN)
    at = "provider.attic" if text == ATTIC else "provider.rack"
    assert [fault.path for fault in faults] == [at] * refused
    for fault in faults:
        words = f"{found[0]} of rack, as the host at {found[1]} was called: machine m-"
        assert fault.expected.startswith(words)


@pytest.mark.parametrize("phase", [Phase.READY, Phase.DELETED])
async def test_no_address_of_a_cloud_and_no_machine_that_is_gone_keeps_a_box_from_a_name(
    tmp_path: Path, phase: Phase
) -> None:
    """Private addresses of two networks may be the same."""
    file, box = tmp_path / "web.toml", RACK.partition("[fleet.web]")[0].replace("node-1", "node-2")
    own = FILE if phase is Phase.READY else RACK
    store = await _store(file, text=own, host=("node-1", "node-2.lan"), phase=phase)
    beside = box + FILE.replace("[fleet.web]", '[fleet.web]\nprovider = "scaleway"')
    text = beside if phase is Phase.READY else RACK.replace("node-1", "node-2")
    composed, config = _read(file, text)
    assert not await left_accounts(store, await composed.with_removed(config, store), BEGIN)


RACKS = LAB.replace(
    "[fleet.web]",
    """[provider.attic]
kind = "static"
hosts = [{ address = "192.0.2.2" }]

[fleet.web]
provider = "lab"
""",
)


async def test_a_fleet_of_hosts_that_the_file_names_is_not_taken_to_another_rack(
    tmp_path: Path,
) -> None:
    """They have no id, and both counted as one: their machines were made anew in the other one."""
    file = tmp_path / "web.toml"
    store = await _store(file, text=RACKS)
    moved = RACKS.replace('provider = "lab"', 'provider = "attic"')
    with pytest.raises(WrongFile) as refused:
        await _opened(file, moved, store)
    (fault,) = refused.value.faults
    assert (fault.path, fault.value) == ("fleet.web.provider", "attic (static)")
    assert fault.expected.startswith("lab: fleet web has 1 machine there")
    renamed = LAB.replace("provider.lab", "provider.attic")
    composed, config = _read(file, renamed)
    assert not await left_accounts(store, await composed.with_removed(config, store), BEGIN)
    composed, config = _read(file, moved)
    empty = await _store(file, text=RACKS, machines=0)
    assert not await left_accounts(empty, await composed.with_removed(config, empty), BEGIN)


@pytest.mark.parametrize(("text", "path"), ELSEWHERE.values(), ids=ELSEWHERE)
async def test_a_file_that_takes_a_fleet_away_from_its_machines_is_refused(
    tmp_path: Path, text: str, path: str
) -> None:
    """They would count as lost, be made anew, and stay on a bill that nobody looks at any more."""
    file = tmp_path / "web.toml"
    store = await _store(file, machines=2)
    await _opened(file, FILE, store)
    with pytest.raises(WrongFile) as refused:
        await _opened(file, text, store)
    (fault,) = refused.value.faults
    assert (fault.path, f"{PROJECT}: fleet web has 2 machines" in fault.expected) == (path, True)


async def test_a_project_of_the_environment_counts_as_one_of_the_file_does(tmp_path: Path) -> None:
    file, text = tmp_path / "web.toml", FILE.replace(f'project = "{PROJECT}"', "")
    store = await _store(file)
    await _opened(file, text, store, SCW_DEFAULT_PROJECT_ID=PROJECT.upper())
    with pytest.raises(WrongFile, match="has 1 machine there"):
        await _opened(file, text, store, SCW_DEFAULT_PROJECT_ID=OTHER)


NOWHERE = FILE.replace(f'project = "{PROJECT}"', "")


@pytest.mark.parametrize(("recorded", "text"), [(FILE, NOWHERE), (NOWHERE, FILE)])
async def test_a_project_that_one_side_does_not_know_refuses_nothing(
    tmp_path: Path, recorded: str, text: str
) -> None:
    """A shell that has no project and only reads, and a row that an older hostler wrote."""
    file = tmp_path / "web.toml"
    store = await _store(file, text=recorded)
    composed, config = _read(file, text)
    assert not await left_accounts(store, await composed.with_removed(config, store), BEGIN)


@pytest.mark.parametrize(
    ("cls", "is_refused"),
    [(OrphanClass.UNRECORDED, True), (OrphanClass.UNISSUED, True), (OrphanClass.FOREIGN, False)],
)
async def test_orphans_that_are_ours_keep_a_fleet_in_its_account_too(
    tmp_path: Path, cls: OrphanClass, is_refused: bool
) -> None:
    file = tmp_path / "web.toml"
    orphan = Orphan(
        resource=ResourceId("s-1"),
        kind="server",
        zone=Zone("fr-par-1"),
        fleet=WEB,
        cls=cls,
        first=BEGIN,
        last=BEGIN,
    )
    store = await _store(file, machines=0, orphans=(orphan,))
    why = pytest.raises(WrongFile, match="has 1 orphan there") if is_refused else nullcontext()
    with why:
        await _opened(file, ELSEWHERE["another project"][0], store)


@pytest.mark.parametrize("text", [ELSEWHERE["another project"][0], OTHER_KIND])
async def test_a_provider_takes_its_fleets_away_whether_they_are_still_asked_for(
    tmp_path: Path, text: str
) -> None:
    """In Kubernetes what was right before stays in force, though a fleet's object is gone."""
    file = tmp_path / "web.toml"
    store = await _store(file)
    for read, paths in ((FILE, []), (text, ["provider.scaleway"])):
        composed, config = _read(file, read)
        for fleets in (config.fleets, ()):
            faults = await leaver(composed, store)(replace(config, fleets=fleets))
            assert [fault.path for fault in faults] == paths


async def test_a_fleet_that_has_nothing_left_may_go_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "web.toml"
    store = await _store(file, machines=0)
    opened = [await _opened(file, text, store) for text, _ in ELSEWHERE.values()]
    assert opened == [["scaleway"], ["other"], ["lab"]]
