"""A thousand HostlerMachines: how long, how much memory, and how many writes to the API they take.

`hostler run --kubernetes` itself, with all its defaults and its records in the cluster, over a
simulated API server and a simulated Scaleway in another process. Servers are up as soon as they are
switched on, so that all time is the program's, the API's as it was recorded, and the rate's.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster_peers import BURST, NAMESPACE, RATE, Provisioned, peers
from figures import Figure, show

MANY = 1000
_HOSTLER = Path(sys.executable).parent / "hostler"
_MAKING = frozenset(
    {"ip.create", "server.create", "volume.update", "user_data.set", "server.action.poweron"}
)


@contextmanager
def running(folder: Path, kubeconfig: Path) -> Generator["subprocess.Popen[bytes]"]:
    """Run an engine of a cluster's objects until the block is left."""
    options = (f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}", "--log=warning")
    environment = {"HOME": str(folder), "PATH": ""}
    with (folder / "engine.log").open("wb") as log:
        command = (str(_HOSTLER), "run", "--kubernetes", *options)
        with subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process:  # noqa: S603 - ourselves
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)


def most_resident(process: int) -> float:
    """Return the megabytes that a process had in memory at most."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError("this kernel does not say how much memory a process had at most")


def cpu(process: int) -> float:
    """Return the seconds of CPU that a process took."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def figures(found: Provisioned, megabytes: float, seconds: float) -> Iterator[Figure]:
    """Say what it took."""
    name = f"{MANY:,} HostlerMachines at {RATE} calls/s"
    made = sum(number for kind, number in found.calls.items() if kind in _MAKING)
    beyond = found.seconds - max(0.0, made - BURST) / RATE
    writes, ours = sum(found.writes.values()), found.writes.get("hostlermachines", 0)
    yield Figure(f"{name}: wall, beyond the rate limit", 60, beyond, "s")
    yield Figure(f"{name}: wall, all", None, found.seconds, "s")
    yield Figure(f"{name}: calls a machine", None, sum(found.calls.values()) / MANY, "calls")
    yield Figure(f"{name}: most memory", 200, megabytes, "MB")
    yield Figure(f"{name}: CPU", None, seconds, "s")
    yield Figure(f"{name}: writes to the API a machine", 5, writes / MANY, "writes")
    yield Figure(f"{name}: of these to its own object", None, ours / MANY, "writes")


def main() -> None:
    """Let a thousand be provisioned, and see what that took."""
    with tempfile.TemporaryDirectory() as name, peers(Path(name)) as others:
        folder = Path(name)
        with running(folder, others.kubeconfig) as process:
            time.sleep(10)  # it has begun, and read what there is
            begun = cpu(process.pid)
            found = others.provision(MANY)
            spent = cpu(process.pid) - begun
            show(figures(found, most_resident(process.pid), spent))


if __name__ == "__main__":
    main()
