"""Host snapshot: everything that one cycle of an account's hosts may know, gathered once."""

from collections.abc import Iterator

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.ids import CycleId, HostId, MachineId
from hostler.domain.model.fleet import Timers
from hostler.domain.model.host import TENANT
from hostler.domain.model.snapshot import HostsSnapshot


async def gather_hosts(
    ports: Ports, state: AccountState, number: CycleId, tenure: Tenure, steadiness: Steadiness
) -> HostsSnapshot:
    """Return what a cycle of an account's hosts knows: the inventory is older than every record."""
    host_records, fleets = state.host_records, state.account.fleets
    await host_records.refresh(ports.store)
    living = {m.id: m for fleet in fleets for m in state.living(fleet.name)}
    lost = tuple(sorted({*host_records.bindings.values(), *_claimants(state)} - living.keys()))
    past = await ports.store.history(lost) if lost else ()
    now = ports.clock.now()
    return HostsSnapshot(
        cycle=number,
        now=now,
        account=state.account.name,
        hosts=dict(host_records.hosts),
        bindings=dict(host_records.bindings),
        machines=living,
        past={machine.id: machine for machine in past},
        inventory=state.inventory,
        capabilities=state.account.provider.capabilities,
        epoch=tenure.epoch,
        took=tenure.took,
        jumped=steadiness.jumped,
        absence_gap=max((f.timers.absence_gap for f in fleets), default=Timers().absence_gap),
        moving=frozenset(host_records.moving),
        starved=frozenset(fleet for fleet, many in state.missing.items() if many),
        orders=state.orders(),
        protected={f.name: why for f in fleets if (why := state.protection(f.name, now))},
    )


def _claimants(state: AccountState) -> Iterator[MachineId]:
    """Yield the machines that the names of recorded hosts tell of as their tenants."""
    hosts, kind = state.host_records.hosts, state.account.provider.capabilities.host_kind
    for sighting in state.inventory.sightings.values():
        resource = sighting.resource
        if (
            resource.slot.kind == kind
            and HostId(resource.id) in hosts
            and resource.host.stage in TENANT
            and resource.host.holder is not None
        ):
            yield resource.host.holder
