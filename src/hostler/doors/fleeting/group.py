"""EngineGroup: the calls of a runner, answered from the records of an engine in this process."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from hostler.controllers.account_loop import AccountLoop
from hostler.domain.errors import StoreError, StoreLost
from hostler.domain.fleet import FleetRow, ProbeKind
from hostler.domain.ids import MachineId, is_machine_id
from hostler.domain.machine import Machine
from hostler.domain.phases import Goal, Phase
from hostler.domain.seen import Wish, WishKind
from hostler.ports.provider import Connection

from .admission import Standing, admit
from .logical import ConnectInfo, Connector, Instance, ProviderInfo, Refused, State
from .opened import Opened, Opener
from .report import Report
from .states import Aspect, aspect
from .threaded import Spawn

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

ACTOR = "gitlab-runner"
_FIRST_LOOK = timedelta(seconds=8)
_STEP = timedelta(milliseconds=50)
_AGAIN = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=30))
_OLD_LOOK = timedelta(minutes=10)

_ENDS = frozenset({Phase.BROKEN, Phase.WANTED})
"""What neither goes to standby nor comes back from there."""


class EngineGroup:
    """One group. `spawn` starts the engine's task (a TaskGroup's `create_task`)."""

    def __init__(self, opener: Opener, spawn: Spawn) -> None:
        self._opener, self._spawn = opener, spawn
        self._open: Opened | None = None
        self._connector = Connector()
        self._stored: tuple[Machine, ...] = ()
        self._row: FleetRow | None = None
        self._named = dict[MachineId, int]()
        self._ended = set[MachineId]()
        self._report: Report | None = None
        self._running: asyncio.Task[None] | None = None
        self._lost = ""

    # ------------------------------------------------------------ begin and end

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Open the group, read what is on record, and start the engine."""
        if self._open is not None:
            raise Refused("Init was called before: one plugin process serves one group")
        opened = await self._opener.open(config, connector)
        try:
            await self._read(opened)
        except StoreError as error:
            await opened.close(1)
            raise Refused(f"the group's records cannot be read: {error}") from error
        self._open, self._connector = opened, connector
        self._report = Report(opened.fleet, states)
        self._running = self._spawn(self._keep_running(opened))
        fleet = opened.fleet
        for note in opened.notes:
            log.info("note", group=fleet.name, note=note)
        log.info("group opened", group=fleet.name, machines=len(self._stored), states=len(states))
        return ProviderInfo(
            id=f"hostler/{fleet.name}",
            max_size=fleet.most(0),
            version=opened.version,
            build_info=f"hostler {opened.version}",
            capabilities=("suspend_resume",) if self._suspends(opened, states) else (),
        )

    async def _read(self, opened: Opened) -> None:
        """Read the records, and the wishes that nobody granted yet; wish to adopt what is named."""
        store, fleet = opened.ports.store, opened.fleet
        row = FleetRow(name=fleet.name, created=opened.ports.clock.now())
        self._row = await store.add_fleet(row)
        self._stored = await store.machines(fleet.name)
        for wish in await store.wishes():
            if wish.kind is WishKind.GROW and wish.number > self._row.grown:
                self._named |= dict.fromkeys(wish.machines, wish.number)
        ours = (await store.identity()).ours
        for installation in opened.adopt:
            if installation not in ours:
                adopt = replace(_wish(opened, WishKind.ADOPT), installation=installation)
                await store.wish(adopt)

    async def _keep_running(self, opened: Opened) -> None:
        """Run the engine, again and again: a runner does not start a plugin that has ended."""
        tries = 0
        while not self._lost:
            try:
                await opened.engine.run()
            except* StoreLost as lost:
                self._lost = f"the group's records are gone: {lost.exceptions[0]}"
                log.exception("engine stopped", group=opened.fleet.name, why=self._lost)
            except* Exception:
                log.exception("this is a bug in hostler; the engine starts again")
            await opened.ports.clock.sleep(_AGAIN[min(tries, len(_AGAIN) - 1)])
            tries += 1

    async def shutdown(self) -> None:
        """Stop the engine; instances stay as they are."""
        opened, self._open = self._open, None
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))
            self._running = None
        if opened is not None:
            await opened.close(len(self._machines(opened)) + len(self._named))

    # ------------------------------------------------------------ what is

    async def update(self) -> Sequence[Instance]:
        """Return every instance."""
        return self.report()

    def report(self) -> Sequence[Instance]:
        """Return every instance, now; callable from another thread than the engine's."""
        opened, report = self._opened(), self._report
        if self._lost or report is None:
            raise Refused(self._lost)
        machines = self._machines(opened)
        self._forget_named(opened, machines)
        return report.instances(machines, tuple(self._named), opened.ports.clock.now())

    def _machines(self, opened: Opened) -> tuple[Machine, ...]:
        """Return the living records: those of the engine once it has read them, else the store's.

        One reading of a dict, so that another thread may ask while the engine writes.
        """
        state = self._loop(opened).state
        if opened.fleet.name not in state.machines:
            return self._stored
        return tuple(state.machines[opened.fleet.name].values())

    def _forget_named(self, opened: Opened, machines: Sequence[Machine]) -> None:
        """Forget names whose wish was granted: from then on the records tell of them."""
        if not self._named:
            return
        row, known = self._newest_row(opened), {machine.id for machine in machines}
        for name, number in tuple(self._named.items()):
            if name in known or number <= row.grown:
                self._named.pop(name, None)

    def _newest_row(self, opened: Opened) -> FleetRow:
        row = self._loop(opened).state.rows.get(opened.fleet.name) or self._row
        if row is None:
            raise Refused("the group's records were not read yet")
        return row

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Return addresses and credentials of a machine that is up."""
        opened = self._opened()
        machine = self._one(opened, instance)
        reach = await self._reach(opened, machine)
        asked, static = self._connector, self._connector.use_static_credentials
        connector = replace(
            asked,
            os=asked.os or opened.os,
            arch=asked.arch or reach.arch,
            protocol=asked.protocol or "ssh",
            protocol_port=asked.protocol_port or reach.port,
            username=asked.username or ("" if static else reach.user or opened.user),
            key=asked.key or (b"" if static else opened.key),
        )
        external = "" if reach.address == reach.internal else reach.address
        return ConnectInfo(
            id=machine.id, connector=connector, external=external, internal=reach.internal
        )

    async def _reach(self, opened: Opened, machine: Machine) -> Connection:
        """Return where the machine is; right after a start, wait for the first look."""
        clock, loop = opened.ports.clock, self._loop(opened)
        last = clock.boot() + _FIRST_LOOK.total_seconds()
        while True:
            reach = loop.connection(machine)
            if reach is not None:
                return reach
            if loop.state.looked_once or clock.boot() >= last:
                told = machine.observed or "not seen yet"
                raise Refused(f"{machine.id} has no address now: it is {machine.phase} ({told})")
            await clock.sleep(_STEP)

    async def heartbeat(self, instance: str) -> None:
        """Return if the newest look and the probe find the machine well."""
        opened = self._opened()
        machine = self._one(opened, instance)
        now = opened.ports.clock.now()
        if machine.phase not in {Phase.READY, Phase.DRAINING}:
            raise Refused(f"{machine.id} is {machine.phase}: {machine.reason}")
        if machine.doubt is not None and aspect(machine, opened.fleet, now) is Aspect.DOWN:
            raise Refused(f"{machine.id} is not up: {machine.doubt.what}")
        probe = opened.fleet.probe
        if probe.kind is ProbeKind.API:
            self._looked_lately(opened, machine, now)
            return
        reach = await self._reach(opened, machine)
        passed, text = await opened.ports.prober.probe(machine.id, reach, probe)
        if not passed:
            raise Refused(f"{machine.id} does not answer: {text}")

    def _looked_lately(self, opened: Opened, machine: Machine, now: datetime) -> None:
        loop = self._loop(opened)
        seen = loop.state.view.covered(machine.offer.zone, loop.main, machine.id)
        if seen is None or now - seen > _OLD_LOOK:
            raise Refused(f"{machine.id} was not looked at for {_OLD_LOOK}: nothing is known of it")

    # ------------------------------------------------------------ what is asked

    async def increase(self, count: int) -> int:
        """Name new machines in one durable wish; the engine makes them."""
        opened = self._opened()
        if count <= 0:
            return 0
        if self._lost:
            raise Refused(self._lost)
        admitted = admit(count, self._standing(opened))
        if admitted.count < count:
            log.warning("not all accepted", asked=count, accepted=admitted.count, why=admitted.why)
        if admitted.count == 0:
            raise Refused(f"none of {count} can be made now: {admitted.why}")
        names = tuple(opened.ports.fresh() for _ in range(admitted.count))
        await self._grow(opened, names)
        return len(names)

    def _standing(self, opened: Opened) -> Standing:
        machines, state = self._machines(opened), self._loop(opened).state
        self._forget_named(opened, machines)
        return Standing(
            fleet=opened.fleet,
            row=self._newest_row(opened),
            machines=machines,
            named=len(self._named),
            world=state.world.get(opened.fleet.name, ""),
            now=opened.ports.clock.now(),
        )

    async def _grow(self, opened: Opened, names: tuple[MachineId, ...]) -> None:
        """Write the wish; until an answer to that is known, the names count as wished."""
        self._named |= dict.fromkeys(names, 1 << 62)
        wish = replace(_wish(opened, WishKind.GROW), machines=names)
        try:
            kept = await opened.ports.store.wish(wish)
        except StoreError as error:
            for name in names:
                self._named.pop(name, None)
            raise Refused(f"nothing was recorded, so nothing is made: {error}") from error
        self._named |= {name: kept.number for name in names if name in self._named}
        opened.engine.hear()

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Wish the end of each; what is gone, or was never ours, has ended."""
        opened = self._opened()
        machines = {machine.id: machine for machine in self._machines(opened)}
        self._ended &= machines.keys() | self._named.keys()
        answers = await asyncio.gather(
            *(self._end(opened, name, machines.get(MachineId(name))) for name in ids)
        )
        opened.engine.hear()
        return [name for name, accepted in zip(ids, answers, strict=True) if accepted]

    async def _end(self, opened: Opened, name: str, machine: Machine | None) -> bool:
        """Wish the end of one machine; tell whether it will go, or has gone."""
        own = MachineId(name)
        if machine is not None and machine.held(opened.ports.clock.now()):
            log.warning("not ended: somebody holds it", machine=name)
            return False
        going = machine is None and own not in self._named
        if going or own in self._ended or (machine is not None and machine.ending is not None):
            return True
        if self._lost or not is_machine_id(name):
            return False
        wish = replace(_wish(opened, WishKind.END), machine=own, now=True, why="Decrease")
        try:
            await opened.ports.store.wish(wish)
        except StoreError as error:
            log.warning("not ended", machine=name, why=str(error))
            return False
        self._ended.add(own)
        return True

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Wish that those which are up go to standby."""
        return await self._stand_by(WishKind.REST, ids, Phase.READY, Goal.RESTING)

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Wish that those which stand by come back."""
        return await self._stand_by(WishKind.WAKE, ids, Phase.RESTING, Goal.PRESENT)

    async def _stand_by(
        self, kind: WishKind, ids: Sequence[str], begins: Phase, goal: Goal
    ) -> Sequence[str]:
        """Wish it of each that can; what is on its way there, or arrived, is accepted too."""
        opened = self._opened()
        if not self._loop(opened).rests:
            raise Refused("this group's provider keeps no machine in standby")
        accepted = list[str]()
        for machine in self._machines(opened):
            if machine.id not in ids or machine.ending is not None:
                continue
            if machine.goal is goal and machine.phase not in _ENDS:
                accepted.append(machine.id)
            elif machine.phase is begins:
                await opened.ports.store.wish(replace(_wish(opened, kind), machine=machine.id))
                accepted.append(machine.id)
        opened.engine.hear()
        return [name for name in ids if name in accepted]

    def _suspends(self, opened: Opened, states: frozenset[State]) -> bool:
        return State.SUSPENDED in states and self._loop(opened).rests

    # ------------------------------------------------------------ inside

    def _opened(self) -> Opened:
        if self._open is None:
            raise Refused("the group is not open: Init was not called, or it failed")
        return self._open

    def _loop(self, opened: Opened) -> AccountLoop:
        return opened.engine.loops[0]

    def _one(self, opened: Opened, instance: str) -> Machine:
        for machine in self._machines(opened):
            if machine.id == instance:
                return machine
        if MachineId(instance) in self._named:
            raise Refused(f"{instance} is recorded, and not begun yet")
        raise Refused(f"there is no instance {instance[:80]!r} in this group")


def _wish(opened: Opened, kind: WishKind) -> Wish:
    return Wish(
        number=0, kind=kind, fleet=opened.fleet.name, at=opened.ports.clock.now(), actor=ACTOR
    )
