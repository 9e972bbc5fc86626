"""The plugin as a process: its handshake, its streams, what it does on signals, and how it ends."""

import asyncio
import base64
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.wrappers_pb2 import StringValue
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.config import Configuration
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

PLUGIN = Path(sys.executable).parent / "fleeting-plugin-hostler"
NOISY = (sys.executable, str(Path(__file__).parent / "noisy_plugin.py"))
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SHUTDOWN = "/plugin.GRPCController/Shutdown"
HEALTH = "/grpc.health.v1.Health/Check"


@dataclass(frozen=True, slots=True)
class Running:
    """A plugin's process, after its handshake."""

    process: subprocess.Popen[bytes]
    fields: list[str]
    stderr: Path

    @property
    def socket(self) -> Path:
        return Path(self.fields[3])

    async def call(self, path: str, text: str = "", tls: ssl.SSLContext | None = None) -> str:
        config = Configuration(ssl_target_name_override="localhost") if tls else None
        channel = Channel(path=str(self.socket), ssl=tls, config=config)
        try:
            method = UnaryUnaryMethod(channel, path, StringValue, StringValue)
            return (await method(StringValue(value=text), timeout=20)).value
        finally:
            channel.close()
            await asyncio.sleep(0.02)  # for the transport to be closed before its loop is

    def ask(self, path: str, text: str = "", tls: ssl.SSLContext | None = None) -> str:
        return asyncio.run(self.call(path, text, tls))

    def stop(self) -> float:
        """Ask for the end as a host does; return the seconds until the process was gone."""
        begun = time.monotonic()
        self.ask(SHUTDOWN)
        assert self.process.wait(10) == 0
        return time.monotonic() - begun

    def events(self) -> list[dict[str, object]]:
        """Return the lines of stderr; each must be one that a host can read."""
        return [checked(line) for line in self.stderr.read_bytes().splitlines()]


def checked(line: bytes) -> dict[str, object]:
    assert len(line) < 64 * 1024
    event: dict[str, object] = json.loads(line)
    mine = {key for key in event if key.startswith("@")}
    assert mine == {"@level", "@message", "@timestamp"}
    assert all(isinstance(event[key], str) for key in mine)
    assert STAMP.fullmatch(str(event["@timestamp"]))
    return event


