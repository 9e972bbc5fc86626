"""Operator: the person who wishes things at random, and who helps where a person is needed."""

import asyncio
from datetime import timedelta

from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import SuspectClass, Wish, WishKind
from hostler.lab.checks.world_facts import things_in
from hostler.lab.harness.bystanders import remove_volume
from hostler.lab.harness.process import Home
from hostler.testing.time.clock import BEGINNING

from .disruptions import Strokes
from .faults import Asking
from .session import Ground

_ABOUT = {
    "hold": WishKind.HOLD,
    "retire": WishKind.RETIRE,
    "rest": WishKind.REST,
    "wake": WishKind.WAKE,
}


class Operator:
    """Wishes into the stores, as doors do; never acts on machines."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def run(self) -> None:
        """Wish as drawn."""
        for asking in self._ground.climate.askings:
            await asyncio.sleep(max(0.0, asking.at - self._ground.loop.time()))
            homes = [home for home in self._ground.homes if not home.book.lost]
            await self._ask(homes[asking.home % len(homes)], asking)

    async def _ask(self, home: Home, asking: Asking) -> None:
        living = sorted(home.book.living(), key=lambda m: m.serial)
        chosen = living[int(asking.which * len(living))].id if living else None
        length = timedelta(seconds=asking.length)
        fleet = home.fleets[int(asking.which * 1000) % len(home.fleets)].name
        match asking.kind:
            case "scale":
                size = int(asking.which * (self._ground.climate.machines + 3))
                await self.wish(home, WishKind.SCALE, fleet=fleet, size=size)
            case "pause":
                await self.wish(home, WishKind.PAUSE, fleet=fleet, length=length)
            case "resume":
                await self.wish(home, WishKind.RESUME, fleet=fleet)
            case "unhold":
                for machine in living:
                    if machine.hold is not None:
                        await self.wish(home, WishKind.UNHOLD, machine=machine.id)
            case _ if chosen is not None:
                kind = _ABOUT.get(asking.kind, WishKind.END)
                now = asking.kind == "end_now"
                await self.wish(home, kind, machine=chosen, now=now, length=length)
            case _:
                pass

    async def wish(  # noqa: PLR0913 - the fields of a wish, by name
        self,
        home: Home,
        kind: WishKind,
        *,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        size: int | None = None,
        now: bool = False,
        length: timedelta | None = None,
        adopts: str = "",
    ) -> None:
        """Write a wish, unfenced, at the true time; without a fleet, of the machine's own."""
        known = home.book.machines.get(machine) if machine is not None else None
        fleet = fleet or (known.fleet if known is not None else home.fleets[0].name)
        at = BEGINNING + timedelta(seconds=self._ground.loop.time())
        source = next((b.own for b in self._ground.watch.books if b.own == adopts), None)
        wish = Wish(
            number=0,
            kind=kind,
            fleet=fleet,
            at=at,
            actor="operator",
            machine=machine,
            size=size,
            until=at + length if length is not None else None,
            why="a whim",
            now=now,
            installation=source,
        )
        self._ground.trace.note(
            f"operator wishes {kind} {machine or size or adopts}", machine or ""
        )
        await self._ground.put_wish(home, wish)

    async def help(self, strokes: Strokes) -> None:
        """Do what a person must do before a fleet can come to rest: let go, clear up, adopt."""
        for home in self._ground.homes:
            if home.book.lost:
                continue
            for row in home.book.rows.values():
                if row.pause is not None:
                    await self.wish(home, WishKind.RESUME, fleet=row.name)
            for machine in home.book.living():
                if machine.hold is not None:
                    await self.wish(home, WishKind.UNHOLD, machine=machine.id)
                if self._ground.watch.needs_a_person(home.book, machine):
                    await self.wish(home, WishKind.END, machine=machine.id)
                idle = self._ground.watch.may_rest(home.book, machine)
                if machine.phase is Phase.RESTING and not idle:
                    await self.wish(home, WishKind.WAKE, machine=machine.id)
        second = strokes.second
        if second is not None:
            await self._send_away(second)
        await self._adopt(second)
        self._clear_up()
        self._take_away()

    def _clear_up(self) -> None:
        """Remove what somebody took the marks from, and no record knows: only people can."""
        watch = self._ground.watch
        known = {part for b in watch.books if not b.lost for m in b.living() for part in m.ids()}
        for thing, zone in things_in(watch.world):
            if thing.mark is not None or thing.id in known or thing.id in self._ground.strangers:
                continue
            if thing.kind == "volume":
                remove_volume(watch.world, thing.id, zone)
            else:
                watch.world.act(f"{thing.kind}_deleted_by_hand", thing.id)

    def _take_away(self) -> None:
        """Take hosts out of every hostler's hands of which only people can tell whose they are."""
        watch = self._ground.watch
        for book in watch.books:
            for host in () if book.lost else watch.left_to_people(book):
                watch.world.console.rename(host, f"lent to ann {host[:8]}")

    async def _send_away(self, second: Home) -> None:
        for fleet in second.fleets:
            row = second.book.rows.get(fleet.name)
            if row is None or row.size != 0:
                await self.wish(second, WishKind.SCALE, fleet=fleet.name, size=0)

    async def _adopt(self, second: Home | None) -> None:
        """Adopt what a lost store left, and what carries our mark without a record."""
        for home in self._ground.homes:
            if not home.book.lost and home is not second:
                for fleet in home.fleets:
                    await self._adopt_for(home, fleet.name)

    async def _adopt_for(self, home: Home, fleet: FleetName) -> None:
        suspects = [s for s in home.book.suspects.values() if s.fleet == fleet]
        lost = {b.own for b in self._ground.watch.books if b.lost}
        foreign = {
            s.installation
            for s in suspects
            if s.cls is SuspectClass.FOREIGN and s.installation in lost
        }
        for installation in sorted(str(i) for i in foreign):
            await self.wish(home, WishKind.ADOPT, fleet=fleet, adopts=installation)
        if not foreign and any(s.cls is SuspectClass.STRAY for s in suspects):
            await self.wish(home, WishKind.ADOPT, fleet=fleet)
