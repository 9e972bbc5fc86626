"""The fleeting plugin as a runner meets it, beside a Go plugin of the same schema in the same run.

A Go host (tests/hosts, schema `alder`: Update is a stream of single instances) launches one after
the other: ours over a group of a thousand that runs on a simulated Scaleway, and one in Go that
answers from memory. Both speak mutual TLS, as go-plugin's AutoMTLS has it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, show
from staged import staged
from theatre import FLEET, KEY, PROJECT

from hostler.testing.peers.go_hosts import GoHosts
from hostler.testing.peers.plugin_host import GoHost, Launch, Measured

ROOT = Path(__file__).resolve().parent.parent
NAME = "fleeting-plugin-hostler"
INSTANCES, MORE, UPDATES = 1000, 100, 50
LIVES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of a life: its name, its goal for ours, and where it is taken from."""

    name: str
    goal: float
    unit: str
    of: Callable[[Measured], float]


ROWS = (
    Row(name="start to first answer (wall)", goal=0.15, unit="s", of=lambda m: m.ping_ms / 1000),
    Row(name="start to Init answered (wall)", goal=0.5, unit="s", of=lambda m: m.init_ms / 1000),
    Row(
        name=f"Update of {INSTANCES:,} (wall)", goal=15, unit="ms", of=lambda m: m.update_median_ms
    ),
    Row(name=f"Increase({MORE}) (wall)", goal=50, unit="ms", of=lambda m: m.increase_ms),
    Row(name="memory after Init", goal=90, unit="MB", of=lambda m: m.rss_kib * 1024 / 1e6),
    Row(name="end (wall)", goal=2, unit="s", of=lambda m: m.kill_ms / 1000),
)


def configuration(folder: Path, url: str) -> Mapping[str, object]:
    """Return the `plugin_config` of the group that stands already."""
    return {
        "name": FLEET,
        "endpoint": url,
        "access_key": "SCWXXXXXXXXXXXXXXXXX",
        "secret_key": KEY,
        "project": PROJECT,
        "zone": "fr-par-1",
        "server_type": "DEV1-S",
        "image": "ubuntu_noble",
        "state_dir": str(folder),
        "ready": "api",
        "max_size": 5000,
        "rate": 10_000,
    }


class Bench:
    """Lives of plugins, with a host of their own each."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._hosts = GoHosts(ROOT / "tests" / "hosts", ROOT / ".cache" / "hosts")

    def ours(self, plugin: Path, instances: int = 0) -> Measured:
        """Measure one life of ours, over records of its own where it is to have instances."""
        state = Path(tempfile.mkdtemp(dir=self._folder))
        if instances:
            group = state / "fleeting" / FLEET
            group.mkdir(mode=0o700, parents=True)
            shutil.copy(self._folder / "web.db", group / "hostler.db")
        return self._live(plugin, configuration(state, self._url), instances)

    def go(self, instances: int) -> Measured:
        """Measure one life of the plugin in Go."""
        return self._live(self._hosts.program("goplugin"), {"name": FLEET}, instances)

    def _live(self, plugin: Path, config: Mapping[str, object], instances: int) -> Measured:
        environment = {
            "HOSTLER_STATE_DIR": str(self._folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SHIV_ROOT": str(self._folder),
        }
        launch = Launch(plugin=plugin, auto_mtls=True, environment=environment)
        updates, more = (UPDATES, MORE) if instances else (0, 0)
        with GoHost(self._hosts.program("alder"), self._folder / "log") as host:
            lived = host.bench(launch, config, instances=instances, updates=updates, more=more)
        assert lived.instances >= instances, lived
        assert lived.increased == more, lived
        return lived


def figures(bench: Bench) -> Iterator[Figure]:
    """Measure lives of ours and of the plugin in Go by turns; the best of each figure counts."""
    plugin = Path(sys.executable).parent / NAME
    bench.ours(plugin, INSTANCES)
    lives = [(bench.ours(plugin, INSTANCES), bench.go(INSTANCES)) for _ in range(LIVES)]
    for row in ROWS:
        ours, go = (min(map(row.of, some)) for some in zip(*lives, strict=True))
        yield Figure(f"fleeting: {row.name}", row.goal, ours, row.unit)
        yield Figure(f"fleeting, a plugin in Go: {row.name}", None, go, row.unit)
    yield from _single_file(bench)


def _single_file(bench: Bench) -> Iterator[Figure]:
    """Measure the first start, which unpacks, and later ones."""
    subprocess.run((sys.executable, ROOT / "tools" / "single_file.py"), check=True, stdout=2)  # noqa: S603 - ours
    plugin = ROOT / "dist" / NAME
    first = bench.ours(plugin).ping_ms / 1000
    later = min(bench.ours(plugin).ping_ms / 1000 for _ in range(LIVES))
    size = plugin.stat().st_size / 1e6
    yield Figure("fleeting, single file: first start (wall)", 10, first, "s")
    yield Figure("fleeting, single file: later starts (wall)", 0.75, later, "s")
    yield Figure("fleeting, single file: size", None, size, "MB")


def main() -> None:
    """Print every figure."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(staged(folder, INSTANCES))
        show(figures(Bench(folder, url)))


if __name__ == "__main__":
    main()
