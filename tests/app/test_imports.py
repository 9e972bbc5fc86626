"""A fleet pays only for the capabilities that it has: an engine imports what its own fleets use.

Nor does who reads the help wait for what the commands need once they run.
"""

import subprocess
import sys
from pathlib import Path

FLEETS = """
[provider.scaleway]
project = "22222222-2222-2222-2222-222222222222"
secret_key_file = "key"

[fleet.web]
size = 1
types = ["DEV1-S"]
"""

UNUSED = (
    "asyncssh",
    "cryptography",
    "prometheus_client",
    "psycopg",
    "hostler.lab",
    "hostler.providers.scaleway.macs",
    "hostler.providers.static",
    "hostler.simulators",
    "hostler.stores.memory",
    "hostler.testing",
)

CODE = f"""
import asyncio, sys
from pathlib import Path
from hostler.app.compose import Composed
from hostler.frontends.cli.commands.run import RunCommand
from hostler.frontends.cli.context import Purpose

async def main():
    composed = Composed()
    config = composed.load(Path("web.toml"))
    async with (
        composed.store(config, Purpose.ENGINE) as store,
        composed.accounts(config, store) as accounts,
        composed.metrics(config) as metrics,
    ):
        composed.engine(config, composed.ports(store, metrics), accounts)
        print(sorted(set({UNUSED!r}) & set(sys.modules)))

asyncio.run(main())
"""


def test_an_engine_of_cloud_servers_imports_nothing_for_hosts_logins_or_simulations(
    tmp_path: Path,
) -> None:
    (tmp_path / "web.toml").write_text(FLEETS)
    (tmp_path / "key").write_text("11111111-1111-1111-1111-111111111111")
    ran = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ran.stdout, ran.returncode) == ("[]\n", 0), ran.stderr


UNREAD = (
    "aiohttp",
    "cryptography",
    "google.protobuf",
    "hostler.lab.scenario",
    "hostler.simulators",
)

HELP = f"""
import sys
from hostler.app.command_line import run

code = run(["--help"])
print(code, sorted(set({UNREAD!r}) & set(sys.modules)))
"""


def test_the_help_names_every_command_and_imports_no_laboratory_and_no_network() -> None:
    ran = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", HELP], capture_output=True, text=True, check=False
    )
    *lines, last = ran.stdout.splitlines()
    assert last == "0 []", ran.stderr
    named = {word for line in lines for word in line.split()[1:2]}
    assert {"run", "status", "demo", "simulate", "fleeting", "cost"} <= named
