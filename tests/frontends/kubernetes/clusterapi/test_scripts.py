"""Scripts as bootstrap data of Macs: each is run once, by SSH, in simulated time; core is modelled.

Logins and disks are the fake preparer's: the real one meets a real SSH server in tests/access.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from core_kit import Cluster
from msgspec.structs import replace
from roll_kit import LONGEST_CLAIM, MACS
from structlog.testing import capture_logs

from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.policy.bootstrap_data import DataState
from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapSecrets
from hostler.lab.scenes.mac_ssh import WorldPreparer
from hostler.lab.scenes.macs import MacRig, play_macs
from hostler.lab.scenes.servers import Hostler
from hostler.stores.records import reads

FLEET = replace(MACS, probe=Probe(kind=ProbeKind.SSH, commands=("echo fleet",)))
TOKEN = "abcdef.0123456789abcdef"
JOIN = f"#!/bin/sh\nkubeadm join --token {TOKEN}\n"
NAME = "mac-0"
HOUR = timedelta(hours=1)
Scene = Callable[["Site"], Awaitable[None]]


class Site:
    """Macs that Cluster API's Machines have, each with a script in a Secret."""

    def __init__(self, rig: MacRig) -> None:
        self.rig, self.secrets = rig, BootstrapSecrets()
        self.preparer = WorldPreparer(rig.rig.world)
        rig.rig.bootstraps, rig.rig.preparer = self.secrets, self.preparer
        self.hostler = rig.hostler(FLEET)
        self.cluster = Cluster[Hostler](self.hostler)
        self.secrets.api = self.cluster.api
        self.cluster.cluster()

    def add(self, data: str | bytes = JOIN) -> None:
        self.cluster.secret("data-0", data.encode() if isinstance(data, str) else data)
        self.cluster.machine(NAME, secret="data-0")

    async def until(self, holds: Callable[[], bool], within: timedelta = LONGEST_CLAIM) -> None:
        await self.cluster.until(holds, within)

    async def provisioned(self) -> None:
        await self.until(lambda: self.cluster.is_provisioned(NAME))

    async def becomes(self, reason: str) -> str:
        """Wait for a reason of the condition; return its message."""
        await self.until(lambda: self.cluster.ready(NAME) == reason)
        return self.message()

    def message(self) -> str:
        found = self.cluster.status(NAME).get("conditions", ())
        return next((one["message"] for one in found if one["type"] == "Ready"), "")

    def scripts(self) -> list[str]:
        """Return the machines' own scripts that ran, on disks that are there."""
        disks = self.preparer.fake._disks.values()
        return [text for disk in disks for text in disk.begun.values() for text in [text.decode()]]

    async def engine(self) -> None:
        await asyncio.sleep(5)
        self.cluster.engine = self.hostler.engine

    async def crash(self) -> None:
        """Let another engine go on over the same store."""
        await self.hostler.stop()
        self.rig.truth.hostlers.remove(self.hostler)
        self.hostler = self.rig.hostler(FLEET, self.hostler.store)
        self.cluster.scene, self.cluster.engine = self.hostler, None
        await self.engine()

    async def written(self) -> str:
        """Return all that anybody can read of it."""
        store = self.hostler.store
        records = f"{await store.hosts()} {await self.hostler.machines()} {await store.requests()}"
        return f"{records} {await self.hostler.events()} {self.cluster.status(NAME)}"


def played(scene: Scene, count: int = 1) -> None:
    async def whole(rig: MacRig) -> None:
        site = Site(rig)
        await site.engine()
        async with site.cluster.provided():
            await scene(site)

    play_macs(whole, count)


def test_a_mac_has_its_script_run_once_after_the_fleets_setup_and_it_is_written_nowhere() -> None:
    async def scene(site: Site) -> None:
        with capture_logs() as logs:
            site.add()
            await site.provisioned()
            site.cluster.api.vanish("Secret", "data-0")
            site.cluster.secret("data-0", JOIN.replace("join", "another").encode())
            await asyncio.sleep(1800)
            site.cluster.api.vanish("Secret", "data-0")
            await site.crash()
            await asyncio.sleep(1800)
        assert site.cluster.ready(NAME) == "Provisioned"
        assert site.scripts() == [JOIN]
        (host,) = await site.hostler.store.hosts()
        assert host.bootstrap.run.state is DataState.DONE
        (order, *_) = [one for one in site.preparer.orders if one.data is not None]
        assert order.commands == ("echo fleet",)
        assert TOKEN not in f"{await site.written()} {logs} {site.preparer.orders}"

    played(scene)


