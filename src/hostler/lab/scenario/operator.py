"""The operator: a person who asks for things at random, and helps where a person is needed."""

import asyncio
from datetime import timedelta
from random import Random
from uuid import UUID

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.harness.process import Home
from hostler.testing.time.clock import BEGINNING

from . import faults
from .disruptions import Disruptions
from .faults import OperatorAction
from .host_requests import CYCLE, HOLDS, LIFT
from .session import Session

_ABOUT = {
    "protect": RequestKind.PROTECT,
    "retire": RequestKind.RETIRE,
    "standby": RequestKind.STANDBY,
    "wake": RequestKind.WAKE,
}
_OF_HOSTS = {
    **dict.fromkeys(HOLDS, RequestKind.HOLD),
    LIFT: RequestKind.LIFT,
    CYCLE: RequestKind.CYCLE,
}

_ACTOR = "operator"

_OURS = frozenset({OrphanClass.UNRECORDED, OrphanClass.UNISSUED})
"""What bears our own tags, and can only be adopted or removed by a person."""
_UNISSUED = frozenset({OrphanClass.UNISSUED})
"""What is left to a person of these where the program reclaims by itself."""


class Operator:
    """Writes requests into the stores, as frontends do; never acts on machines."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def run(self) -> None:
        """Act as drawn."""
        for action in self._session.scenario.actions:
            await asyncio.sleep(max(0.0, action.at - self._session.loop.time()))
            homes = [home for home in self._session.homes if not home.shadow.lost]
            ask = self._ask_of_host if action.kind in _OF_HOSTS else self._ask
            await ask(homes[action.home % len(homes)], action)

    async def _ask(self, home: Home, action: OperatorAction) -> None:
        living = sorted(home.shadow.living(), key=lambda m: m.serial)
        chosen = living[int(action.which * len(living))].id if living else None
        length = timedelta(seconds=action.length)
        asked = home.fleets[int(action.which * 1000) % len(home.fleets)]
        if asked.removed:
            return
        fleet = asked.name
        match action.kind:
            case "scale":
                size = int(action.which * (self._session.scenario.machines + 3))
                await self.request(home, RequestKind.SCALE, fleet=fleet, size=size)
            case "pause":
                await self.request(home, RequestKind.PAUSE, fleet=fleet, length=length)
            case "resume":
                await self.request(home, RequestKind.RESUME, fleet=fleet)
            case faults.UNKNOWN_HOST:
                stranger = HostId(str(UUID(int=Random(action.which).getrandbits(128))))
                await self.request(home, RequestKind.RETIRE, fleet=fleet, host=stranger)
            case "unprotect":
                for machine in living:
                    if machine.protection is not None:
                        await self.request(home, RequestKind.UNPROTECT, machine=machine.id)
            case _ if chosen is not None:
                kind = _ABOUT.get(action.kind, RequestKind.DELETE)
                now = action.kind == "delete_now"
                await self.request(home, kind, machine=chosen, now=now, length=length)
            case _:
                pass

    async def _ask_of_host(self, home: Home, action: OperatorAction) -> None:
        """Ask something of one of the hosts that are on record."""
        known, length = sorted(home.shadow.hosts), timedelta(seconds=action.length)
        if known:
            host, kind = known[int(action.which * len(known))], _OF_HOSTS[action.kind]
            hold = HOLDS.get(action.kind)
            await self.request(home, kind, host=host, length=length, hold=hold)

    async def request(  # noqa: PLR0913 - the fields of a request, by name
        self,
        home: Home,
        kind: RequestKind,
        *,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        size: int | None = None,
        now: bool = False,
        length: timedelta | None = None,
        adopts: str = "",
        host: HostId | None = None,
        hold: HoldKind | None = None,
    ) -> None:
        """Write a request, unfenced, at the true time; without a fleet, of the machine's own."""
        known = home.shadow.machines.get(machine) if machine is not None else None
        fleet = fleet or (known.fleet if known is not None else home.fleets[0].name)
        at = BEGINNING + timedelta(seconds=self._session.loop.time())
        if machine is not None and kind is RequestKind.PROTECT and length is not None:
            home.shadow.jobs.protects(machine, (at + length - BEGINNING).total_seconds())
        if machine is not None and kind is RequestKind.UNPROTECT:
            home.shadow.jobs.releases(machine)
        source = next((b.own for b in self._session.checker.shadows if b.own == adopts), None)
        request = Request(
            number=0,
            kind=kind,
            fleet=fleet,
            at=at,
            actor=_ACTOR,
            machine=machine,
            size=size,
            until=at + length if length is not None else None,
            why="a whim",
            now=now,
            installation=source,
            host=host,
            hold=hold,
        )
        self._session.trace.note(
            f"operator asks for {kind} {hold or ''} {machine or size or host or adopts}",
            machine or "",
        )
        stored = await self._session.put_request(home, request)
        self._session.checker.asked_for(home.shadow, stored)

    async def help(self, disruptions: Disruptions) -> None:
        """Do what a person must do before a fleet can come to rest: let go, clear up, adopt."""
        for home in self._session.homes:
            if home.shadow.lost:
                continue
            await self._let_go(home)
        second = disruptions.second
        if second is not None:
            await self._send_away(second)
        await self._adopt(second)
        self._session.environment.help(self._session.checker)

    async def _let_go(self, home: Home) -> None:
        now = BEGINNING + timedelta(seconds=self._session.loop.time())
        for row in home.shadow.rows.values():
            if row.pause is not None:
                await self.request(home, RequestKind.RESUME, fleet=row.name)
        for host in list(home.shadow.hosts.values()):
            held = host.held(now)
            if held is not None and held.actor == _ACTOR:
                await self.request(home, RequestKind.LIFT, host=host.id)
        for machine in home.shadow.living():
            if machine.protection is not None:
                await self.request(home, RequestKind.UNPROTECT, machine=machine.id)
            if self._session.checker.needs_a_person(home.shadow, machine):
                await self.request(home, RequestKind.DELETE, machine=machine.id)
            idle = self._session.checker.may_rest(home.shadow, machine)
            if machine.phase is Phase.STANDBY and not idle:
                await self.request(home, RequestKind.WAKE, machine=machine.id)

    async def _send_away(self, second: Home) -> None:
        for fleet in second.fleets:
            row = second.shadow.rows.get(fleet.name)
            if row is None or row.size != 0:
                await self.request(second, RequestKind.SCALE, fleet=fleet.name, size=0)

    async def _adopt(self, second: Home | None) -> None:
        """Adopt what a lost store left, and what carries our tag without a record.

        Nothing of a lost store is for the second installation: it is being sent away.
        """
        lost = frozenset(b.own for b in self._session.checker.shadows if b.lost)
        for home in self._session.homes:
            if not home.shadow.lost:
                for fleet in home.fleets:
                    from_lost = lost if home is not second else frozenset[InstallationId]()
                    await self._adopt_for(home, fleet, from_lost)

    async def _adopt_for(self, home: Home, fleet: Fleet, lost: frozenset[InstallationId]) -> None:
        orphans = [s for s in home.shadow.orphans.values() if s.fleet == fleet.name]
        foreign = {
            s.installation
            for s in orphans
            if s.cls is OrphanClass.FOREIGN and s.installation in lost
        }
        for installation in sorted(str(i) for i in foreign):
            await self.request(home, RequestKind.ADOPT, fleet=fleet.name, adopts=installation)
        barred = any(s.cls is OrphanClass.FOREIGN for s in orphans)  # nothing is taken back then
        left_to_people = _UNISSUED if fleet.reclaim and not barred else _OURS
        row = home.shadow.rows.get(fleet.name)
        if row is not None and row.ends:
            return  # nothing is adopted into a fleet that is being deleted
        if not foreign and any(s.cls in left_to_people for s in orphans):
            await self.request(home, RequestKind.ADOPT, fleet=fleet.name)
