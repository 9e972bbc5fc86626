"""The disk of a simulated Mac as a folder, and commands that run in it.

It looks like a Mac's home, and is none: commands run under this machine's `/bin/sh`, as the user
who runs the simulator, and see that user's files. Only the environment, the home, `sudo` (which
changes nothing, and asks for the password with -S only) and `sw_vers` are those of the Mac. What a
command leaves in the background ends with it.
"""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import TypeAlias

import asyncssh
from msgspec import Struct

from hostler.simulators.scaleway.state.mac_catalogue import USER

CHUNK = 1 << 16
Process: TypeAlias = "asyncssh.SSHServerProcess[bytes]"
SUDO = """#!/bin/sh
# There is nobody else on a simulated Mac: run the command as whoever asks. Only -S asks for the
# password, as it would on a Mac, and takes one line of the input for it.
prompt=${SUDO_PROMPT-Password:}
while [ $# -gt 0 ]; do
  case $1 in
    -p) prompt=$2; shift 2 ;;
    -u|-g|-h|-C|-D) shift 2 ;;
    -S) ask=yes; shift ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
  esac
done
if [ -n "$ask" ]; then
  printf %s "$prompt" >&2
  IFS= read -r said || true
  [ "$said" = "$(cat "$HOME.password")" ] || { echo "Sorry, try again." >&2; exit 1; }
fi
[ $# -eq 0 ] || exec "$@"
"""
SW_VERS = """#!/bin/sh
case $1 in
  -productVersion|--productVersion) echo "$MACOS_VERSION" ;;
  *) printf 'ProductName:\\t\\tmacOS\\nProductVersion:\\t\\t%s\\n' "$MACOS_VERSION" ;;
esac
"""


class Home(Struct, frozen=True):
    """The folder that is a disk, and the one where its commands are; `version` is macOS's."""

    folder: Path
    commands: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Return all that a command finds in its environment."""
        return {
            "HOME": str(self.folder),
            "USER": USER,
            "LOGNAME": USER,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "PATH": f"{self.commands}:/usr/bin:/bin:/usr/sbin:/sbin",
            "MACOS_VERSION": self.version,
        }


def furnish(commands: Path) -> None:
    """Write the commands that every simulated Mac has."""
    commands.mkdir()
    for name, text in (("sudo", SUDO), ("sw_vers", SW_VERS)):
        file = commands / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)


def format_disk(folder: Path, password: str) -> None:
    """Make a disk, unless it is there; beside it stands the password, for `sudo`."""
    folder.mkdir(exist_ok=True)
    beside(folder).write_text(password, encoding="utf-8")


def empty(folder: Path) -> None:
    """Take a disk away with all that is on it."""
    shutil.rmtree(folder, ignore_errors=True)
    beside(folder).unlink(missing_ok=True)


def beside(folder: Path) -> Path:
    """Return where the password is kept."""
    return folder.with_name(f"{folder.name}.password")


async def run(process: Process, home: Home) -> None:
    """Run what a client asks for until it ends, or the client has left."""
    asked = process.command
    child = await asyncio.create_subprocess_exec(
        *(("/bin/sh", "-c", asked) if asked else ("/bin/sh",)),
        cwd=home.folder,
        env=home.environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        await attend(process, child)
    finally:
        kill(child)
        await child.wait()
    code = child.returncode or 0
    with suppress(OSError):
        process.exit(code if code >= 0 else 128 - code)


async def attend(process: Process, child: asyncio.subprocess.Process) -> None:
    """Carry what is sent and said, until the command has ended or its client has left."""
    async with asyncio.TaskGroup() as group:
        left = group.create_task(process.wait_closed())
        sent = group.create_task(carry_in(process, child))
        for source, sink in ((child.stdout, process.stdout), (child.stderr, process.stderr)):
            group.create_task(carry_out(source, sink))
        ended = group.create_task(child.wait())
        await asyncio.wait((left, ended), return_when=asyncio.FIRST_COMPLETED)
        kill(child)
        left.cancel()
        sent.cancel()


async def carry_in(process: Process, child: asyncio.subprocess.Process) -> None:
    """Carry to a command what its client sends; a signal ends it."""
    sink = child.stdin
    if sink is None:
        return
    try:
        while data := await process.stdin.read(CHUNK):
            sink.write(data)
            await sink.drain()
    except asyncssh.SignalReceived:
        kill(child)
    except (asyncssh.Error, OSError):
        return
    finally:
        sink.close()


async def carry_out(source: asyncio.StreamReader | None, sink: "asyncssh.SSHWriter[bytes]") -> None:
    """Carry to a client what a command says; what cannot be told any more is let go."""
    heard = True
    while source is not None and (data := await source.read(CHUNK)):
        if not heard:
            continue
        try:
            sink.write(data)
            await sink.drain()
        except (asyncssh.Error, OSError):
            heard = False


def kill(child: asyncio.subprocess.Process) -> None:
    """End a command and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, SIGKILL)
