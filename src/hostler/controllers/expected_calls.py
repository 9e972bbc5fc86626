"""Expected calls: what a machine's or a host's step would call if every answer were as expected."""

from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.hosts.next_calls import HostPlanner, Times, host_allowed
from hostler.domain.ids import ResourceId
from hostler.domain.machines.next_calls import allowed, cleans
from hostler.domain.model.calls import Call, Done, Shows
from hostler.domain.model.host import Host, HostGoal, host_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.model.subject import SubjectT, ask
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources, planned
from hostler.domain.observation.ready import Observed, Ready

SEE = "its answer"
"""What a step waits for whose next call depends on an answer that no plan can assume."""

_MOST_CALLS = 64
_STEADY = frozenset({Condition.UP, Condition.FAILED})
"""How a host stands that does not change by itself."""

Resources = tuple[Resource, ...]


class Steps(Protocol[SubjectT]):
    """Where the calls of a subject come from, and what differs between machines and hosts."""

    def next_calls(self, subject: SubjectT, resources: Resources) -> Ready:
        """Return the calls that may be made now, by the code that acts."""
        ...

    def answered(
        self, subject: SubjectT, resources: Resources, call: Call
    ) -> tuple[SubjectT, Resources]:
        """Return the record and the resources as the expected answer to a call leaves them."""
        ...

    def waits(self, subject: SubjectT, resources: Resources, ready: Ready, *, made: bool) -> Ready:
        """Return what is waited for, and until when, where no call may be made any more.

        Nothing is said where the subject has arrived.
        """
        ...


def expected_calls(subject: SubjectT, resources: Resources, steps: Steps[SubjectT]) -> Ready:
    """Return the calls of one step with placeholders for answers, and what it then waits for."""
    calls = list[Call]()
    while len(calls) < _MOST_CALLS:
        ready = steps.next_calls(subject, resources)
        if not ready.calls:
            waits = steps.waits(subject, resources, ready, made=bool(calls))
            return replace(waits, calls=tuple(calls))
        many = ready.calls if cleans(ready.calls) else ready.calls[:1]
        if many[0] in calls:
            break
        for call in many:
            calls.append(call)
            subject, resources = steps.answered(subject, resources, call)
    return Ready(calls=tuple(calls), waits=SEE)


def _answered(
    subject: SubjectT, call: Call, answer: Done, snapshot: Snapshot | AccountSnapshot
) -> SubjectT:
    asked = ask(subject, call, snapshot.now, snapshot.epoch) if call.once else subject
    return apply_outcome(asked, call, answer, snapshot.now)


class MachineSteps(Struct, frozen=True):
    """A machine's calls on the way to a goal."""

    goal: Goal
    snapshot: Snapshot
    planner: Planner

    def next_calls(self, subject: Machine, resources: Resources) -> Ready:
        """Return the calls that may be made now."""
        return allowed(subject, self.goal, resources, self.snapshot, self.planner)

    def answered(
        self, subject: Machine, resources: Resources, call: Call
    ) -> tuple[Machine, Resources]:
        """Return what an answer that names placeholders leaves."""
        answer = planned(call, call.slot.index, resources)
        machine = _answered(subject, call, answer, self.snapshot)
        return machine, apply_to_resources(resources, answer)

    def waits(self, subject: Machine, resources: Resources, ready: Ready, *, made: bool) -> Ready:
        """Return what is waited for; decide() says the rest.

        A machine's host that was busy may be ready by the next answer, and be asked for more.
        """
        inventory = self.snapshot.inventory
        host = inventory.resource(ResourceId(subject.host)) if subject.host else None
        there = any(host_of(resource.id) == subject.host for resource in resources)
        other = made and there and host is not None and host.condition not in _STEADY
        return ready if ready.waits else Ready(waits=SEE if other else "")


class HostSteps(Struct, frozen=True):
    """A host's calls on the way to a goal of its own."""

    goal: HostGoal
    snapshot: AccountSnapshot
    planner: HostPlanner

    def next_calls(self, subject: Host, resources: Resources) -> Ready:
        """Return the call that may be made now: of a host there is one at a time."""
        resource, inventory = resources[0], self.snapshot.inventory
        observed = Observed(
            inventory.observed_at(inventory.sightings[resource.id]),
            self.snapshot.capabilities.consistency_delay_of,
        )
        times = Times(observed, self.snapshot.now, self.snapshot.why_on(subject.id))
        ready = host_allowed(subject, self.goal, resource, times, self.planner)
        return replace(ready, calls=ready.calls[:1])

    def answered(self, subject: Host, resources: Resources, call: Call) -> tuple[Host, Resources]:
        """Return what an answer without news leaves; a rename shows the stage asked for."""
        host = _answered(subject, call, Done(), self.snapshot)
        if call.shows is not Shows.OWNER_TAG:
            return host, resources
        facts = replace(resources[0].host, stage=call.aim)
        return host, (replace(resources[0], name="<its new name>", host=facts),)

    def waits(self, subject: Host, resources: Resources, ready: Ready, *, made: bool) -> Ready:
        """Return what is waited for: after any call, what the next observation shows."""
        if made:
            return Ready(waits=SEE)
        if ready.waits:
            return ready
        until, resource = subject.health.quarantined_until, resources[0]
        if until is not None and subject.quarantined(self.snapshot.now):
            why = f"the end of its quarantine ({subject.reason}), to be wiped again"
            return Ready(waits=why, at=until)
        if resource.host.scheduled:
            return Ready(waits="its deletion", at=resource.host.paid_until)
        if resource.condition is Condition.WIPING or subject.cleaning.wiping is not None:
            return Ready(waits=f"the end of its wipe (now: {resource.status})")
        return Ready(waits=f"another status: it is {resource.status}")
