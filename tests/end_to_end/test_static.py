"""Static hosts under the real program: SSH servers on loopback are claimed, and given back."""

import asyncio
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "providers"))

from static_hosts import Park, park

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "static-hosts.md"
HOSTLER = Path(sys.executable).parent / "hostler"

ABROAD = "hostler-claim installation=abroad99 fleet=theirs machine=m-aaaaaaaaaa\n"

FLEET = """
[provider.lab]
kind = "static"
user = "builder"
key = "key"
hosts = [{hosts}]
patience = "1s"

[fleet.builders]
size = 2
release = "touch cleaned"
ready = {{ probe = "tcp", port = {port} }}

[fleet.builders.timers]
drain = "0s"
absence_gap = "1s"

[engine]
quiet = "1s"
busy_first = "300ms"
busy_last = "1s"
rare = "500ms"
"""


def fleet_file(hosts: Park) -> Path:
    entries = (
        f'{{ name = "{host.name}", address = "127.0.0.1", port = {host.port} }}'
        for host in hosts.hosts
    )
    file = hosts.folder / "lab.toml"
    file.write_text(FLEET.format(hosts=", ".join(entries), port=hosts.hosts[2].port))
    return file


async def run(*words: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        str(HOSTLER), *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110 - files of other processes are watched
            await asyncio.sleep(0.1)


@pytest.mark.timeout(150)
async def test_hosts_are_claimed_cleaned_and_given_back() -> None:
    """Of five, another installation has one, and one is silent: both are passed over."""
    async with park(5) as hosts:
        file, (theirs, silent) = fleet_file(hosts), hosts.hosts[:2]
        theirs.claim.parent.mkdir()
        theirs.claim.write_text(ABROAD)
        await silent.stop()

        def claims() -> int:
            return sum(host.claim.exists() for host in hosts.hosts[1:])

        code, output = await run("check", str(file))
        assert code == 0, output
        with (hosts.folder / "log").open("wb") as log:
            engine = await asyncio.create_subprocess_exec(
                str(HOSTLER), "run", str(file), stdout=log, stderr=log
            )
            try:
                await until(lambda: claims() == 2)
                await until(lambda: '"probe_passed"' in (hosts.folder / "log").read_text())
                await stranger_is_left_alone(hosts, file)
                code, output = await run("scale", str(file), "0")
                assert code == 0, output
                await until(lambda: claims() == 0)
                async with asyncio.timeout(60):
                    while "3 free" not in output:
                        await asyncio.sleep(0.5)
                        _, output = await run("pool", str(file), "list")
            finally:
                engine.terminate()
                await engine.wait()
        assert sum((host.home / "cleaned").exists() for host in hosts.hosts) == 2
        assert theirs.claim.read_text() == ABROAD
        assert not silent.claim.exists()
        assert not list(hosts.folder.glob("*.hostkeys"))


async def stranger_is_left_alone(hosts: Park, file: Path) -> None:
    """Let somebody else answer for the free host: nothing is run there, and it is said why."""
    free = next(host for host in hosts.hosts[2:] if not host.claim.exists())
    await free.stop()
    free.host_key = "an impostor's"
    await free.start()
    free.commands.clear()
    code, output = await run("explain", str(file), free.name)
    assert code == 0, output
    assert "another host key" in output
    assert "either somebody reinstalled it by hand" in " ".join(output.split())
    assert not free.commands
    await free.stop()
    free.host_key = "host"
    await free.start()


@pytest.mark.timeout(150)
async def test_the_file_of_the_guide_works_as_it_stands() -> None:
    """With the key that it names, and that alone: no agent, and no keys in a home."""
    async with park(2) as hosts:
        text = GUIDE.read_text().partition("```toml\n")[2].partition("```")[0]
        for host, line in zip(hosts.hosts, re.findall(r'address = "[^"]*"', text), strict=True):
            text = text.replace(line, f'address = "127.0.0.1", port = {host.port}')
        file = hosts.folder / "lab.toml"
        file.write_text(text.replace(", port = 2222", ""))
        (hosts.folder / "keys").mkdir()
        (hosts.folder / "keys" / "lab").write_bytes((hosts.folder / "key").read_bytes())
        environment = {"PATH": os.environ["PATH"], "HOME": str(hosts.folder)}
        code, output = await run("check", str(file))
        assert code == 0, output
        with (hosts.folder / "log").open("wb") as log:
            engine = await asyncio.create_subprocess_exec(
                str(HOSTLER), "run", str(file), stdout=log, stderr=log, env=environment
            )
            try:
                await until(lambda: '"probe_passed"' in (hosts.folder / "log").read_text())
            finally:
                engine.terminate()
                await engine.wait()