@contextmanager
def running(
    tmp_path: Path, *command: str, environment: dict[str, str] | None = None
) -> Generator[Running]:
    stderr = tmp_path / "stderr"
    variables = {"PLUGIN_PROTOCOL_VERSIONS": "1,2", "TMPDIR": str(tmp_path), **(environment or {})}
    with (
        stderr.open("wb") as err,
        subprocess.Popen(
            command or NOISY, stdout=subprocess.PIPE, stderr=err, env=os.environ | variables
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            assert line.endswith("\n")
            yield Running(process, line.rstrip("\n").split("|"), stderr)
        finally:
            process.kill()


def left(tmp_path: Path) -> list[str]:
    return [entry.name for entry in tmp_path.iterdir() if entry.name != "stderr"]


def test_the_handshake_is_all_that_stdout_says(tmp_path: Path) -> None:
    with running(tmp_path, str(PLUGIN)) as plugin:
        assert plugin.fields[:3] == ["1", "2", "unix"]
        assert plugin.fields[4:] == ["grpc", ""]
        assert plugin.ask(HEALTH) is not None
        assert plugin.stop() < 2
        assert plugin.process.stdout is not None
        assert plugin.process.stdout.read() == b""
        assert plugin.events()
    assert left(tmp_path) == []


def test_every_line_of_stderr_is_one_that_a_host_can_read(tmp_path: Path) -> None:
    with running(tmp_path) as plugin:
        for name in ("Noise", "Structured"):
            plugin.ask(f"/t.T/{name}")
        with pytest.raises(GRPCError) as raised:
            plugin.ask("/t.T/Fail", "word")
        assert raised.value.status is Status.INTERNAL
        plugin.stop()
        assert plugin.process.stdout is not None
        assert plugin.process.stdout.read() == b""
        events = {str(event["@message"]): event for event in plugin.events()}
    assert {"printed", "on two lines", "to stderr", "decided"} <= events.keys()
    assert events["decided"]["@level"] == "warn"
    errors = [event for event in events.values() if event["@level"] == "error"]
    assert sum("ZeroDivisionError" in str(event.get("stacktrace")) for event in errors) == 2
    assert sum("KeyError" in str(event.get("stacktrace")) for event in errors) == 1


def test_what_is_written_beneath_python_goes_to_stderr_too(tmp_path: Path) -> None:
    with running(tmp_path) as plugin:
        plugin.ask("/t.T/Stdout")
        plugin.stop()
        assert plugin.process.stdout is not None
        assert plugin.process.stdout.read() == b""
        assert b"beneath" in plugin.stderr.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_call_is_ignored(tmp_path: Path, number: signal.Signals) -> None:
    async def interrupted(plugin: Running) -> str:
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(plugin.call("/t.T/Wait", "1.5"))
            await asyncio.sleep(0.3)
            plugin.process.send_signal(number)
            return await call

    with running(tmp_path) as plugin:
        assert asyncio.run(interrupted(plugin)) == "1.5"
        assert plugin.ask("/t.T/Wait", "0") == "0"
        assert plugin.stop() < 2


def test_sigint_at_rest_is_ignored_and_sigterm_ends_in_order(tmp_path: Path) -> None:
    with running(tmp_path) as plugin:
        plugin.process.send_signal(signal.SIGINT)
        assert plugin.ask("/t.T/Wait", "0.2") == "0.2"
        plugin.process.send_signal(signal.SIGTERM)
        assert plugin.process.wait(5) == 0
        assert plugin.events()[-1]["reason"] == "SIGTERM"
    assert left(tmp_path) == []


@pytest.mark.parametrize("how", ["nothing hangs", "end hangs", "threads hang"])
def test_the_end_comes_within_two_seconds(tmp_path: Path, how: str) -> None:
    with running(tmp_path, *NOISY, how) as plugin:
        assert plugin.stop() < (1.3 if how == "nothing hangs" else 2), "1.4 s: by force"
    assert left(tmp_path) == []


def test_a_running_call_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async def ended(plugin: Running) -> BaseException | None:
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(failing(plugin.call("/t.T/Wait", "60")))
            await asyncio.sleep(0.3)
            await plugin.call(SHUTDOWN)
        return call.result()

    async def failing(call: Coroutine[object, object, str]) -> BaseException | None:
        (result,) = await asyncio.gather(call, return_exceptions=True)
        return result if isinstance(result, BaseException) else None

    with running(tmp_path) as plugin:
        begun = time.monotonic()
        assert isinstance(asyncio.run(ended(plugin)), StreamTerminatedError)
        assert plugin.process.wait(5) == 0
        assert time.monotonic() - begun < 2


HOST = """
import subprocess, sys, time
plugin = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
print(plugin.stdout.readline().decode(), end="", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("wrapper", [(), ("sh", "-c", '"$@"; true', "sh")])
def test_it_ends_when_its_host_was_killed(tmp_path: Path, wrapper: tuple[str, ...]) -> None:
    with running(tmp_path, sys.executable, "-c", HOST, *wrapper, *NOISY) as host:
        pid = listener(host.socket)
        host.process.kill()
        host.process.wait(5)
        deadline = time.monotonic() + 10
        while not is_gone(pid):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert left(tmp_path) == []


def listener(path: Path) -> int:
    """Return the id of the process that listens on a socket."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(path))
        credentials = asking.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
        )
    pid, _, _ = struct.unpack("3i", credentials)
    return pid


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended; one that nobody has waited for yet is gone as well."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_started_by_hand_it_says_so_in_a_line(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PLUGIN_PROTOCOL_VERSIONS"}
    ran = subprocess.run(
        [PLUGIN], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("word", ["version", "-version", "--version"])
def test_its_version_is_told(word: str) -> None:
    ran = subprocess.run([PLUGIN, word], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("fleeting-plugin-hostler 0.")


def test_what_fails_before_serving_is_told_by_init(tmp_path: Path) -> None:
    with running(tmp_path, *NOISY, "make fails") as plugin:
        with pytest.raises(GRPCError, match="ValueError: no schema"):
            plugin.ask("/any.Service/Init")
        assert plugin.stop() < 2


def test_a_client_certificate_that_is_none_is_said_so(tmp_path: Path) -> None:
    environment = {"PLUGIN_PROTOCOL_VERSIONS": "1", "PLUGIN_CLIENT_CERT": "x"}
    ran = subprocess.run(
        [*NOISY], env=os.environ | environment, capture_output=True, check=False, cwd=tmp_path
    )
    assert (ran.returncode, ran.stdout) == (1, b"")
    (event,) = (checked(line) for line in ran.stderr.splitlines())
    assert event["@level"] == "error"
    assert "PLUGIN_CLIENT_CERT" in str(event["@message"])


def test_with_a_client_certificate_only_its_holder_is_served(tmp_path: Path) -> None:
    certificate, key = identity()
    with running(tmp_path, environment={"PLUGIN_CLIENT_CERT": certificate}) as plugin:
        field = plugin.fields[5]
        assert "=" not in field
        der = base64.b64decode(field + "=" * (-len(field) % 4))
        stranger = ssl.create_default_context(cadata=ssl.DER_cert_to_PEM_cert(der))
        stranger.set_alpn_protocols(["h2"])
        with pytest.raises((OSError, StreamTerminatedError)):
            plugin.ask("/t.T/Wait", "0", stranger)
        own = tmp_path / "own.pem"
        own.write_text(certificate + key)
        holder = ssl.create_default_context(cadata=ssl.DER_cert_to_PEM_cert(der))
        holder.set_alpn_protocols(["h2"])
        holder.load_cert_chain(own)
        assert plugin.ask("/t.T/Wait", "0", holder) == "0"


def identity() -> tuple[str, str]:
    """Return a certificate on P-521 as go-plugin v1.8.0, mtls.go, makes it, and its key."""
    key = ec.generate_private_key(ec.SECP521R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(seconds=30),
        not_valid_after=now + timedelta(days=1),
    ).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = made.sign(key, hashes.SHA512()).public_bytes(serialization.Encoding.PEM)
    return public.decode(), private.decode()
