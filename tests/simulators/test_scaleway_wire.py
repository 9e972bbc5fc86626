"""A simulated Scaleway behind the HTTP port under simulated time, and guests on real sockets."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
import requests

from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Transport
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.http import SimulatorServer
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.world import World

from .conftest import SECRET, ZONE, Start

HEADERS = (("X-Auth-Token", SECRET),)
LIST = HttpRequest(method="GET", path=f"{ZONE}/servers", headers=HEADERS)
SECONDS = timedelta(seconds=20)


def transport() -> WorldTransport:
    """Return a transport to a world under the running loop's time."""
    return WorldTransport(World(asyncio.get_running_loop().time, Random(1)))


@pytest.mark.looptime
async def test_an_answer_takes_the_latency_of_the_real_api() -> None:
    wire: Transport = transport()
    before = asyncio.get_running_loop().time()
    answer = await wire.send(LIST, SECONDS)
    assert (answer.status, answer.body) == (200, b'{"servers":[]}')
    assert 0.05 < asyncio.get_running_loop().time() - before < 0.5


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("fault", "least", "most"),
    [("reply_lost", 0.0, 2.0), ("truncated_json", 0.0, 2.0), ("hung", 20.0, 20.1)],
)
async def test_a_broken_answer_is_no_answer(fault: str, least: float, most: float) -> None:
    wire = transport()
    wire._world.script(Rule(fault=fault, route="server.list"))
    before = asyncio.get_running_loop().time()
    with pytest.raises(NoAnswer):
        await wire.send(LIST, SECONDS)
    assert least <= asyncio.get_running_loop().time() - before <= most
    assert (await wire.send(LIST, SECONDS)).status == 200


@pytest.mark.looptime
async def test_a_slow_answer_is_given_up_at_the_deadline() -> None:
    wire = transport()
    wire._world.script(Rule(fault="slow", spell=60.0))
    before = asyncio.get_running_loop().time()
    with pytest.raises(NoAnswer, match="deadline"):
        await wire.send(LIST, SECONDS)
    assert asyncio.get_running_loop().time() - before == pytest.approx(20.0)


@pytest.mark.looptime
async def test_nothing_is_sent_while_our_network_is_down_or_after_the_end() -> None:
    wire = transport()
    wire.down = True
    with pytest.raises(NotSent):
        await wire.send(LIST, SECONDS)
    wire.down = False
    await wire.close()
    with pytest.raises(NotSent):
        await wire.send(LIST, SECONDS)
    assert wire._world.calls == {}


@pytest.mark.looptime
async def test_an_answer_is_lost_when_our_network_goes_down_on_its_way() -> None:
    wire = transport()
    loop = asyncio.get_running_loop()
    loop.call_later(0.01, setattr, wire, "down", True)
    with pytest.raises(NoAnswer, match="went down"):
        await wire.send(LIST, SECONDS)
    assert wire._world.calls == {"server.list": 1}


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def heard(address: str, port: int) -> bool:
    """Tell if somebody greets at an address."""
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            return connection.recv(64).startswith(b"SSH-2.0-")
    except ConnectionRefusedError:
        return False


def eventually(check: Callable[[], bool]) -> None:
    """Look again, for ten seconds at most, until it holds."""
    for _ in range(200):
        if check():
            return
        time.sleep(0.05)  # noqa: TID251 - real sockets
    pytest.fail("it never held")


def test_a_guest_listens_at_its_own_address_while_it_is_up(start: Start) -> None:
    port = free_port()
    simulator = start(speed=100.0, guest_port=port)

    def post(path: str, body: dict[str, Any]) -> requests.Response:
        url = f"{simulator.url}{ZONE}/{path}"
        return requests.post(url, json=body, headers=dict(HEADERS), timeout=10)

    addresses: list[str] = []
    servers: list[str] = []
    for _ in range(2):
        ip = post("ips", {"type": "routed_ipv4"}).json()["ip"]
        body = {"commercial_type": "DEV1-S", "image": "ubuntu_noble", "public_ips": [ip["id"]]}
        server = post("servers", body).json()["server"]
        addresses.append(ip["address"])
        servers.append(server["id"])
    assert all(address.startswith("127.") for address in addresses)
    assert not heard(addresses[0], port)
    post(f"servers/{servers[0]}/action", {"action": "poweron"})
    eventually(lambda: heard(addresses[0], port))
    assert not heard(addresses[1], port)
    post(f"servers/{servers[0]}/action", {"action": "terminate"})
    eventually(lambda: not heard(addresses[0], port))


def test_a_simulator_serves_loopback_only() -> None:
    world = World(lambda: 0.0, Random(1))
    with pytest.raises(ValueError, match="loopback only"):
        SimulatorServer(world, "0.0.0.0", 0, 1.0, None)  # noqa: S104 - that is what is refused


def story(hash_seed: str, seed: int) -> str:
    """Return a digest of everything that a world did in a storm, from a process of its own."""
    code = (
        "import hashlib, json, random\n"
        "from hostler.ports.http import HttpRequest\n"
        "from hostler.simulators.scaleway.faults.rates import STORM\n"
        "from hostler.simulators.scaleway.world import World, DEFAULTS\n"
        "now = [0.0]\n"
        f"world = World(lambda: now[0], random.Random({seed}), DEFAULTS, STORM)\n"
        "out = hashlib.sha256()\n"
        "def ask(method, path, body=None):\n"
        "    raw = json.dumps(body).encode() if body is not None else b''\n"
        f"    headers = (('X-Auth-Token', {SECRET!r}),)\n"
        "    asked = HttpRequest(method=method, path=path, headers=headers, body=raw)\n"
        "    reply = world.handle(asked)\n"
        "    out.update(repr(reply).encode())\n"
        f"zone = {ZONE!r}\n"
        "for turn in range(400):\n"
        "    now[0] += 3.0\n"
        "    ask('POST', zone + '/ips', {})\n"
        "    ask('POST', zone + '/servers', {'commercial_type': 'DEV1-S', 'image': 'docker'})\n"
        "    for server in list(world.cloud.servers)[:3]:\n"
        "        act = {'stopped': 'poweron'}.get(server.state, 'terminate')\n"
        "        ask('POST', zone + '/servers/' + server.id + '/action', {'action': act})\n"
        "    ask('GET', zone + '/servers')\n"
        "out.update(repr(list(world.journal)).encode())\n"
        "out.update(repr(world.leaks()).encode())\n"
        "out.update(repr(world.faults).encode())\n"
        "print(out.hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    return done.stdout


def test_the_same_seed_tells_the_same_history_whatever_hashes_are() -> None:
    assert story("1", 7) == story("2", 7)
    assert story("1", 7) != story("1", 8)
