"""Doubles: where a host that is in use bears another's name for long, its machine tells it (S13).

Beyond the consistency delay nobody can prove whose such a host is: the double is to be found and
told, and nothing else is done. Without that a person hears of it by a job that is gone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hostler.domain.ids import MachineId, Zone
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.testing.invariants import Found, Violation

from .ground_truth import GroundTruth

_ALARM = "alarm"
_TENANT = frozenset({"pending", "claimed", "standby", "rested"})


@dataclass(slots=True)
class Doubles:
    """For how long ready machines have hosts under another's name; `alarmed` told of one.

    `bound` is in seconds of the time in which the zone of the host was listed.
    """

    truth: GroundTruth
    bound: float
    looking: Callable[[ShadowStore, Zone], bool]
    alarmed: set[MachineId] = field(default_factory=set[MachineId])
    waited: dict[MachineId, float] = field(default_factory=dict[MachineId, float])

    def saved(self, machine: Machine, events: Iterable[Event]) -> None:
        """Note a machine that tells of something which a person is to see."""
        if any(event.kind == _ALARM for event in events):
            self.alarmed.add(machine.id)

    def check(self, shadows: Iterable[ShadowStore], passed: float) -> Found:
        """Judge all machines that are ready; `passed` is the time that counts."""
        older, self.waited = self.waited, {}
        for shadow in shadows:
            for machine in shadow.living():
                if not self._is_doubled(shadow, machine) or machine.id in self.alarmed:
                    continue
                looked = self.looking(shadow, machine.offer.zone)
                time = older.get(machine.id, 0.0) + (passed if looked else 0.0)
                self.waited[machine.id] = time
                if time > self.bound:
                    text = f"{machine.host} of {machine.id} is another's by its name, and not told"
                    return (Violation(invariant="S13", text=text, machine=machine.id),)
        return ()

    def _is_doubled(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether the name of a ready machine's host is that of a tenant who is not ours."""
        fact = self.truth.hosts.get(machine.host) if machine.host is not None else None
        mac = self.truth.mac(machine.host) if machine.host is not None else None
        if fact is None or mac is None or machine.phase is not Phase.READY:
            return False
        well = mac.status is MacStatus.READY and not mac.displayed
        owner = fact.owner
        foreign = owner is not None and owner[1].installation not in shadow.ours
        return well and foreign and owner is not None and owner[0] in _TENANT
