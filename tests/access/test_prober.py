"""The real prober, against listeners and commands on this machine alone."""

import asyncio
import dataclasses
import os
import signal
import sys
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import asyncssh
import pytest
from msgspec.structs import replace

from hostler.access.prober import SystemProber
from hostler.app.clock import SystemClock
from hostler.domain.ids import machine_id
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.ports.provider import Connection

HERE = Connection(address="127.0.0.1")
MACHINE = machine_id(1)
SHORT = timedelta(milliseconds=300)


async def probed(probe: Probe) -> tuple[bool, str]:
    return await SystemProber().probe(MACHINE, HERE, probe)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        found: int = server.sockets[0].getsockname()[1]
        yield found


async def test_up_is_enough_for_the_api_probe() -> None:
    assert await probed(Probe()) == (True, "up")


async def test_a_port_that_accepts_passes_and_one_that_refuses_does_not(port: int) -> None:
    passed, message = await probed(Probe(kind=ProbeKind.TCP, port=port))
    assert (passed, message) == (True, f"port {port} accepts connections")
    passed, message = await probed(Probe(kind=ProbeKind.TCP, port=1))
    assert not passed
    assert message


async def test_a_command_sees_whom_it_is_about_and_its_exit_code_decides() -> None:
    code = (
        "import os; print(os.environ['HOSTLER_ADDRESS'], os.environ['HOSTLER_MACHINE'], "
        "os.environ['HOSTLER_PORT'])"
    )
    passed, message = await probed(Probe(kind=ProbeKind.COMMAND, command=python(code), port=80))
    assert passed
    assert message == f"exit 0: 127.0.0.1 {MACHINE} 80"
    passed, message = await probed(Probe(kind=ProbeKind.COMMAND, command=python("exit(3)")))
    assert (passed, message) == (False, "exit 3")


async def test_a_command_that_a_signal_ended_says_which() -> None:
    for number, name in ((9, "SIGKILL"), (15, "SIGTERM"), (40, "signal 40")):
        command = ("sh", "-c", f"echo almost; kill -{number} $$")
        verdict = await probed(Probe(kind=ProbeKind.COMMAND, command=command))
        assert verdict == (False, f"killed by {name}: almost")


async def test_a_command_is_run_without_a_shell(tmp_path: Path) -> None:
    target = tmp_path / "made"
    await probed(Probe(kind=ProbeKind.COMMAND, command=("true", ";", "touch", str(target))))
    assert not target.exists()


async def test_a_command_that_is_not_there_has_not_passed() -> None:
    passed, message = await probed(Probe(kind=ProbeKind.COMMAND, command=("/none/such",)))
    assert (passed, message) == (False, "/none/such: No such file or directory")


