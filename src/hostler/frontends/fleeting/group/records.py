"""Records: what a group knows of its instances: the engine's records, and ids not on them yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.frontends.fleeting.contract import Refused
from hostler.requests.by_id import MachinesById, ungranted
from hostler.requests.fleets import adopt

from .context import GroupContext

ACTOR = "gitlab-runner"


@dataclass(slots=True, kw_only=True)
class GroupRecords(MachinesById):
    """What is known of an open group; `lost` says why nothing is known any more, if so."""

    context: GroupContext
    lost: str = ""

    def require(self) -> None:
        """Raise Refused where the records are gone."""
        if self.lost:
            raise Refused(self.lost)

    def machine(self, instance: str) -> Machine:
        """Return the record of an instance; Refused where there is none."""
        for machine in self.machines():
            if machine.id == instance:
                return machine
        if MachineId(instance) in self.requested:
            raise Refused(f"{instance} is requested, and not begun yet")
        raise Refused(f"there is no instance {instance[:80]!r} in this group")

    def undeletable(self, machines: Sequence[Machine]) -> frozenset[MachineId]:
        """Return those that are being deleted, and that somebody protected at the provider."""
        stopping = (machine for machine in machines if machine.phase is Phase.STOPPING)
        return self.context.live.protected_at_provider(stopping)


async def read_records(context: GroupContext) -> GroupRecords:
    """Read the records and the requests that nobody granted yet; ask to adopt what is configured.

    Raises StoreError.
    """
    store, fleet = context.store, context.fleet
    row = await store.add_fleet(FleetRow(name=fleet.name, created=context.clock.now()))
    records = GroupRecords(
        context=context,
        fleet=fleet,
        live=context.live,
        store=store,
        clock=context.clock,
        actor=ACTOR,
        fresh=context.fresh,
        first_row=row,
        first_machines=await store.machines(fleet.name),
        requested=await ungranted(store, row),
    )
    ours = (await store.identity()).ours
    for installation in context.adopt:
        if installation not in ours:
            await records.record(adopt(records.author(), fleet, installation, ()))
    return records
