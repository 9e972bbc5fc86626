"""Sampling: watch a rack and its engine's records as the day goes on, and what is asked of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.model.fleet import Fleet
from hostler.domain.model.phases import Phase
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.queries.wording import count
from hostler.requests.fleets import scale
from hostler.requests.recording import Author, record
from hostler.simulators.power.rack.rack import Rack

from .day import Day
from .judge import Move, Size, Switched, Wrong, moves_of, wrong_actions
from .lanes import Lane

_MANY = 10_000
Announce = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Sampler:
    """What was asked for and seen so far. `announce` tells what changes."""

    rack: Rack
    store: Store
    fleet: Fleet
    clock: Clock
    day: Day
    announce: Announce
    begun: float = 0.0
    date: datetime = field(init=False)
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])
    moves: list[Move] = field(default_factory=list[Move])
    sizes: list[Size] = field(default_factory=list[Size])
    _last_event: int = 0
    _powered: frozenset[str] = frozenset()
    _failed: int = 0

    def __post_init__(self) -> None:
        self.begun, self.date = self.rack.time(), self.clock.now()
        self.lanes = {name: Lane() for name in self.rack.machines}

    @property
    def passed(self) -> float:
        """The real seconds since the beginning."""
        return self.rack.time() - self.begun

    @property
    def asked(self) -> int:
        """How many machines are asked for now."""
        return self.sizes[-1].size if self.sizes else 0

    async def ask(self) -> None:
        """Ask for what the hour asks for, where that is new."""
        size = self.day.size(self.passed)
        if self.sizes and size == self.asked:
            return
        author = Author(name="demo", at=self.clock.now())
        self.sizes.append(Size(author.at, size))
        await record(self.store, (scale(author, self.fleet, size),))
        self.announce(f"asked for: {count(size, 'machine')}")

    async def watch(self) -> None:
        """Take one sample."""
        recorded = await self.store.events(after=self._last_event, limit=_MANY)
        self._last_event = recorded[-1].number if recorded else self._last_event
        self.moves += moves_of(entry.event for entry in recorded)
        for name, machine in self.rack.machines.items():
            self.lanes[name].note(self.day.hour(self.passed), machine)
        self._tell()

    def _tell(self) -> None:
        """Tell which boxes went on or off, and which commands failed, since the last sample."""
        machines = self.rack.machines
        failed = [(n, c) for n, m in machines.items() for c in m.commands if c.failed]
        failed.sort(key=lambda entry: entry[1].at)
        for name, command in failed[self._failed :]:
            method = machines[name].method
            self.announce(f"trouble: {name} ({method}): {command.what} meets {command.failed}")
        self._failed = len(failed)
        powered = frozenset(name for name, machine in machines.items() if machine.has_power())
        for word, names in (("on", powered - self._powered), ("off", self._powered - powered)):
            if names:
                self.announce(f"{word}: {', '.join(sorted(names))}")
        self._powered = powered

    # ------------------------------------------------------------ what came of it

    def wrong(self) -> tuple[Wrong, ...]:
        """Return the commands so far that were wrong, by what the rack took."""
        commands = [
            Switched(self._dated(command.at), name, command.what)
            for name, machine in self.rack.machines.items()
            for command in machine.commands
        ]
        return wrong_actions(commands, self.moves, self.sizes)

    def _dated(self, at: float) -> datetime:
        """Return a time of the rack as the records have it."""
        return self.date + timedelta(seconds=at - self.begun)

    async def rests(self) -> bool:
        """Tell whether the rack stands as it was asked to, and nothing is under way."""
        records = await self.store.machines(self.fleet.name)
        phases = {str(one.host): one.phase for one in records}
        return stands(self.rack, self.asked, phases) and not await self.store.requests()


def stands(rack: Rack, asked: int, phases: Mapping[str, Phase]) -> bool:
    """Tell whether what is on is up, with a ready machine each, and as much as is asked for.

    What is up and on is the rack's word; which machine has which box, the records', as `phases`.
    """
    up = {machine.name for machine in rack.machines.values() if machine.is_up()}
    on = {machine.name for machine in rack.machines.values() if machine.has_power()}
    ready = all(phase is Phase.READY for phase in phases.values())
    return len(up) == asked and on == up == set(phases) and ready
