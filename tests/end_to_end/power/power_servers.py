"""Real servers that power methods are tried against: found, started, and ended again."""

import shutil
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

PACKAGES = {"ipmi_sim": "openipmi", "ipmitool": "ipmitool", "mosquitto": "mosquitto"}
_PLACES = "/usr/sbin:/usr/local/sbin"


def program(name: str) -> str:
    """Return where a program is, or say what is missing: where there is apt, that is a failure."""
    found = shutil.which(name) or shutil.which(name, path=_PLACES)
    if found is None:
        text = f"there is no {name}: it comes with the Debian package {PACKAGES[name]}"
        if shutil.which("apt-get"):
            pytest.fail(f"{text}, which `make setup` installs for root")
        pytest.skip(text)
    return found


@contextmanager
def running(
    words: tuple[str, ...], folder: Path, environment: Mapping[str, str] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """Let a server run in a folder, and end it."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def listens(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens at a TCP port of loopback."""
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail(f"no server listens at {port}")