def test_it_is_on_record_before_it_is_sent_that_the_script_is_run() -> None:
    async def scene(site: Site) -> None:
        states, store = list[DataState](), site.hostler.store

        def seen() -> None:
            states.extend(host.bootstrap.run.state for host in reads.hosts(store._tables))

        site.preparer.fake.crash = seen
        site.add()
        await site.provisioned()
        assert states == [DataState.ASKED]

    played(scene)


def test_a_crash_between_the_run_and_its_record_runs_it_once() -> None:
    async def scene(site: Site) -> None:
        def crash() -> None:
            site.hostler.task.cancel()

        site.preparer.fake.crash = crash
        site.add()
        await site.until(lambda: site.scripts() != [])
        site.preparer.fake.crash = None
        await site.crash()
        await asyncio.sleep(600)
        assert await site.hostler.ready() == 1
        assert site.scripts() == [JOIN]

    played(scene)


def test_a_script_that_runs_on_is_waited_for_and_is_no_failure_of_its_host() -> None:
    async def scene(site: Site) -> None:
        site.preparer.fake.pause = timedelta(seconds=30)
        site.add()
        await site.until(lambda: bool(site.preparer.fake.asked))
        (machine,) = await site.hostler.machines()
        site.preparer.fake.unended.add(machine.id)
        await asyncio.sleep(600)
        assert "its bootstrap script runs" in site.message()
        site.cluster.api.vanish("Secret", "data-0")
        await asyncio.sleep(300)
        (host,) = await site.hostler.store.hosts()
        assert (host.health.trouble.failures, site.scripts()) == (0, [JOIN])
        site.preparer.fake.unended.clear()
        await site.provisioned()
        assert site.scripts() == [JOIN]

    played(scene)


def test_a_failure_ends_the_machine_with_its_words_and_blames_neither_host_nor_fleet() -> None:
    async def scene(site: Site) -> None:
        site.add(JOIN + "exit 7\n")
        assert "its bootstrap script failed with 7" in await site.becomes("BootstrapFailed")
        await asyncio.sleep(7200)
        assert "its bootstrap script failed with 7" in site.message()
        assert site.cluster.ready(NAME) == "BootstrapFailed"
        assert len(site.scripts()) == 1
        assert await site.hostler.machines() == ()
        (host,) = await site.hostler.store.hosts()
        assert (host.health.strikes, host.health.trouble.failures) == (0, 0)
        assert (await site.hostler.row()).setbacks == ()
        events = [one.event for one in await site.hostler.events()]
        assert any("failed with 7" in one.detail for one in events if one.kind == "not_prepared")
        assert any("failed with 7" in one.detail for one in events if one.kind == "moved")
        assert TOKEN not in await site.written()

    played(scene)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (JOIN.encode() + b"\0", "has a NUL byte in it"),
        (JOIN.replace("\n", "\r\n").encode(), "ends its lines in CRLF"),
        (JOIN.encode() + b"#" * 1_048_576, "1,048,576 are the most"),
    ],
    ids=["NUL", "CRLF", "too large"],
)
def test_what_no_host_can_run_ends_the_machine_with_a_sentence(data: bytes, why: str) -> None:
    async def scene(site: Site) -> None:
        site.add(data)
        assert why in await site.becomes("BootstrapFailed")
        assert site.scripts() == []
        assert TOKEN not in await site.written()

    played(scene)


def test_a_secret_that_is_gone_is_waited_for_and_no_failure_of_its_host() -> None:
    async def scene(site: Site) -> None:
        site.add()
        await site.until(lambda: "being made" in site.message())
        site.cluster.api.vanish("Secret", "data-0")
        await site.until(lambda: "the Secret fleet/data-0" in site.message())
        assert "is gone" in site.message()
        (host,) = await site.hostler.store.hosts()
        assert (host.health.trouble.failures, site.scripts()) == (0, [])
        site.cluster.secret("data-0", JOIN.encode())
        await site.provisioned()
        assert site.scripts() == [JOIN]

    played(scene)
