"""Jobs: what runs on machines, by the world's own knowledge, and that nobody ends it (S6).

A person who protects a machine runs a job on it, from when the store shows the protection of a
machine that is ready and that nobody ends, until the protection ends or is taken away: that is the
drain contract of such a job. A host that is asked whether it is busy has jobs of its own, which it
tells of; their contract is that they are waited for, for as long as *drain* allows.
"""

from dataclasses import dataclass, field

from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.testing.invariants import Found, Violation

SKEW = 5.0
"""How much earlier, in seconds, a protection may end by an engine's clock than by ours."""
_FINE: Found = ()


@dataclass(slots=True)
class ProtectedJobs:
    """The jobs of people who protect the machines that they use, each until its true second.

    `ahead` is by how many seconds the clock of an engine is ahead at most: a protection may end as
    much earlier.
    """

    asked: dict[MachineId, float] = field(default_factory=dict[MachineId, float])
    running: dict[MachineId, float] = field(default_factory=dict[MachineId, float])
    ahead: float = 0.0

    def protects(self, machine: MachineId, until: float) -> None:
        """Note that a person asks for the protection of a machine, to run a job on it."""
        self.asked[machine] = until

    def releases(self, machine: MachineId) -> None:
        """Note that a person's job is over, as its end of the protection says."""
        self.asked.pop(machine, None)
        self.running.pop(machine, None)

    def forget(self) -> None:
        """A clock jumped: until when a protection holds is the engine's own time from now on."""
        self.asked.clear()
        self.running.clear()

    def saved(self, machine: Machine, now: float) -> None:
        """Let a job begin that waited for the protection of its machine, unless that is ending.

        Who protects a machine anew says until when the job that runs there will take; one that is
        over by then stays over.
        """
        until = self.asked.get(machine.id)
        if until is None or machine.protection is None:
            return
        del self.asked[machine.id]
        stays = machine.goal is Goal.PRESENT and machine.deletion is None
        if self._runs(machine.id, now) or (machine.phase is Phase.READY and stays):
            self.running[machine.id] = until

    def ended(self, machine: MachineId, what: str, now: float) -> Found:
        """Check something that ends what runs on a machine, whose host is well."""
        if not self._runs(machine, now):
            return _FINE
        until = self.running[machine]
        text = f"{what} while a job runs on {machine}, which is protected until {until:.0f} s"
        return (Violation(invariant="S6", text=text, machine=machine),)

    def _runs(self, machine: MachineId, now: float) -> bool:
        until = self.running.get(machine)
        return until is not None and now <= until - SKEW - self.ahead
