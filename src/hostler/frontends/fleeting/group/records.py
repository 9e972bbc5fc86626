"""Records: what a group knows of its instances: the engine's records, and ids not on them yet."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.fleeting.contract import Refused
from hostler.requests.fleets import adopt
from hostler.requests.recording import Accepted, Author, record

from .context import GroupContext

ACTOR = "gitlab-runner"


@dataclass(slots=True)
class GroupRecords:
    """What is known of an open group.

    `first_row` and `first_machines` are the records of before the engine read them; `requested` are
    the instances that are not on record yet, each with the number of its request; `deleting` are
    those whose deletion was requested; `lost` says why nothing is known any more, if so.
    """

    context: GroupContext
    first_row: FleetRow
    first_machines: tuple[Machine, ...]
    requested: dict[MachineId, int] = field(default_factory=dict[MachineId, int])
    deleting: set[MachineId] = field(default_factory=set[MachineId])
    lost: str = ""

    def require(self) -> None:
        """Raise Refused where the records are gone."""
        if self.lost:
            raise Refused(self.lost)

    def machines(self) -> tuple[Machine, ...]:
        """Return the living records: those of the engine once it has read them, else the store's.

        Callable from another thread than the engine's.
        """
        live = self.context.live.machines()
        return self.first_machines if live is None else live

    def row(self) -> FleetRow:
        """Return the group's row as the engine has it, or as it was read at first."""
        return self.context.live.row() or self.first_row

    def forget_granted(self, machines: Sequence[Machine]) -> None:
        """Forget ids whose request was granted: from then on the records have them."""
        if not self.requested:
            return
        row, known = self.row(), {machine.id for machine in machines}
        for machine, number in tuple(self.requested.items()):
            if machine in known or number <= row.grown:
                self.requested.pop(machine, None)

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

    def author(self, why: str = "") -> Author:
        """Return the runner as the author of a request, as of now."""
        return Author(name=ACTOR, at=self.context.clock.now(), why=why)

    async def record(self, accepted: Accepted) -> Request:
        """Record a request; raises StoreError."""
        (request,) = await record(self.context.store, (accepted,))
        return request


async def read_records(context: GroupContext) -> GroupRecords:
    """Read the records and the requests that nobody granted yet; ask to adopt what is configured.

    Raises StoreError.
    """
    store, fleet = context.store, context.fleet
    row = await store.add_fleet(FleetRow(name=fleet.name, created=context.clock.now()))
    records = GroupRecords(context, row, await store.machines(fleet.name))
    for request in await store.requests():
        if request.kind is RequestKind.GROW and request.number > row.grown:
            records.requested |= dict.fromkeys(request.machines, request.number)
    ours = (await store.identity()).ours
    for installation in context.adopt:
        if installation not in ours:
            await records.record(adopt(records.author(), fleet, installation, ()))
    return records
