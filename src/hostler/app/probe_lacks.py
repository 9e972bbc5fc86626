"""Probe lacks: what a fleet's readiness probe needs of this computer that is not there."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from hostler.domain.model.fleet import Fleet
from hostler.ports.files import unreadable
from hostler.ports.kind import Lack


def probe_lacks(fleet: Fleet, environment: Mapping[str, str]) -> Iterator[Lack]:
    """Yield what is missing: such a probe fails on every machine, and each is ended for it."""
    probe = fleet.probe
    if probe.key and (why := unreadable(Path(probe.key))):
        yield Lack(key="ready.key", text=f"{probe.key} cannot be read: {why}")
    if probe.command and not shutil.which(probe.command[0], path=environment.get("PATH")):
        text = f"{probe.command[0]} cannot be run: no program of that name may be run here"
        yield Lack(key="ready.command", text=text)
