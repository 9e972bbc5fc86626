"""Wake-on-LAN across a real network: two namespaces of the test, and a cable between them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

MAC = "52:54:00:12:34:56"
PACKET = "ff" * 6 + MAC.replace(":", "") * 16
SEND = """
import asyncio, sys
from pathlib import Path
import msgspec
from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.ports.power import PowerAction, PowerOpening, Turn
from hostler.providers.power.methods.wake_on_lan import WakeOnLan

async def main():
    settings = msgspec.json.decode(sys.argv[1], type=WakeOnLan.settings)
    power = WakeOnLan().open(PowerOpening(settings=settings, turn=Turn(), folder=Path("/"),
        environment={}, clock=SystemClock(), shell=SshShell(), connect=AiohttpTransport))
    print(await power.act(PowerAction.ON))

asyncio.run(main())
"""
RECEIVE = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
    heard.bind(("", 9))
    heard.settimeout(20)
    print("listens", flush=True)
    print(heard.recv(2048).hex(), flush=True)
"""


@pytest.fixture
def cable() -> Generator[tuple[str, str]]:
    """Make two namespaces with a cable between them; where that may not be, say so."""
    ip, ours = shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin"), os.getpid()
    near, far = f"hostler-a{ours}", f"hostler-b{ours}"
    if ip is None or os.geteuid() != 0:
        pytest.skip("network namespaces are made by root, with the program ip (iproute2)")
    if subprocess.run([ip, "netns", "add", near], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    steps = (
        f"netns add {far}",
        f"-n {near} link add cable type veth peer name cable netns {far}",
        f"-n {near} addr add 10.253.77.1/24 brd + dev cable",
        f"-n {far} addr add 10.253.77.2/24 brd + dev cable",
        f"-n {near} link set cable up",
        f"-n {far} link set cable up",
        f"-n {near} route add default dev cable",
    )
    try:
        for step in steps:
            subprocess.run([ip, *step.split()], capture_output=True, check=True)
        yield near, far
    finally:
        for name in (near, far):
            subprocess.run([ip, "netns", "del", name], capture_output=True, check=False)


@pytest.mark.parametrize(
    "settings",
    [
        '{"broadcast": "10.253.77.255"}',
        '{"broadcast": "255.255.255.255"}',
        '{"broadcast": "255.255.255.255", "interface": "cable"}',
    ],
    ids=["directed", "limited", "by its interface"],
)
def test_a_magic_packet_reaches_every_machine_of_a_network(
    cable: tuple[str, str], settings: str, tmp_path: Path
) -> None:
    near, far = cable
    inside = ("ip", "netns", "exec")
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    text = f'{{"mac": "{MAC}", "repeats": 2, {settings[1:]}'
    with subprocess.Popen(
        [*inside, far, sys.executable, "-c", RECEIVE],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={"PATH": path},
    ) as machine:
        assert machine.stdout is not None
        assert machine.stdout.readline() == "listens\n"
        sent = subprocess.run(
            [*inside, near, sys.executable, "-c", SEND, text],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={"PATH": path},
        )
        heard = machine.stdout.readline().strip()
    assert sent.stdout.startswith("Done"), sent.stdout + sent.stderr
    assert heard == PACKET
