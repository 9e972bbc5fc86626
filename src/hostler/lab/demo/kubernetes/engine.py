"""Engine: hostler as an operator runs it, each command a process of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hostler.domain.errors import HostlerError

ENDING = 20.0
"""Seconds that a hostler may take to end that was asked to."""
COMMAND = 120.0
"""Seconds that a command may take."""

_PROGRAM = "from hostler.app.main import main; main()"
_SHOWN = 2000

SETTINGS = """\
store = "kubernetes:{namespace}?kubeconfig={kubeconfig}"

[engine]
quiet = "2s"
busy_first = "500ms"
busy_last = "2s"
rare = "2s"
"""
"""The file beside the objects: records in the cluster, and looks as often as the cloud is fast."""


class HostlerEnded(HostlerError):
    """A hostler ended that should not have; the text has the end of its log."""


@dataclass(slots=True)
class Hostler:
    """Commands about one cluster, and the engine that runs there; its log is `hostler.log`."""

    folder: Path
    kubeconfig: Path
    namespace: str
    _engine: asyncio.subprocess.Process | None = field(default=None)

    @property
    def log(self) -> Path:
        """What the engine logs."""
        return self.folder / "hostler.log"

    def write_settings(self) -> None:
        """Write the file that stands beside the objects."""
        text = SETTINGS.format(namespace=self.namespace, kubeconfig=self.kubeconfig)
        (self.folder / "hostler.toml").write_text(text)

    async def do(self, *words: str) -> None:
        """Run a command to its end. Raises HostlerEnded where it fails."""
        process = await asyncio.create_subprocess_exec(
            *self._command(*words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment(),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(COMMAND):
                output, _ = await process.communicate()
        except TimeoutError:
            raise HostlerEnded(f"hostler {' '.join(words)}: not within {COMMAND:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            text = output.decode(errors="replace")[-_SHOWN:]
            raise HostlerEnded(f"hostler {' '.join(words)}: exit {process.returncode}: {text}")

    async def start(self) -> None:
        """Start the engine."""
        options = (f"--namespace={self.namespace}", "--json")
        words = ("run", "--kubernetes", *options, str(self.folder / "hostler.toml"))
        with self.log.open("ab") as output:
            self._engine = await asyncio.create_subprocess_exec(
                *self._command(*words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._environment(),
                start_new_session=True,
            )

    async def stop(self) -> None:
        """End the engine as a service manager does, and wait until it has."""
        engine, self._engine = self._engine, None
        if engine is None or engine.returncode is not None:
            return
        engine.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(ENDING):
                await engine.wait()
        except TimeoutError:
            pass
        finally:
            if engine.returncode is None:
                engine.kill()
                await engine.wait()

    def check(self) -> None:
        """Raise HostlerEnded where the engine should run and does not."""
        if self._engine is not None and self._engine.returncode is not None:
            text = self.log.read_text(errors="replace")[-_SHOWN:]
            raise HostlerEnded(f"hostler run: exit {self._engine.returncode}: {text}")

    def _command(self, *words: str) -> tuple[str, ...]:
        return (sys.executable, "-c", _PROGRAM, *words, f"--kubeconfig={self.kubeconfig}")

    def _environment(self) -> Mapping[str, str]:
        """Return an environment without what a person's own clusters and clouds need."""
        own = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder)}
        passed = ("PATH", "LANG", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV")
        return {name: os.environ[name] for name in passed if name in os.environ} | own
