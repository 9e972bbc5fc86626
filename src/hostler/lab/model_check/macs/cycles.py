"""What one installation does by itself: observe, go through a cycle, go on with a call.

The decisions are the program's own: `decide`, `decide_hosts`, `allowed`, `host_allowed`, the
provider's next calls, the gate, and both folds. The order of saves is that of a cycle, and each
save is kept, so that a process may die after any of them.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import HostId
from hostler.domain.model.calls import Outcome
from hostler.domain.model.commands import Advance, Bind, Decision, SaveFleet, Unbind
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCleaning, HostCondition, HostOwnership
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Resource
from hostler.domain.observation.certainty import resources_of

from .caller import Caller, Saves
from .calls import OFFER, PLACE, POOL, Sighting
from .canonical import aged, settled
from .installation import LONG_AGO, NOW, OLDER, Saw, Side
from .observations import ACCOUNT, Home, Observer

_NONE: Mapping[HostId, str] = {}


class TooManyBorn(Exception):
    """More machines were made than the setting foresees: the world is not closed."""


class Actor:
    """Takes the private steps of one installation."""

    def __init__(self, home: Home) -> None:
        self.home, self.observer = home, Observer(home)
        self.provider, self.fleet = self.observer.provider, self.observer.fleet
        self._caller = Caller(self.observer)

    def first(self, wiped: Mapping[HostId, str] = _NONE) -> Side:
        """Return the side at its beginning: nothing was seen yet; these hosts it wiped itself."""
        hosts = tuple(
            Host(
                id=host,
                account=ACCOUNT,
                zone=PLACE,
                condition=HostCondition.FREE,
                type=OFFER.type,
                ownership=HostOwnership(name=name, pool=POOL),
                cleaning=HostCleaning(image=OFFER.image, wiped=LONG_AGO, wiping=LONG_AGO),
            )
            for host, name in wiped.items()
        )
        row = FleetRow(name=self.home.fleet, created=LONG_AGO, version=1)
        return self._settled(Side(row=row, hosts=hosts))

    def _settled(self, side: Side) -> Side:
        return settled(side, self.home.longest)

    # ------------------------------------------------------------ observations and cycles

    def observe(self, side: Side, sightings: tuple[Sighting, ...]) -> Side:
        """Return the side after a listing of the zone, and looks at the ids that are in doubt."""
        return self._settled(self.observer.observed(side, sightings))

    def reconcile(self, side: Side) -> tuple[Side, tuple[Side, ...]]:
        """Return the side after a cycle of its fleet and its hosts, and the store save by save."""
        saves = Saves(replace(side, observed=False))
        snapshot = self.observer.snapshot(side)
        decision = decide(snapshot, self.provider)
        advances = self._record(saves, decision)
        self._keep_hosts(saves)
        asked = tuple(s for advance in advances for s in advance.close)
        recalled = set(side.recalled) - {m.id for m in snapshot.machines} | set(decision.recalled)
        saves.side = replace(saves.side, asked=asked, recalled=tuple(sorted(recalled)))
        for advance in advances:
            machine = saves.side.machine(advance.machine.id)
            if advance.goal is not None and machine is not None:
                resources = resources_of(machine, snapshot)
                self._caller.go_on(saves, machine, resources, advance.goal)
        return self._settled(saves.side), tuple(saves.stores)

    def _record(self, saves: Saves, decision: Decision) -> list[Advance]:
        """Save what was decided in the order of a cycle; return the machines to be worked on."""
        commands = decision.commands
        rows = [c for c in commands if isinstance(c, SaveFleet)]
        advances = [c for c in commands if isinstance(c, Advance)]
        for row in rows:
            saves.save(replace(saves.side, row=self._row(row, saves.side)))
        for take in commands:
            if isinstance(take, Bind):
                saves.save(saves.side.bound(take.host.id, take.machine))
                saves.save(saves.side.with_host(take.host))
        for advance in advances:
            if advance.changed:
                saves.save(saves.side.with_machine(advance.machine))
        for unbind in commands:
            if isinstance(unbind, Unbind):
                saves.save(saves.side.loosened(unbind.host, unbind.machine))
        for row in rows:
            self._bear(saves, row)
        return [advance for advance in advances if advance.machine.phase is not Phase.DELETED]

    def _row(self, command: SaveFleet, side: Side) -> FleetRow:
        lacks = command.row.condition.startswith(Reason.NO_AVAILABLE_HOST)
        condition = str(Reason.NO_AVAILABLE_HOST) if lacks else ""
        return replace(command.row, condition=condition, serial=side.row.serial)

    def _bear(self, saves: Saves, command: SaveFleet) -> None:
        for offer in command.inserts:
            born = saves.side.born
            if born >= len(self.home.ids):
                raise TooManyBorn(self.home.ids)
            machine = Machine(
                id=self.home.ids[born],
                fleet=self.home.fleet,
                serial=born + 1,
                created=LONG_AGO,
                since=NOW,
                phase=Phase.PENDING,
                offer=offer,
                version=1,
            )
            after = replace(saves.side, born=born + 1)
            saves.save(after.with_machine(machine))

    def _keep_hosts(self, saves: Saves) -> None:
        side = saves.side
        snapshot = self.observer.hosts_snapshot(side)
        for step in decide_hosts(snapshot):
            if step.changed:
                saves.save(saves.side.with_host(step.host))
            if step.unbind is not None:
                saves.save(saves.side.loosened(step.host.id, step.unbind))
            if (
                step.goal is not None
                and step.resource is not None
                and step.host.id not in snapshot.moving
            ):
                self._caller.go_on_host(saves, step.host, step.resource, step.goal)

    # ------------------------------------------------------------ answers

    def reads(self, side: Side, place: int, name: str) -> Side:
        """Return the side whose call has read its host, and now writes."""
        task = replace(side.tasks[place], name=name)
        tasks = (*side.tasks[:place], task, *side.tasks[place + 1 :])
        return self._settled(replace(side, tasks=tasks))

    def answered(self, side: Side, place: int, outcome: Outcome) -> tuple[Side, tuple[Side, ...]]:
        """Return the side after an answer, with the next call begun, and the store save by save."""
        task = side.tasks[place]
        saves = Saves(replace(side, tasks=(*side.tasks[:place], *side.tasks[place + 1 :])))
        holder = task.holder
        if isinstance(holder, Machine):
            self._caller.machine_answered(saves, holder, task, outcome)
        else:
            self._caller.host_answered(saves, holder, task, outcome)
        return self._settled(saves.side), tuple(saves.stores)

    # ------------------------------------------------------------ ends and beginnings

    def dead(self, store: Side) -> Side:
        """Return what is left when the process dies over this store, and another one starts."""
        return self._settled(
            replace(
                store,
                machines=tuple(_of_old(m) for m in store.machines),
                hosts=tuple(
                    replace(h, asked=tuple(replace(a, epoch=OLDER) for a in h.asked))
                    for h in store.hosts
                ),
                saw=Saw(),
                asked=(),
                observed=False,
                recalled=(),
                tasks=(),
                took=NOW,
            )
        )

    def aged(self, side: Side) -> Side:
        """Return the side a tick later."""
        return aged(side, self.home.longest)

    def dated(self, side: Side, host: HostId) -> Side:
        """Return the side to which a host bearing its pending tag shows that it just changed."""
        others = (entry for entry in side.dates if entry[0] != host)
        return self._settled(replace(side, dates=tuple(sorted((*others, (host, NOW))))))

    def desired(self, side: Side, size: int = 0) -> Side:
        """Return the side after the request for so many machines: that nothing is left."""
        return self._settled(replace(side, row=replace(side.row, size=size)))

    def stranded(self, side: Side) -> Iterator[Resource]:
        """Yield the hosts that the ledger tells of."""
        yield from self.observer.snapshot(side).unexplained


def _of_old(machine: Machine) -> Machine:
    return replace(machine, asked=tuple(replace(a, epoch=OLDER) for a in machine.asked))
