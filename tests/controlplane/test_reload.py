"""`hostler reload FILE` and SIGHUP beside objects of a real API server."""

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from kinds_kit import FLEETS, until
from test_run import ENGINE, HOSTLER, Cluster, cluster, simulator

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server
__all__ = ["cluster", "simulator"]

BOXES = """
[provider.static]
hosts = [{address = "127.0.0.1"}, {address = "127.0.0.2"}]
"""


class Beside:
    """An engine of a file and of objects, and the file."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.path = cluster, cluster.folder / "engine.toml"
        self.process: subprocess.Popen[bytes] | None = None

    def write(self, text: str) -> None:
        """Write the file, with the haste of the tests."""
        self.path.write_text(text + ENGINE)

    def hang_up(self) -> None:
        """Send SIGHUP, as who is on another computer does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    async def reload(self, *options: str) -> Any:
        """Say `hostler reload`; return what it answers, with its exit code."""
        done = await asyncio.to_thread(
            subprocess.run,
            [str(HOSTLER), "reload", str(self.path), "--json", *options],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return {**json.loads(done.stdout.splitlines()[-1]), "code": done.returncode}

    def begun(self) -> int:
        """Return how many engines began in the process."""
        return self.cluster.log.read_text().count("engine started")


@pytest_asyncio.fixture
async def beside(cluster: Cluster) -> AsyncGenerator[Beside]:
    """An engine with a fleet of an object, which has a machine, and a fleet of the file."""
    one = Beside(cluster)
    await cluster.cloud()
    await cluster.fleet("mine", 1)
    with cluster.start(text=f"{BOXES}[fleet.boxes]\nsize = 0\n{ENGINE}") as process:
        one.process = process
        try:
            await cluster.counts("mine", machines=1)
            yield one
            assert process.poll() is None, cluster.log.read_text()[-3000:]
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 60) == 0
        finally:
            process.kill()


async def test_the_file_is_exchanged_and_the_fleet_of_the_object_goes_on(beside: Beside) -> None:
    before = await beside.cluster.read(FLEETS, "mine")
    beside.write(f"{BOXES}[fleet.others]\nsize = 0\n")
    would = await beside.reload("--dry-run")
    assert (would["code"], would["changed"]) == (0, ["fleet.boxes", "fleet.others"])
    assert "mine" not in {one["fleet"] for one in would["fleets"]}
    done = await beside.reload()
    assert (done["code"], done["taken"], done["refused"]) == (0, True, "")
    again = await beside.reload()
    assert (again["code"], again["taken"], again["changed"]) == (0, True, [])
    await beside.cluster.counts("mine", size=1, machines=1)
    after = await beside.cluster.read(FLEETS, "mine")
    assert after.metadata.uid == before.metadata.uid
    assert beside.cluster.events("removed") == []


async def test_a_file_that_takes_the_name_of_an_object_is_refused_whole(beside: Beside) -> None:
    beside.write(f"{BOXES}[fleet.boxes]\nsize = 0\n[fleet.mine]\nsize = 0\nprovider = 'static'\n")
    done = await beside.reload()
    assert (done["code"] != 0, done["taken"]) == (True, False)
    name = f"Fleet {beside.cluster.namespace}/mine"
    assert f"[fleet.mine] has the name of {name}, an object that is run" in done["refused"]
    await beside.cluster.counts("mine", size=1, machines=1)
    assert (await beside.cluster.condition(FLEETS, "mine", "Accepted"))["status"] == "True"


async def test_a_signal_reads_the_file_and_a_changed_object_does_not(
    beside: Beside, cluster: Cluster
) -> None:
    beside.write(f"{BOXES}[fleet.others]\nsize = 0\n")
    begun = beside.begun()
    await cluster.fleet("mine", 2)
    await cluster.counts("mine", size=2, machines=2)
    assert beside.begun() == begun + 1
    assert "others" not in cluster.log.read_text()
    beside.hang_up()

    async def others() -> bool:
        return "others" in cluster.log.read_text()

    await until(others)
    await cluster.counts("mine", size=2, machines=2)


async def test_a_file_of_settings_alone_is_read_again_too(beside: Beside) -> None:
    beside.write("reclaim = true\n")
    done = await beside.reload()
    assert (done["code"], done["taken"]) == (0, True)
    assert {"reclaim", "fleet.boxes"} <= {*done["changed"]}
    await beside.cluster.counts("mine", size=1, machines=1)
