"""Host calls: what a host that no machine has is brought to, and what differs from a machine."""

from msgspec import Struct

from hostler.controllers.runtime.rate_limit import Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.hosts.next_calls import Times, host_allowed
from hostler.domain.model.calls import Call
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.snapshot import why_on
from hostler.domain.observation.ready import Observed
from hostler.domain.policy.gate import Evidence

from .evidence import EvidenceMaker
from .subject_calls import Work


class HostPursuit(Struct, frozen=True):
    """A goal of a host, decided in a cycle."""

    goal: HostGoal
    ports: Ports
    state: AccountState
    evidence_maker: EvidenceMaker

    def next_calls(self, work: Work[Host]) -> tuple[Call, ...]:
        """Return the calls that may be made now, by the newest observation of the host."""
        inventory, planner = self.state.inventory, self.state.keeps
        if not work.resources or planner is None:
            return ()
        sighting = inventory.sightings.get(work.resources[0].id)
        if sighting is None:
            return ()
        id_, zone = work.subject.id, work.resources[0].zone
        stays_on = why_on(self.ports.guarded(self.state.account, [(zone, id_)]), id_)
        delay_of = self.state.account.provider.capabilities.consistency_delay_of
        observed = Observed(inventory.observed_at(sighting), delay_of)
        times = Times(observed, self.ports.clock.now(), stays_on)
        return host_allowed(work.subject, self.goal, work.resources[0], times, planner).calls[:1]

    def goes_on(self, work: Work[Host], call: Call) -> bool:
        """A host that a machine took meanwhile is left to it."""
        del call
        return work.subject.id not in self.state.host_records.bindings

    def priority(self, work: Work[Host], call: Call) -> Priority:
        """Whatever is done to a host that nobody holds is cleaning."""
        del work, call
        return Priority.CLEAN

    def evidence(self, work: Work[Host], call: Call) -> Evidence:
        """Return what is known of the call at this moment."""
        return self.evidence_maker.of_host(call, work.subject, work.tenure)

    async def save(self, work: Work[Host], events: tuple[Event, ...]) -> Host:
        """Save the record, and remember it as it was stored."""
        records, store = self.state.host_records, self.ports.store
        return await records.keep(store, work.subject, work.tenure.fence, events)
