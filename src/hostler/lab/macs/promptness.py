"""Promptness: a Mac that a machine waits for is wiped, and wiped again where that failed (L2)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, InstallationId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.lab.checks.lag import Lag
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.testing.invariants import Found

from .ground_truth import GroundTruth

_LEFT = "its host is not wiped, and nothing is done for it"
BOUNDS = {_LEFT: 1500.0}
"""How long, in seconds in which its zone was listed, a machine may stand like this."""
_STANDS = frozenset({MacStatus.READY, MacStatus.ERROR})


@dataclass(slots=True)
class Promptness:
    """For how long machines wait for a wipe that nobody asks for.

    `called` says when a call was last made for a machine.
    """

    truth: GroundTruth
    called: dict[MachineId, float] = field(default_factory=dict[MachineId, float])
    lag: Lag = field(default_factory=lambda: Lag(BOUNDS))

    def check(self, own: InstallationId, machines: Iterable[Machine], passed: float) -> Found:
        """Judge machines in zones that were listed; `passed` is the time since the last check."""
        since = self.truth.world.cloud.now - passed
        idle = (one for one in machines if self.called.get(one.id, 0.0) < since)
        return self.lag.check(own, ((one, _LEFT) for one in idle if self._waits(one)), passed)

    def _waits(self, machine: Machine) -> bool:
        """Tell whether a machine that was never ready has a host that stands unwiped."""
        begins = machine.phase is Phase.STARTING and machine.health.was_ready is None
        host = machine.host if machine.deletion is None and machine.goal is Goal.PRESENT else None
        mac = self.truth.mac(host) if begins and host is not None else None
        if mac is None or mac.displayed or mac.status not in _STANDS:
            return False
        owner = self.truth.hosts[HostId(mac.id)].owner
        mine = owner is not None and (owner[0], owner[1].machine) == ("pending", machine.id)
        unwiped = mac.status is MacStatus.ERROR or not self.truth.is_clean(HostId(mac.id))
        return mine and unwiped
