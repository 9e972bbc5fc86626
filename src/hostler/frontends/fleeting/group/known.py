"""Known: what a group knows of its instances: the engine's records, and names not on them yet."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hostler.controllers.account import AccountLoop
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.fleeting.contract import Refused

from .opened import Opened

ACTOR = "gitlab-runner"


@dataclass(slots=True)
class Known:
    """What is known of an open group.

    `stored` and `row` are the records of before the engine read them; `named` are the instances
    that are not on record yet, each with the number of its wish; `ended` are those whose end was
    wished; `lost` says why nothing is known any more, if so.
    """

    opened: Opened
    row: FleetRow
    stored: tuple[Machine, ...]
    named: dict[MachineId, int] = field(default_factory=dict[MachineId, int])
    ended: set[MachineId] = field(default_factory=set[MachineId])
    lost: str = ""

    @property
    def loop(self) -> AccountLoop:
        """The loop of the group's account."""
        return self.opened.engine.loops[0]

    def demand_records(self) -> None:
        """Refuse where the records are gone."""
        if self.lost:
            raise Refused(self.lost)

    def machines(self) -> tuple[Machine, ...]:
        """Return the living records: those of the engine once it has read them, else the store's.

        One reading of a dict, so that another thread may ask while the engine writes.
        """
        state, name = self.loop.state, self.opened.fleet.name
        if name not in state.machines:
            return self.stored
        return tuple(state.machines[name].values())

    def forget_named(self, machines: Sequence[Machine]) -> None:
        """Forget names whose wish was granted: from then on the records tell of them."""
        if not self.named:
            return
        row, known = self.newest_row(), {machine.id for machine in machines}
        for name, number in tuple(self.named.items()):
            if name in known or number <= row.grown:
                self.named.pop(name, None)

    def newest_row(self) -> FleetRow:
        """Return the group's row as the engine knows it, or as it was read at first."""
        return self.loop.state.rows.get(self.opened.fleet.name) or self.row

    def one(self, instance: str) -> Machine:
        """Return the record of an instance; Refused where there is none."""
        for machine in self.machines():
            if machine.id == instance:
                return machine
        if MachineId(instance) in self.named:
            raise Refused(f"{instance} is recorded, and not begun yet")
        raise Refused(f"there is no instance {instance[:80]!r} in this group")

    def protected(self, machines: Sequence[Machine]) -> frozenset[MachineId]:
        """Return those that are to go, and that somebody protected at the provider meanwhile.

        Callable from another thread: a look makes a new view.
        """
        sightings = self.loop.state.inventory.sightings
        return frozenset(
            machine.id
            for machine in machines
            if machine.phase is Phase.STOPPING
            and any(
                sightings[i].resource.note("protected") for i in machine.ids() if i in sightings
            )
        )

    def request(self, kind: RequestKind) -> Request:
        """Return a wish of the runner's, as of now."""
        opened = self.opened
        return Request(
            number=0, kind=kind, fleet=opened.fleet.name, at=opened.ports.clock.now(), actor=ACTOR
        )


async def read_known(opened: Opened) -> Known:
    """Read the records, and the wishes that nobody granted yet; wish to adopt what is named."""
    store, fleet = opened.ports.store, opened.fleet
    row = await store.add_fleet(FleetRow(name=fleet.name, created=opened.ports.clock.now()))
    known = Known(opened, row, await store.machines(fleet.name))
    for request in await store.requests():
        if request.kind is RequestKind.GROW and request.number > row.grown:
            known.named |= dict.fromkeys(request.machines, request.number)
    ours = (await store.identity()).ours
    for installation in opened.adopt:
        if installation not in ours:
            await store.request(
                replace(known.request(RequestKind.ADOPT), installation=installation)
            )
    return known
