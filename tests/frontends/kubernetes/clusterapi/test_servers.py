"""Cloud servers with bootstrap data: on each server before its first boot, in simulated time.

The real provider of Scaleway Instances over a simulated cloud; core is modelled.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from core_kit import KIND, Cluster
from msgspec.structs import replace
from structlog.testing import capture_logs

from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapSecrets
from hostler.lab.scenes.servers import FLEET, PLAIN, Hostler, Rig, play
from hostler.simulators.scaleway.state.records import Server, State

WORKERS = replace(FLEET, size=0, maximum=10, renews=False)
TOKEN = "abcdef.0123456789abcdef"
DATA = f"#cloud-config\nruncmd: [kubeadm join --token {TOKEN}]\n".encode()
NAME = "w-0"
Scene = Callable[["Site"], Awaitable[None]]


class Site:
    """A fleet of servers that Cluster API's Machines have, with a Secret each."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.secrets = rig, BootstrapSecrets()
        rig.bootstraps = self.secrets
        self.hostler = rig.hostler(WORKERS)
        self.cluster = Cluster[Hostler](self.hostler)
        self.secrets.api = self.cluster.api
        self.cluster.cluster()

    @property
    def servers(self) -> list[Server]:
        return list(self.rig.world.cloud.servers)

    def add(self, data: bytes = DATA) -> None:
        self.cluster.secret("data-0", data)
        self.cluster.machine(NAME, secret="data-0")

    async def until(self, holds: Callable[[], bool], minutes: int = 10) -> None:
        """Wait; whatever was switched on by then had its data."""

        def seen() -> bool:
            for server in self.servers:
                assert server.state == State.STOPPED or TOKEN in text_of(server)
            return holds()

        await self.cluster.until(seen, timedelta(minutes=minutes))

    async def provisioned(self) -> None:
        await self.until(lambda: self.cluster.is_provisioned(NAME), 20)

    async def engine(self) -> None:
        """Begin with the engine that runs by now."""
        await asyncio.sleep(2)
        assert self.hostler.engine is not None
        self.cluster.engine = self.hostler.engine

    async def crash(self) -> None:
        """Let the engine end where it is, and another one begin over the same store."""
        await self.hostler.stop()
        self.hostler = self.rig.hostler(WORKERS, self.hostler.store)
        self.cluster.scene, self.cluster.engine = self.hostler, None
        await self.engine()


def text_of(server: Server) -> str:
    return server.user_data.get("cloud-init", b"").decode()


def played(scene: Scene) -> None:
    async def whole(rig: Rig) -> None:
        site = Site(rig)
        await site.engine()
        await scene(site)

    play(whole)


def test_a_server_has_its_machines_data_and_its_fleets_before_it_boots() -> None:
    async def scene(site: Site) -> None:
        async with site.cluster.provided():
            site.add()
            await site.provisioned()
        (server,) = site.servers
        assert PLAIN.cloud_init in text_of(server)
        assert TOKEN in text_of(server)

    played(scene)


def test_the_secret_may_go_once_the_machine_has_booted() -> None:
    async def scene(site: Site) -> None:
        async with site.cluster.provided():
            site.add()
            await site.provisioned()
            site.cluster.api.vanish("Secret", "data-0")
            await asyncio.sleep(1800)
            assert site.cluster.ready(NAME) == "Provisioned"
            assert len(site.servers) == 1
            await site.cluster.deleted(NAME)
            await asyncio.sleep(120)
        assert site.servers == []

    played(scene)


def test_without_its_secret_no_machine_is_made_and_with_it_again_one_is() -> None:
    async def scene(site: Site) -> None:
        async with site.cluster.provided():
            site.add()
            await site.until(lambda: _machine_id(site) != "")
            await asyncio.sleep(0.6)
            site.cluster.api.vanish("Secret", "data-0")
            await site.until(lambda: site.cluster.ready(NAME) == "BootstrapDataMissing")
            assert all(server.state == State.STOPPED for server in site.servers)
            site.cluster.secret("data-0", DATA)
            await site.provisioned()
        assert len(site.servers) == 1

    played(scene)


def _machine_id(site: Site) -> str:
    raw = site.cluster.api.raw(KIND, NAME) or {"spec": {}}
    return str(raw["spec"].get("machineID", ""))


def test_data_that_no_server_takes_is_told_and_costs_no_server() -> None:
    async def scene(site: Site) -> None:
        async with site.cluster.provided():
            site.add(b"#!" + TOKEN.encode() + b"x" * 130_000)
            await site.until(lambda: site.cluster.ready(NAME) == "BootstrapFailed")
            text = str(site.cluster.status(NAME)["conditions"])
            assert "127,998 are the most" in text
            history = repr(await site.hostler.events())
            assert "127,998 are the most" in history
            assert TOKEN not in text + history
            assert (await site.hostler.row()).setbacks == ()  # the others go on
        assert site.servers == []

    played(scene)


@pytest.mark.parametrize("point", range(16))
def test_a_crash_at_any_time_makes_no_server_without_data_and_no_second_one(point: int) -> None:
    async def scene(site: Site) -> None:
        site.add()
        async with site.cluster.provided():
            await asyncio.sleep(0.35 * point)
        await site.crash()
        async with site.cluster.provided():
            await site.provisioned()
            assert len(site.servers) == 1
            await site.cluster.deleted(NAME)
            await asyncio.sleep(120)
        assert site.servers == []

    played(scene)


def test_nothing_that_is_kept_or_told_has_a_word_of_the_data() -> None:
    """Records, requests, events, conditions, writes to the API, and logs, after trouble too."""

    async def scene(site: Site) -> None:
        store = site.hostler.store
        async with site.cluster.provided():
            site.add()
            await site.provisioned()
            seen = [await store.machines(WORKERS.name), await store.requests()]
            seen += [await site.hostler.events(), await store.fleets(), site.cluster.api.writes]
            await site.cluster.deleted(NAME)
        text = repr((seen, await site.hostler.events(), site.cluster.api.writes))
        assert "secret/fleet/data-0" in text
        assert TOKEN not in text

    with capture_logs() as logs:
        played(scene)
    assert logs
    assert TOKEN not in repr(logs)
