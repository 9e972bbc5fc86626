"""Prober: asks a machine that is up whether it is also usable."""

from typing import Protocol

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Probe

from .provider import Connection


class Prober(Protocol):
    """Runs readiness probes."""

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once, within the probe's timeout; return whether it passed, and what was seen.

        Never raises for what the outside does: a probe that could not run has not passed.
        """
        ...
