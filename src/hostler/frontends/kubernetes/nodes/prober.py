"""Prober: a machine whose Node is to be ready is asked for at its cluster."""

import asyncio
from typing import Protocol

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.ports.prober import Prober
from hostler.ports.provider import Connection


class Readiness(Protocol):
    """Knows whether Nodes are ready."""

    async def ready(self, machine: MachineId) -> tuple[bool, str]:
        """Tell whether a machine's Node is ready, and what there is to say of it; never raises."""
        ...


class NodeProber:
    """Probes as another prober does, but Nodes at their cluster. Implements `Prober`."""

    def __init__(self, other: Prober, nodes: Readiness) -> None:
        self._other, self._nodes = other, nodes

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once, within the probe's timeout."""
        if probe.kind is not ProbeKind.NODE:
            return await self._other.probe(machine, connection, probe)
        seconds = probe.timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                return await self._nodes.ready(machine)
        except TimeoutError:
            return False, f"the cluster did not answer within {seconds:g} s"
