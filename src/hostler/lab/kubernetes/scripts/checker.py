"""The judge of scripts: what runs at hosts is held against records.

once         a machine's script is begun once on a host.
recorded     that it is asked for is on record before it begins.
its-host     it begins on no host but the machine's own.
provisioned  a machine that has a script is ready, and said to be provisioned, once that has ended
             well on its host.
"""

from collections import Counter
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.policy.bootstrap_data import DataState
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.kubernetes.nodes.checker import Wrong

from .host import Hosts

_ASKED = frozenset({DataState.ASKED, DataState.RUNNING})


@dataclass(slots=True)
class ScriptsJudge:
    """Hears of each script that begins, and of each record that is saved."""

    hosts: Hosts
    shadows: list[ShadowStore]
    wrong: Wrong
    done: set[MachineId] = field(default_factory=set[MachineId])
    _begun: Counter[tuple[HostId, MachineId]] = field(
        default_factory=Counter[tuple[HostId, MachineId]]
    )

    def begins(self, box: HostId, machine: MachineId) -> None:
        """Judge a script at the moment when it begins at a host."""
        self._begun[box, machine] += 1
        if self._begun[box, machine] > 1:
            self.wrong("once", f"the script of {machine} begins on {box} again", machine)
        bound = {shadow.bindings.get(box) for shadow in self.shadows}
        if machine not in bound:
            self.wrong("its-host", f"the script of {machine} begins on {box} of {bound}", machine)
        if not any(self._is_recorded(shadow, box, machine) for shadow in self.shadows):
            text = f"the script of {machine} begins on {box}, and nothing of it is on record"
            self.wrong("recorded", text, machine)

    def _is_recorded(self, shadow: ShadowStore, box: HostId, machine: MachineId) -> bool:
        host = shadow.hosts.get(box)
        return host is not None and host.bootstrap.run.of(machine).state in _ASKED

    def saved(self, before: Machine | None, machine: Machine) -> None:
        """Judge a machine that is ready for the first time."""
        begins = before is not None and before.phase is Phase.STARTING
        if machine.phase is not Phase.READY or not begins or not machine.spec.bootstrap:
            return
        if machine.host is not None and self.hosts.is_done(machine.host, machine.id):
            self.done.add(machine.id)
            return
        text = f"{machine.id} is ready on {machine.host}, and its script did not end there"
        self.wrong("provisioned", text, machine.id)

    def provisioned(self, machine: MachineId) -> None:
        """Judge an object that says that its machine is provisioned."""
        if machine not in self.done:
            self.wrong("provisioned", f"{machine} is said to be provisioned without its script", "")
