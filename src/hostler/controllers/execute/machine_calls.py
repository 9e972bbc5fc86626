"""Machine calls: what a machine is advanced to, and what differs there from a host."""

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.runtime.rate_limit import Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.policy.gate import Evidence

from .evidence import EvidenceMaker
from .subject_calls import Work


class MachinePursuit(Struct, frozen=True):
    """A goal of a machine, decided on a snapshot."""

    goal: Goal
    snapshot: Snapshot
    ports: Ports
    state: AccountState
    evidence_maker: EvidenceMaker

    def next_calls(self, work: Work[Machine]) -> tuple[Call, ...]:
        """Return the calls that may be made now, by the newest observations."""
        now = replace(self.snapshot, now=self.ports.clock.now(), inventory=self.state.inventory)
        provider = self.state.account.provider
        return allowed(work.subject, self.goal, work.resources, now, provider).calls

    def goes_on(self, work: Work[Machine], call: Call) -> bool:
        """A machine that is wanted no longer gets no further; it is always cleaned up."""
        return call.effect is Effect.DESTROY or not self.state.is_recalled(work.subject)

    def priority(self, work: Work[Machine], call: Call) -> Priority:
        """Cleaning comes first, then what goes on, then what is new."""
        if call.effect is Effect.DESTROY:
            return Priority.CLEAN
        return Priority.GO_ON if work.subject.ids() else Priority.MAKE

    def evidence(self, work: Work[Machine], call: Call) -> Evidence:
        """Return what is known of the call at this moment."""
        return self.evidence_maker.of_machine(call, work.subject, self.snapshot, work.tenure)

    async def save(self, work: Work[Machine], events: tuple[Event, ...]) -> Machine:
        """Save the record, and remember it as it was stored."""
        fence = work.tenure.fence
        machine = await self.ports.store.save_machine(work.subject, events, fence)
        self.state.keep(machine)
        return machine
