"""Source: what people wrote while the API server was away is taken soon after it is back."""

import asyncio
import base64
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.domain.errors import StoreError
from hostler.domain.ids import AccountName, HostId, MachineId, machine_id
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.earlier import behind
from hostler.frontends.kubernetes.fleets.judging import Base
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.fleets.writing import FINALIZER
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.models import Fields, StoredSecret, Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.errors import Unavailable
from hostler.kubernetes.objects import Key, Metadata
from hostler.testing.scenes.builders import BEGIN, WEB
from hostler.testing.scenes.hosts import record
from hostler.testing.time.clock import SimClock

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

CLOUD: Fields = {
    "kind": "scaleway",
    "secretName": "cloud",
    "scaleway": {"project": "22222222-2222-2222-2222-222222222222"},
}
FLEET: Fields = {"size": 0, "provider": "cloud", "scaleway": {"types": ["DEV1-S"]}}


@dataclass
class Server:
    """Objects of one namespace, as they are followed, and Secrets that may not be read for now."""

    found: dict[str, dict[str, Written]] = field(default_factory=dict[str, dict[str, Written]])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    away: bool = False
    reads: list[float] = field(default_factory=list[float])

    def write(self, kind: str, name: str, spec: Fields) -> None:
        metadata = Metadata(name=name, namespace="home", uid=name, finalizers=(FINALIZER,))
        self.found.setdefault(kind, {})[name] = Written(metadata=metadata, spec=spec)
        self.changed.set()

    def of(self, kind: str) -> tuple[Written, ...]:
        return tuple(self.found.get(kind, {}).values())

    async def synced(self) -> None:
        return

    async def get(self, _: object, key: Key) -> StoredSecret:
        self.reads.append(asyncio.get_running_loop().time())
        if self.away:
            raise Unavailable("nobody answers")
        value = base64.b64encode(b"secret").decode()
        return StoredSecret(metadata=Metadata(name=key.name), data={"SCW_SECRET_KEY": value})


async def _opens(config: Config) -> None:
    del config


async def _leaves(config: Config) -> tuple[Fault, ...]:
    del config
    return ()


async def source_of(folder: Path, server: Server) -> Source:
    """Return a source that has read everything once; Secrets are read again each hour."""
    server.write("Provider", "cloud", CLOUD)
    around = Surroundings(
        cluster=Connected(client=server, namespace="home", origin="a test"),  # pyright: ignore[reportArgumentType] - what a source needs of it
        namespaces=Namespaces(home="home"),
        followed=server,  # pyright: ignore[reportArgumentType] - what a source needs of it
        places=SecretPlaces(folder / "secrets", {}, b"salt"),
        opens=_opens,
        leaves=_leaves,
        clock=SimClock(asyncio.get_running_loop()),
        again=timedelta(hours=1),
    )
    base = Base(path=folder / "home.toml", raw={}, kinds=KINDS, stores=STORES)
    source = Source(base, around)
    await source.first({})
    return source


async def test_an_edit_while_the_server_was_away_is_taken_soon_after_it_is_back(
    tmp_path: Path,
) -> None:
    """It was taken when Secrets were read again the next time, or with the next edit."""
    server = Server()
    source = await source_of(tmp_path, server)
    running = asyncio.get_running_loop().create_task(source.run())
    server.away, server.reads = True, []
    server.write("Fleet", "web", FLEET)
    await asyncio.sleep(600)
    assert 5 < len(server.reads) < 40, "it is tried again, and not all the time"
    server.away = False
    await asyncio.sleep(61)
    assert source.config().known("web") is not None
    server.reads = []
    await asyncio.sleep(600)
    running.cancel()
    assert server.reads == [], "all is well"


async def test_who_could_not_hear_of_what_is_new_hears_of_it_soon(tmp_path: Path) -> None:
    server = Server()
    source = await source_of(tmp_path, server)
    heard = list[float]()

    async def on_new() -> None:
        heard.append(asyncio.get_running_loop().time())
        if len(heard) < 3:
            raise StoreError("locked")

    source.on_new = on_new
    running = asyncio.get_running_loop().create_task(source.run())
    server.write("Fleet", "web", FLEET)
    await asyncio.sleep(600)
    running.cancel()
    assert len(heard) == 3
    assert heard[-1] - heard[0] < 10


async def test_a_fleet_is_what_it_was_again_once_its_provider_is_back(tmp_path: Path) -> None:
    """A slip of the pen on it meanwhile ended it, and two processes had other fleets in force."""
    server = Server()
    source = await source_of(tmp_path, server)
    running = asyncio.get_running_loop().create_task(source.run())
    server.write("Fleet", "web", {**FLEET, "size": 2})
    await asyncio.sleep(1)
    del server.found["Provider"]["cloud"]
    server.write("Fleet", "web", {**FLEET, "size": -1})
    await asyncio.sleep(1)
    assert source.config().known("web") is None
    server.write("Provider", "cloud", CLOUD)
    await asyncio.sleep(1)
    fleet = source.config().known("web")
    assert fleet is not None
    assert fleet.size == 2
    del server.found["Fleet"]["web"], server.found["Provider"]["cloud"]
    server.changed.set()
    await asyncio.sleep(1)
    server.write("Provider", "cloud", CLOUD)
    server.write("Fleet", "web", {**FLEET, "size": -1})
    await asyncio.sleep(1)
    running.cancel()
    assert source.config().known("web") is None, "what was deleted is no more"


@dataclass
class Records:
    """A store with one host of a rack, which a machine has or not, and with a fleet as it was."""

    host: str
    bound: bool = True
    definition: str = ""

    async def hosts(self) -> tuple[Host, ...]:
        return (record(id=HostId(self.host), account=AccountName("rack")),)

    async def bindings(self) -> dict[HostId, MachineId]:
        return {HostId(self.host): machine_id(1)} if self.bound else {}

    async def fleets(self) -> tuple[FleetRow, ...]:
        return (FleetRow(name=WEB, created=BEGIN, definition=self.definition),)


_LACKS = f"machine {machine_id(1)} is on host box-2, which was not read yet"
_OTHER = "fleet web was run otherwise than it was read here"


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (Records("box-1"), ""),
        (Records("box-2"), _LACKS),
        (Records("box-2", bound=False), ""),
        (Records("box-1", definition="what was read"), ""),
        (Records("box-1", definition='{"provider": "rack", "size": 5}'), _OTHER),
    ],
)
async def test_that_records_are_ahead_of_what_was_read_is_told(
    records: Records, text: str, tmp_path: Path
) -> None:
    """Nothing is told of accounts that list no hosts, as clouds do not."""
    server = Server()
    server.write("Provider", "rack", {"kind": "static"})
    server.write("Host", "box-1", {"provider": "rack", "static": {"address": "10.0.0.1"}})
    server.write("Fleet", "web", {"size": 1, "provider": "rack"})
    source = await source_of(tmp_path, server)
    assert source.lists() == {"rack": {"box-1"}}
    (fleet,) = source.config().fleets
    if records.definition == "what was read":
        records.definition = fleet.definition
    assert await behind(source, records) == text  # pyright: ignore[reportArgumentType] - what is asked of it
