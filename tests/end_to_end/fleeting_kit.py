"""What the tests of the runner's plugin share: a simulator process, a configuration, waiting."""

import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waiting import wait_until

from hostler.simulators.ports import free_port
from hostler.testing.peers.plugin_host import GoHost

BIN = Path(sys.executable).parent
PLUGIN = BIN / "fleeting-plugin-hostler"
SECRET = "11111111-2222-4333-8444-555555555555"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A simulated Scaleway in a process of its own."""

    url: str
    guest_port: int

    def leaks(self) -> list[dict[str, Any]]:
        """Return every billable thing that exists."""
        return self._get("leaks")["leaks"]

    def count(self) -> Counter[str]:
        """Return how many billable things of each kind exist."""
        return Counter(leak["kind"] for leak in self.leaks())

    def state(self) -> dict[str, Any]:
        """Return the summary: requests by route, faults that took effect."""
        return self._get("state")

    def set_fault_rates(self, **rates: object) -> None:
        """Change the weather, or script a fault."""
        body = json.dumps(rates).encode()
        request = urllib.request.Request(f"{self.url}/_sim/faults", data=body, method="POST")  # noqa: S310 - loopback only
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - loopback only
            pass

    def act(self, what: str, server: str) -> None:
        """Do something to a server by hand."""
        body = json.dumps({"act": what, "id": server}).encode()
        request = urllib.request.Request(f"{self.url}/_sim/act", data=body, method="POST")  # noqa: S310 - loopback only
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback only
            assert json.load(answer)["done"]

    def _get(self, view: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/_sim/{view}", timeout=10) as answer:  # noqa: S310 - loopback only
            return json.load(answer)


@contextmanager
def simulated(*, speed: float, fault_rates: str = "calm", seed: int = 1) -> Generator[Cloud]:
    """Run `hostler simulator scaleway` for as long as the context lasts."""
    cloud = Cloud(url=f"http://127.0.0.1:{(port := free_port())}", guest_port=free_port())
    command = [
        *(str(BIN / "hostler"), "simulator", "scaleway", "--port", str(port)),
        *("--guest-port", str(cloud.guest_port), "--speed", str(speed)),
        *("--fault-rates", fault_rates, "--seed", str(seed)),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: answers(cloud), 20, "the simulator does not come up")
            yield cloud
        finally:
            process.terminate()


def answers(cloud: Cloud) -> bool:
    try:
        cloud.state()
    except OSError:
        return False
    return True


def plugin_config(cloud: Cloud, folder: Path, **entries: object) -> dict[str, object]:
    """Return a `plugin_config` for a group whose life is short, and whose patience is too."""
    return {
        "name": "runners",
        "server_type": ["DEV1-S", "PLAY2-PICO"],
        "zone": ["fr-par-1", "fr-par-2"],
        "endpoint": cloud.url,
        "secret_key": SECRET,
        "project": PROJECT,
        "state_dir": str(folder),
        "max_size": 12,
        "ready": {"tcp": cloud.guest_port, "timeout": "1s"},
        "rate": 200,
        "burst": 400,
        "consistency_delay": "1s",
        "timers": {
            "start": "60s",
            "stop": "30s",
            "absence_gap": "500ms",
            "observation_limit": "30s",
            "probe_every": "300ms",
            "tries": ["500ms", "1s", "2s"],
        },
        "caps": {"creates": 5000, "share_window": "1s", "per_hour": 1000},
        "engine": {"quiet": "1s", "busy_first": "200ms", "busy_last": "500ms", "rare": "500ms"},
        **entries,
    }


def present(host: GoHost) -> dict[str, str]:
    """Call Update; return the instances that a runner keeps: it drops the others at the word."""
    states = host.states().items()
    return {one: state for one, state in states if state not in {"deleted", "timeout"}}


def all_running(states: Mapping[str, str], count: int) -> bool:
    """Tell whether so many instances are told of, each of them running."""
    return len(states) == count and set(states.values()) <= {"running"}
