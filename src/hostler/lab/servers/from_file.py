"""From a file: a seed's fleet and account as the real configuration makes them.

What a scenario draws is written as a fleet file, read as `hostler run` reads it, and its account is
opened as the program opens it.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hostler.access.shell import SshShell
from hostler.config.load import load
from hostler.config.values import Config
from hostler.domain.model.fleet import Fleet
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.scaleway.bystanders import SECRET
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import Scenario
from hostler.ports.http import Connect
from hostler.ports.kind import Opening
from hostler.ports.provider import Provider
from hostler.providers.scaleway.instances.kind import ScalewayKind
from hostler.simulators.scaleway.state.options import ORGANIZATION

from .large import LEAST

_FILE = """
[provider.main]
kind = "scaleway"
endpoint = {endpoint}
project = {project}
consistency_delay = {delay}

[fleet.web]
provider = "main"
size = {machines}
types = {types}
zones = {zones}
image = "ubuntu_noble"
volume = {{ size = "10GB"{local} }}
volumes = {volumes}
cloud_init = "#cloud-config\\n"
public_ipv6 = {ipv6}
server_protection = {protected}
reclaim = {reclaim}
ready = {{ probe = {probe}{port} }}
timers = {{ keep_failed = {keep_failed} }}
{caps}
"""
_LARGE = "caps = { per_reclaim = 20, per_hour = 300, share = 0.5 }"
"""What somebody sets who would rather have half a large fleet made anew today than tomorrow."""


def text_of(scenario: Scenario, endpoint: str) -> str:
    """Return the fleet file of a scenario."""
    zones = ["fr-par-1", "nl-ams-1"] if scenario.two_zones else ["fr-par-1"]
    types = ["DEV1-S"] if scenario.local_disk else ["PLAY2-PICO", "PLAY2-NANO"]
    values: Mapping[str, object] = {
        "endpoint": endpoint,
        "project": ORGANIZATION,
        "delay": f"{CONSISTENCY_DELAY.total_seconds():g}s",
        "machines": scenario.machines,
        "types": types,
        "zones": zones,
        "ipv6": scenario.ipv6,
        "protected": scenario.protected,
        "reclaim": scenario.reclaim,
        "probe": scenario.probe,
        "keep_failed": f"{scenario.keep_failed:g}s",
    }
    return _FILE.format(
        **{key: json.dumps(value) for key, value in values.items()},
        volumes="[" + ", ".join(['{ size = "5GB" }'] * scenario.disks) + "]",
        local=', type = "l_ssd"' if scenario.local_disk else "",
        port=", port = 22" if scenario.probe == "tcp" else "",
        caps=_LARGE if scenario.machines >= LEAST else "",
    )


def config_of(scenario: Scenario, endpoint: str = "http://127.0.0.1") -> Config:
    """Return what the fleet file of a scenario says."""
    with tempfile.TemporaryDirectory(prefix="hostler-") as folder:
        path = Path(folder) / "web.toml"
        path.write_text(text_of(scenario, endpoint), encoding="utf-8")
        return load(path, {"scaleway": ScalewayKind}, {"sqlite": _AnyPlace()})


def fleets_of(scenario: Scenario) -> tuple[Fleet, ...]:
    """Return the fleets of a scenario's file."""
    return config_of(scenario).fleets


def open_account(scenario: Scenario, run: ProcessRun, endpoint: str, connect: Connect) -> Provider:
    """Return the account of a scenario's file, opened as the program opens it."""
    config = config_of(scenario, endpoint)
    (account,) = config.accounts
    opening = Opening(
        name=account.name,
        settings=account.settings,
        templates=config.templates,
        installation=run.shadow.own,
        folder=config.folder,
        environment={"SCW_SECRET_KEY": SECRET},
        clock=run.clock,
        shell=SshShell(),
        connect=connect,
    )
    return ScalewayKind().open(opening)


class _AnyPlace:
    """Reads the place of a store, which is the session's own and not opened by this."""

    def place(self, written: str, folder: Path) -> str:
        """Return the place as it is written."""
        del folder
        return written
