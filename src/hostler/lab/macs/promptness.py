"""Promptness: a Mac that a machine waits for is wiped, and wiped again where that failed (L2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, InstallationId
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Stage
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
    """For how long machines wait for a wipe that nobody asks for; `faults` are what struck."""

    truth: GroundTruth
    faults: Mapping[str, int]
    lag: Lag = field(default_factory=lambda: Lag(BOUNDS))

    def check(self, own: InstallationId, alone: Iterable[Machine], passed: float) -> Found:
        """Judge the machines for which nothing was called since the last check, `passed` ago."""
        return self.lag.check(own, ((m, _LEFT) for m in alone if self._waits(m)), passed)

    def _waits(self, machine: Machine) -> bool:
        """Tell whether a machine that was never ready has a host that stands unwiped."""
        begins = machine.phase is Phase.STARTING and machine.health.was_ready is None
        host = machine.host if machine.deletion is None and machine.goal is Goal.PRESENT else None
        mac = self.truth.mac(host) if begins and host is not None else None
        if mac is None or mac.displayed or mac.status not in _STANDS:
            return False
        fact = self.truth.hosts[HostId(mac.id)]
        if fact.late >= fact.named or self._seems_late(machine):
            return False  # somebody else may use it: nothing is to be done
        owner = fact.owner
        mine = owner is not None and (owner[0], owner[1].machine) == ("pending", machine.id)
        unwiped = mac.status is MacStatus.ERROR or not self.truth.is_clean(HostId(mac.id))
        return mine and unwiped

    def _seems_late(self, machine: Machine) -> bool:
        """Tell whether a claim came too late by its host's date and an engine's wrong clock."""
        claims = (one for one in machine.asked if one.aim is Stage.PENDING)
        return self.faults["clock_jump"] > 0 and any(
            one.call_state is CallState.LAPSED for one in claims
        )
