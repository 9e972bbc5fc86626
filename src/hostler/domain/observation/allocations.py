"""Allocations: which machine has a host on which nothing can be written, as our records say.

Where an owner tag can be written, an observation shows it, and the provider makes a resource of it.
Where ownership is in our records alone, the provider observes hosts and nothing else: what a
machine has of a host is added here, so that all that is decided and proved about machines is the
same for both.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.host import allocation_of, host_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    Condition,
    Observation,
    ObservedScope,
    OwnerTag,
    Resource,
    Scope,
    Stage,
)


class Allocations(Struct, frozen=True, kw_only=True):
    """What our records say of who has which host; `installation` is whose records they are."""

    capabilities: Capabilities
    installation: InstallationId
    bindings: Mapping[HostId, MachineId]
    machines: Mapping[MachineId, Machine]

    def observed(self, scopes: tuple[Scope, ...], observation: Observation) -> Observation:
        """Return an observation of hosts as one of what was asked for: allocations included."""
        kind, main = self.capabilities.host_kind, self.capabilities.main.kind
        by_scope = {entry.scope: entry for entry in observation.observed}
        entries = list[ObservedScope]()
        for scope in scopes:
            entry = by_scope.get(_of_hosts(scope, self.capabilities))
            if entry is not None:
                entries.append(replace(entry, scope=scope))
        hosts = [one for one in observation.resources if one.slot.kind == kind]
        others = [one for one in observation.resources if one.slot.kind != kind]
        added = self._of(hosts) if any(scope.kind == main for scope in scopes) else ()
        return replace(observation, observed=tuple(entries), resources=(*hosts, *added, *others))

    def _of(self, hosts: Iterable[Resource]) -> Iterator[Resource]:
        for host in hosts:
            machine = self.machines.get(self.bindings.get(HostId(host.id), MachineId("")))
            if machine is not None and not _is_released(machine, HostId(host.id)):
                yield self._allocation(host, machine)

    def _allocation(self, host: Resource, machine: Machine) -> Resource:
        """Return what a machine has of a host: off, it is in standby if that was asked of it.

        It still is where somebody asked for it back, as long as nothing was done about that.
        """
        rests = machine.goal is Goal.STANDBY or machine.phase is Phase.STANDBY
        off = rests and host.condition is Condition.OFF
        facts = replace(
            host.host,
            stage=Stage.CLAIMED,
            tagged=Stage.CLAIMED,
            holder=machine.id,
            fleet=machine.fleet,
            installation=self.installation,
        )
        owner_tag = OwnerTag(
            installation=self.installation, fleet=machine.fleet, machine=machine.id, attempt=0
        )
        return replace(
            host,
            id=allocation_of(HostId(host.id), machine.id),
            slot=self.capabilities.main,
            owner_tag=owner_tag,
            condition=Condition.STANDBY if off else host.condition,
            host=facts,
        )


def scopes_of_hosts(scopes: tuple[Scope, ...], capabilities: Capabilities) -> tuple[Scope, ...]:
    """Return the scopes that the provider is asked for: of its hosts, where it knows only those."""
    if capabilities.hosts is None or capabilities.hosts.ownership is not Ownership.RECORD:
        return scopes
    return tuple(dict.fromkeys(_of_hosts(scope, capabilities) for scope in scopes))


def _of_hosts(scope: Scope, capabilities: Capabilities) -> Scope:
    if scope.kind != capabilities.main.kind:
        return scope
    known = tuple(dict.fromkeys(ResourceId(host_of(one)) for one in scope.known))
    return replace(scope, kind=capabilities.host_kind, known=known)


def _is_released(machine: Machine, host: HostId) -> bool:
    """Tell whether a machine has let go of a host: a call of its own was answered so."""
    allocation = allocation_of(host, machine.id)
    known = (entry for place in machine.places for entry in place.known if entry.id == allocation)
    return any(entry.was_removed for entry in known)