async def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    target = tmp_path / "late"
    child = f"import time, pathlib; time.sleep(1); pathlib.Path({str(target)!r}).touch()"
    code = (
        f"import subprocess, sys, time; "
        f"subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    )
    probe = Probe(kind=ProbeKind.COMMAND, command=python(code), timeout=timedelta(seconds=0.7))
    passed, message = await probed(probe)
    assert (passed, message) == (False, "no answer within 0.7 s")
    await asyncio.sleep(1.2)
    assert not target.exists()


async def test_what_a_command_leaves_in_the_background_holds_up_no_verdict(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = ("sh", "-c", f"sleep 60 & echo $! >{pid}; echo it is up")
    try:
        passed, message = await probed(Probe(kind=ProbeKind.COMMAND, command=command))
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert (passed, message) == (True, "exit 0: it is up")


async def test_an_address_that_swallows_packets_is_given_up_in_time() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        found: int = server.sockets[0].getsockname()[1]
        probe = Probe(kind=ProbeKind.SSH, port=found, timeout=SHORT)
        passed, message = await probed(probe)
        await asyncio.sleep(0.05)
    assert (passed, message) == (False, "no answer within 0.3 s")


class _Doorman(asyncssh.SSHServer):
    """Lets `root` in without a key, and nobody else."""

    def begin_auth(self, username: str) -> bool:
        return username != "root"


async def test_an_ssh_login_passes_and_a_refused_one_does_not() -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
    server = await asyncssh.create_server(_Doorman, "127.0.0.1", 0, server_host_keys=[key])
    async with server:
        found: int = server.sockets[0].getsockname()[1]
        assert await probed(Probe(kind=ProbeKind.SSH, port=found)) == (True, "root may log in")
        passed, message = await probed(Probe(kind=ProbeKind.SSH, port=found, user="eve"))
        assert not passed
        assert message.startswith("no login")


async def test_a_login_by_ssh_uses_the_keys_that_it_is_given() -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
    private, public = key.export_private_key(), key.export_public_key()
    allowed = asyncssh.import_authorized_keys(public.decode())
    server = await asyncssh.create_server(
        asyncssh.SSHServer, "127.0.0.1", 0, server_host_keys=[key], authorized_client_keys=allowed
    )
    async with server:
        found: int = server.sockets[0].getsockname()[1]
        probe = Probe(kind=ProbeKind.SSH, port=found, user="root")
        assert not (await probed(probe))[0]
        passed = await SystemProber((private,)).probe(MACHINE, HERE, probe)
        assert passed == (True, "root may log in")


async def test_either_of_two_addresses_is_enough(port: int) -> None:
    probe = Probe(kind=ProbeKind.TCP, port=port, timeout=SHORT)
    for address, internal in (("127.0.0.1", "127.77.0.1"), ("127.77.0.1", "127.0.0.1")):
        both = Connection(address=address, internal=internal)
        assert (await SystemProber().probe(MACHINE, both, probe))[0]
    neither = Connection(address="127.77.0.1", internal="127.77.0.2")
    assert not (await SystemProber().probe(MACHINE, neither, probe))[0]


async def test_an_address_that_hangs_keeps_no_other_from_passing() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    key = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
    server = await asyncssh.create_server(_Doorman, "127.0.0.1", 0, server_host_keys=[key])
    async with server:
        found: int = server.sockets[0].getsockname()[1]
        hanging = await asyncio.start_server(swallow, "127.77.0.1", found)
        async with hanging:
            probe = Probe(kind=ProbeKind.SSH, port=found, timeout=timedelta(seconds=3))
            both = Connection(address="127.0.0.1", internal="127.77.0.1")
            assert (await SystemProber().probe(MACHINE, both, probe))[0]
            await asyncio.sleep(0.05)


async def test_the_system_clock_waits_and_its_two_times_agree() -> None:
    clock = SystemClock()
    now, boot = clock.now(), clock.boot()
    await clock.sleep(timedelta(milliseconds=50))
    passed = clock.boot() - boot
    assert passed >= 0.05
    assert abs((clock.now() - now).total_seconds() - passed) < 0.5
    await clock.sleep(timedelta(seconds=-1))
    assert clock.now().tzinfo is not None


# ---------------------------------------------------------------- what a probe is given


async def test_a_command_inherits_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what names a person, a language or a place is passed on, whatever secrets are called."""
    for name in ("SCW_SECRET_KEY", "GITLAB_TOKEN", "PGPASSWORD", "SSH_AUTH_SOCK", "ANYTHING"):
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("LC_TIME", "C")
    code = "import os; print(sorted(os.environ.items()))"
    passed, message = await probed(Probe(kind=ProbeKind.COMMAND, command=python(code)))
    assert passed
    assert "hidden" not in message
    names = python("import os; print(*sorted(os.environ))")
    _, message = await probed(Probe(kind=ProbeKind.COMMAND, command=names))
    seen = set(message.partition(": ")[2].split()) - {"LC_CTYPE"}  # Python sets that one itself
    assert {"PATH", "LC_TIME", "HOSTLER_ADDRESS", "HOSTLER_PORT", "HOSTLER_MACHINE"} <= seen
    assert seen - set(os.environ) == {"HOSTLER_ADDRESS", "HOSTLER_PORT", "HOSTLER_MACHINE"}


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncGenerator[Connection]:
    """A host that lets one key in, for whose user and port nobody is asked again."""
    key = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
    (tmp_path / "key").write_bytes(key.export_private_key())
    allowed = asyncssh.import_authorized_keys(key.export_public_key().decode())
    server = await asyncssh.create_server(
        asyncssh.SSHServer, "127.0.0.1", 0, server_host_keys=[key], authorized_client_keys=allowed
    )
    async with server:
        yield Connection(
            address="127.0.0.1",
            user="builder",
            port=server.sockets[0].getsockname()[1],
            keys=(tmp_path / "key",),
            fingerprint=key.get_fingerprint(),
        )


LOGIN = Probe(kind=ProbeKind.SSH)


async def test_a_login_is_by_what_the_connection_says(guarded: Connection) -> None:
    assert await SystemProber().probe(MACHINE, guarded, LOGIN) == (True, "builder may log in")
    tcp = replace(LOGIN, kind=ProbeKind.TCP)
    passed, message = await SystemProber().probe(MACHINE, guarded, tcp)
    assert (passed, message) == (True, f"port {guarded.port} accepts connections")


async def test_a_login_is_by_the_fleets_key_and_user(guarded: Connection) -> None:
    (key,) = guarded.keys
    other = dataclasses.replace(guarded, keys=())
    assert not (await SystemProber().probe(MACHINE, other, LOGIN))[0]
    named = replace(LOGIN, key=str(key), user="root")
    assert await SystemProber().probe(MACHINE, other, named) == (True, "root may log in")


async def test_another_host_key_than_the_known_one_is_no_login(guarded: Connection) -> None:
    stranger = dataclasses.replace(guarded, fingerprint="SHA256:" + "x" * 43)
    passed, message = await SystemProber().probe(MACHINE, stranger, LOGIN)
    assert not passed
    assert message.startswith(f"no login at builder@127.0.0.1:{guarded.port}: it shows the key")
    assert guarded.fingerprint in message
