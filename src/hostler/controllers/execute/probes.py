"""Probes: ask one machine whether it is ready; a host that is to be logged in to is prepared."""

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.machines.rollout import is_prepared_by_ssh
from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Probed, Snapshot
from hostler.domain.observation.certainty import resources_of
from hostler.ports.metrics import Count
from hostler.ports.provider import Connection

from .bootstrap import Outfitter


class Probes:
    """Makes the probes of one account."""

    def __init__(self, ports: Ports, state: AccountState, outfitter: Outfitter) -> None:
        self._ports, self._state, self._outfitter = ports, state, outfitter

    async def probe(self, machine: Machine, snapshot: Snapshot, tenure: Tenure) -> bool:
        """Probe once, and note what came of it; return whether the machine passed."""
        result, begun = "no_address", self._ports.clock.now()
        probed = Probed(begun=begun, passed=False, text="it broke off: the log says why")
        try:
            connection = self._connection(machine, snapshot)
            if connection is None:
                probed = Probed(begun=begun, passed=False, text="it has no address yet")
            else:
                connection = self._ports.lent(connection, snapshot.fleet)
                probed = await self._probed(machine, connection, snapshot, tenure)
                result = "passed" if probed.passed else "failed"
            kind = snapshot.fleet.probe.kind
            self._ports.metrics.count(Count.PROBES, machine.fleet, kind, result)
        finally:
            # Also what could not be probed was tried: without that its bound would never count.
            self._state.probed[machine.id] = probed
            self._state.probing.discard(machine.id)
        return probed.passed

    def _connection(self, machine: Machine, snapshot: Snapshot) -> Connection | None:
        resources = resources_of(machine, snapshot)
        found = self._state.account.provider.connection(machine, resources)
        if found is None and snapshot.fleet.probe.kind is ProbeKind.NODE:
            return Connection(address="")  # it is asked about at its cluster
        return found

    async def _probed(
        self, machine: Machine, connection: Connection, snapshot: Snapshot, tenure: Tenure
    ) -> Probed:
        if self._ports.preparer is not None and is_prepared_by_ssh(snapshot):
            return await self._outfitter.prepare(machine, connection, snapshot, tenure)
        begun = self._ports.clock.now()
        passed, text = await self._ports.prober.probe(machine.id, connection, snapshot.fleet.probe)
        return Probed(begun=begun, passed=passed, text=text)
