"""Two engines on one store in a cluster, as real processes: one is killed, the other goes on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hostler.app.clock import SystemClock
from hostler.frontends.kubernetes.install import install, wait_established
from hostler.kubernetes.client import Client
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.session import Session
from hostler.lab.controlplane.api_server import ApiServer
from hostler.ports.store import Lease
from hostler.simulators.ports import free_port
from hostler.stores.kubernetes.definitions import definitions
from hostler.stores.kubernetes.opening import ClusterPlace, Surroundings, open_store

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

HOSTLER = Path(sys.executable).parent / "hostler"
SECRET = "11111111-2222-4333-8444-555555555555"
LEASE = 24.0
FLEET = """
store = "{store}"

[provider.scaleway]
endpoint = "{url}"
project = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
rate = 200
burst = 400
consistency_delay = "2s"

[fleet.shared]
size = 3
maximum = 12
types = ["DEV1-S"]
zones = ["fr-par-1"]
image = "ubuntu_noble"
cloud_init = "#cloud-config"

[fleet.shared.timers]
absence_gap = "1s"
start = "60s"
stop = "30s"
observation_limit = "30s"

[engine]
quiet = "1s"
busy_first = "300ms"
busy_last = "1s"
rare = "500ms"
lease_ttl = "24s"
lease_beat = "1s"
"""


@pytest.fixture
def simulator() -> Iterator[str]:
    port = free_port()
    command = [str(HOSTLER), "simulator", "scaleway", "--port", str(port), "--speed", "20"]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: leaks(url) is not None, "the simulator did not come up")
            yield url
        finally:
            process.terminate()


def leaks(url: str) -> list[dict[str, Any]] | None:
    """Return what stands at the simulator; None as long as it is silent."""
    try:
        with urllib.request.urlopen(f"{url}/_sim/leaks", timeout=10) as answer:  # noqa: S310 - loopback only
            found: list[dict[str, Any]] = json.load(answer)["leaks"]
            return found
    except OSError:
        return None


def servers(url: str) -> int:
    return sum(leak["kind"] == "server" for leak in leaks(url) or ())


def until(holds: Callable[[], object], otherwise: str, seconds: float = 90) -> float:
    """Wait until something holds; return how many seconds that took."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            pytest.fail(otherwise)
        time.sleep(0.1)
    return time.monotonic() - begun


def environment() -> dict[str, str]:
    return {**os.environ, "SCW_SECRET_KEY": SECRET}


def engine(file: Path, stack: ExitStack) -> "subprocess.Popen[bytes]":
    log = stack.enter_context((file.parent / "engines.log").open("ab"))
    command = [str(HOSTLER), "run", str(file), "--json"]
    process = subprocess.Popen(command, stdout=log, stderr=log, env=environment())
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def ask(file: Path, *words: str) -> str:
    command: Sequence[str] = [str(HOSTLER), words[0], str(file), *words[1:]]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment(), timeout=60
    )
    return done.stdout


async def _leases(place: ClusterPlace) -> tuple[Lease, ...]:
    store = open_store(place, Surroundings(os.environ, SystemClock()), None, reading=True)
    try:
        return await store.leases()
    finally:
        await store.close()


def holders(place: ClusterPlace) -> set[str]:
    return {lease.holder for lease in asyncio.run(_leases(place))}


@pytest.fixture
def place(api_server: ApiServer) -> ClusterPlace:
    """A place for a store, in a cluster that knows the store's kinds."""
    asyncio.run(_install(api_server))
    return ClusterPlace(namespace="default", name="shared", kubeconfig=str(api_server.kubeconfig))


async def _install(api_server: ApiServer) -> None:
    variables = {"KUBECONFIG": str(api_server.kubeconfig)}
    config = from_kubeconfig(Place(environment=variables, home=Path("/")), SystemClock())
    session = Session(config)
    try:
        client = Client(session=session)
        names = [one.name async for one in install(client, definitions())]
        await wait_established(client, SystemClock(), names, timedelta(seconds=60))
    finally:
        await session.close()


def test_of_two_engines_one_is_killed_and_the_other_goes_on(
    tmp_path: Path, place: ClusterPlace, simulator: str
) -> None:
    """The fleet passes within the lease and a pass or two; no server is made twice."""
    file = tmp_path / "shared.toml"
    file.write_text(FLEET.format(url=simulator, store=f"kubernetes:{place}"))
    log = tmp_path / "engines.log"
    with ExitStack() as stack:
        first = engine(file, stack)
        until(lambda: servers(simulator) == 3, "the first engine made no servers", 30)
        assert all(f"-{first.pid}-" in holder for holder in holders(place))
        second = engine(file, stack)
        time.sleep(3)
        assert second.poll() is None, log.read_text()[-2000:]
        assert all(f"-{first.pid}-" in holder for holder in holders(place))
        first.send_signal(signal.SIGKILL)
        first.wait()
        ask(file, "scale", "5", "--no-wait")
        took = until(lambda: servers(simulator) == 5, "the second engine did not go on")
        assert took < LEASE + 15
        assert all(f"-{second.pid}-" in holder for holder in holders(place))
        time.sleep(3)
        assert servers(simulator) == 5
        (status,) = json.loads(ask(file, "status", "--json"))["fleets"]
        assert status["ready"] == 5, status
