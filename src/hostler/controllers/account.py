"""Account: its loop: observe when it is due, run a cycle for each fleet, start the work."""

import asyncio
import itertools
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from hostler.domain.errors import Conflict, Fenced, StoreBusy, StoreError, StoreUnusable
from hostler.domain.ids import CycleId, FleetName
from hostler.domain.model.capabilities import HostCapabilities
from hostler.domain.model.commands import Advance, Reclaim
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Resource, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.certainty import resources_of
from hostler.ports.metrics import Count
from hostler.ports.provider import Connection
from hostler.ports.store import Identity

from .cycle import Reconciled, Reconciler
from .execute.bootstrap import Outfitter
from .execute.evidence import EvidenceMaker
from .execute.machine_calls import MachinePursuit
from .execute.orders import Buyer
from .execute.probes import Probes
from .execute.reclaim import Reclaimer
from .execute.sending import Sender
from .execute.subject_calls import Caller, Work, not_saved
from .host_cycle import HostReconciler
from .observe.observer import Observer
from .observe.proofs import still_asked
from .observe.snapshot import Occasion
from .renames import FleetRenames
from .runtime.fleets import FleetChanges
from .runtime.leases import Leases, Tenure
from .runtime.measurements import forget_account, forget_host_needs
from .runtime.rate_limit import Budget
from .runtime.settings import Account, Ports, Settings
from .runtime.state import AccountState, Steadiness
from .runtime.waiting import until

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.loop")


_ROUNDS_APART = timedelta(milliseconds=250)
_AT_ONCE = 3
"""So many rounds may follow one another at once: machines are made, get their hosts, and begin.

Only where power is ours to decide: elsewhere a call takes longer than the pause.
"""


@dataclass(slots=True)
class _Round:
    """What the cycles of one round came to: what they wait for, and how some failed."""

    expecting: bool
    goes_on: bool = False
    due: list[datetime] = field(default_factory=list[datetime])
    asked: list[Scope] = field(default_factory=list[Scope])
    failed: list[Exception] = field(default_factory=list[Exception])


async def _raised(error: Exception) -> None:
    raise error


class AccountLoop:
    """Observes one account, at a cadence that follows what is expected, and acts on it."""

    def __init__(
        self,
        account: Account,
        ports: Ports,
        leases: Leases,
        settings: Settings,
        holder: str,
    ) -> None:
        self.state = AccountState(account)
        self.budget = Budget(account.rate, account.burst)
        self._ports = ports
        self._leases, self._settings, self._holder = leases, settings, holder
        self._steadiness = Steadiness(ports.clock, settings.jump)
        self._reconciler = Reconciler(ports, self.state, self._steadiness, settings.quiet)
        sender, self._evidence = (
            Sender(ports, self.state, self.budget),
            EvidenceMaker(ports, self.state, leases),
        )
        self._caller = Caller(sender, ports.clock)
        self._reclaimer = Reclaimer(ports, self.state, self.budget, sender, self._evidence)
        self._hosts = HostReconciler(
            ports, self.state, self._caller, self._evidence, self._steadiness
        )
        self._buyer = Buyer(ports, self.state, sender, self._evidence)
        self._outfitter = Outfitter(ports, self.state, leases)
        self._probes = Probes(ports, self.state, self._outfitter)
        self._observer = Observer(ports, self.state, self.budget, settings)
        self.fleets = FleetChanges(ports, self.state)
        self._renames = FleetRenames(ports, self.state, leases, self.fleets)
        self._nudged = asyncio.Event()
        self._conflicts = 0
        self._at_once = 0
        self._hurried = asyncio.Event()
        self._cycles = itertools.count(1)

    @property
    def _account(self) -> Account:
        return self.state.account

    @property
    def lease(self) -> str:
        """The name of the lease under which this account is observed."""
        return f"account/{self._account.name}"

    @property
    def main(self) -> str:
        """The kind of resource that must be up."""
        return self._account.provider.capabilities.main.kind

    @property
    def host_kind(self) -> str:
        """The kind of resource that outlives machines, where there is one."""
        return self._account.provider.capabilities.host_kind

    @property
    def hosts(self) -> HostCapabilities | None:
        """What is true of the account's hosts; None where its machines have none."""
        return self._account.provider.capabilities.hosts

    @property
    def rests(self) -> bool:
        """Whether machines of this account can be kept in standby."""
        return self._account.provider.capabilities.standby

    def connection(self, machine: Machine) -> Connection | None:
        """Return how to reach a machine, by the newest observations; None while unknown.

        What they lack is reached where it was seen last: until it is proved gone, that is doubt.
        """
        seen, unseen = self._resources(machine), self.state.unseen
        known = seen + tuple(unseen[i] for i in machine.ids() if i in unseen)
        return self._account.provider.connection(machine, known)

    def provider_id(self, machine: Machine) -> str | None:
        """Return the providerID of a machine's Kubernetes node; None while unknown."""
        return self._account.provider.provider_id(machine, self._resources(machine))

    def leads(self, fleet: FleetName) -> bool:
        """Tell whether this process holds the fleet's lease."""
        return self._leases.tenure(f"fleet/{fleet}") is not None

    def _resources(self, machine: Machine) -> tuple[Resource, ...]:
        """Return what the newest observations show of a machine."""
        sightings = self.state.inventory.sightings
        return tuple(sightings[i].resource for i in machine.ids() if i in sightings)

    async def keep_leases(self) -> None:
        """Hold the account's lease, and then those of its fleets; until then, watch them."""
        fleets = tuple(f"fleet/{fleet.name}" for fleet in self._account.fleets)
        if self._leases.tenure(self.lease) is None:
            await self._leases.keep((self.lease,), watched=fleets)
            self.state.distrust()  # somebody else may have written until now,
            self.state.forget_observations()  # and have seen what came after our last look
            self._forget_measurements()
        if self._leases.tenure(self.lease) is not None:
            await self._leases.keep((self.lease, *fleets))

    async def look_on(self) -> None:
        """Watch the leases, and keep none: another process is to have them."""
        await self._leases.look_on()
        self._forget_measurements()

    def _forget_measurements(self) -> None:
        """Have nothing here tell of what another process measures, nor grow older.

        Not where the store does not answer: nobody may lead then, and that all grows old is told.
        """
        if self._leases.tenure(self.lease) is not None:
            return
        forget_account(self._ports.metrics, self._account.name)
        self._hosts.recount()
        for fleet in self._account.fleets:
            forget_host_needs(self._ports.metrics, fleet.name)

    def nudge(self) -> None:
        """Observe now: something changed, or may have."""
        self.state.pace = timedelta(0)
        self._nudged.set()
        self._hurried.set()

    def hurry(self) -> None:
        """Something is under way: observe again as soon as the busy cadence begins."""
        self.state.pace = timedelta(0)
        soon = self._ports.clock.now() + self._settings.busy_first
        if self.state.due is None or self.state.due > soon:
            self.state.due = soon
            self._hurried.set()

    async def run(self) -> None:
        """Go round until cancelled. One round's failure is logged, and never ends the loop."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._until_due()
                if self._leases.tenure(self.lease) is not None:
                    # A round that fails sets no pace of its own.
                    self.state.due = self._ports.clock.now() + self._settings.busy_first
                    await self._guard("turn", self._round_or_refusal(group))

    async def _round_or_refusal(self, group: asyncio.TaskGroup) -> None:
        try:
            await self.round(group)
        except Fenced as error:
            log.warning("another engine took over", account=self._account.name, why=str(error))
            self.state.distrust()
        except Conflict as error:
            self.state.distrust()
            self._conflicts += 1
            if self._conflicts > 1:  # what was read again did not help: at the usual pace, then
                log.warning("records conflict", account=self._account.name, why=str(error))
                return
            self.nudge()
        else:
            self._conflicts = 0

    async def _guard(self, where: str, work: Awaitable[None]) -> None:
        """Let one piece of work fail alone: the edge of the loop, where anything is caught."""
        try:
            await work
        except StoreUnusable:
            raise
        except StoreError as error:
            log.warning("the store refused", where=where, error=str(error))
            self.state.distrust()
        except Exception:
            log.exception("this is a bug in hostler; the loop goes on", where=where)
            self._ports.metrics.count(Count.BUGS, where)
            self.state.distrust()

    async def round(self, group: asyncio.TaskGroup) -> None:
        """Look at what is due, then take one turn for each fleet that we hold.

        The account's fleets are the same from end to end: they change between rounds only.
        """
        async with self.fleets.cycle:
            await self._round(group)

    async def _round(self, group: asyncio.TaskGroup) -> None:
        self._check_clock()
        failing = self._observer.failing
        await self._observer.observe()
        if self._observer.failing - failing:  # what just failed is tried again soon
            self.state.pace = timedelta(0)
        if self._check_clock():
            self.nudge()
            return
        identity = await self._ports.store.identity()
        found = _Round(expecting=await self._renames.carry_on(self._cycle_id()))
        for fleet in self.fleets.decided():
            await self._apart(self._decide(fleet, identity, group, found), found)
        if (own := self._leases.tenure(self.lease)) is not None:
            hosts_cycle = Occasion(cycle=self._cycle_id(), tenure=own, identity=identity)
            busy = await self._hosts.reconcile(hosts_cycle, group, self._guard)
            found.expecting = found.expecting or busy
        doubtful = self.state.doubtful(self._ports.clock.now()) is not None
        self.state.has_observed = True
        self.state.forget_gone()
        self.state.asked = still_asked(self.state.asked, found.asked, self.state.inventory.missing)
        await self._raise(found.failed)
        expecting = found.expecting or doubtful or bool(self._observer.failing)
        self._set_pace(expecting=expecting, due=min(found.due, default=None))
        if found.goes_on and self._account.provider.capabilities.power is not None:
            self._at_once += 1
            self.nudge()
        else:
            self._at_once = 0

    async def _raise(self, failed: list[Exception]) -> None:
        """Tell how the cycles of this round failed; a conflict, or the last one, ends it."""
        failed.sort(key=lambda error: isinstance(error, Conflict))
        for error in failed[:-1]:
            await self._guard("turn", _raised(error))
        for error in failed[-1:]:
            raise error

    async def _apart(self, cycle: Awaitable[None], found: "_Round") -> None:
        """Take one fleet's cycle: what fails in it ends the round only after those of the others.

        They all stop where the store answers nobody, or another engine took over.
        """
        try:
            await cycle
        except (Fenced, StoreBusy, StoreUnusable):
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again, at the end of the round
            found.failed.append(error)
            found.expecting = True
            self.state.distrust()

    async def _decide(
        self, fleet: Fleet, identity: Identity, group: asyncio.TaskGroup, found: "_Round"
    ) -> None:
        """Take one fleet's cycle, if we may, and start its work."""
        if fleet.name in self.state.adopted():  # since this round began
            self.nudge()
            return
        tenure = self._leases.tenure(f"fleet/{fleet.name}")
        if tenure is None:
            found.expecting = True
            return
        occasion = Occasion(
            cycle=self._cycle_id(), tenure=tenure, identity=identity, fleets=(fleet,)
        )
        reconciled = await self._reconciler.reconcile(fleet, occasion)
        self._start(reconciled, tenure, group)
        found.asked += (scope for advance in reconciled.advances for scope in advance.close)
        found.expecting = found.expecting or reconciled.decision.expecting
        if reconciled.made:
            self.nudge()
        found.goes_on = found.goes_on or reconciled.goes_on
        found.due += [reconciled.decision.due] if reconciled.decision.due else []

    def _check_clock(self) -> bool:
        """Tell whether the clock jumped; then what was seen before it is forgotten."""
        if not self._steadiness.check():
            return False
        log.warning("the clock jumped", account=self._account.name)
        self.state.forget_observations()
        return True

    def _cycle_id(self) -> CycleId:
        return CycleId(f"{self._holder}-{next(self._cycles)}")

    def _start(self, reconciled: Reconciled, tenure: Tenure, group: asyncio.TaskGroup) -> None:
        """Give each machine that needs work a task of its own; the next turn skips it."""
        name = reconciled.snapshot.fleet.name

        def begin(where: str, work: Awaitable[None]) -> None:
            self.fleets.in_flight.add(name, group.create_task(self._guard(where, work)))

        for advance in reconciled.advances:
            if advance.probe and advance.machine.id not in self.state.probing:
                self.state.probing.add(advance.machine.id)
                probe = self._probe(advance, reconciled.snapshot, tenure)
                begin("probe", probe)
            if advance.ask and advance.machine.id not in self.state.asking:
                self.state.asking.add(advance.machine.id)
                begin("ask", self._ask(advance, reconciled.snapshot))
            if advance.goal is not None:
                self.state.moving.add(advance.machine.id)
                work = self._advance(advance, advance.goal, reconciled.snapshot, tenure)
                begin("advance", work)
        if reconciled.order is not None:
            bought = self._buyer.order(reconciled.order, reconciled.snapshot, tenure)
            begin("order", bought)
        for command in reconciled.reclaims:
            if command.placeholder.id not in self.state.moving:
                self.state.moving.add(command.placeholder.id)
                reclaim = self._reclaim(command, reconciled.snapshot, tenure)
                begin("sweep", reclaim)

    async def _advance(
        self, advance: Advance, goal: Goal, snapshot: Snapshot, tenure: Tenure
    ) -> None:
        machine = advance.machine
        try:
            work = Work(machine, resources_of(machine, snapshot), snapshot.cycle, tenure)
            pursuit = MachinePursuit(goal, snapshot, self._ports, self.state, self._evidence)
            if await self._caller.advance(work, pursuit):
                self.hurry()
        except StoreUnusable:
            raise
        except StoreError as error:
            not_saved(error, machine=machine.id, cycle=snapshot.cycle)
            self.state.stale.add(machine.fleet)
        finally:
            self.state.moving.discard(machine.id)

    async def _reclaim(self, command: Reclaim, snapshot: Snapshot, tenure: Tenure) -> None:
        try:
            await self._reclaimer.reclaim(command, snapshot, tenure)
        finally:
            self.state.moving.discard(command.placeholder.id)
            self.hurry()

    async def _probe(self, advance: Advance, snapshot: Snapshot, tenure: Tenure) -> None:
        if await self._probes.probe(advance.machine, snapshot, tenure):
            self.nudge()

    async def _ask(self, advance: Advance, snapshot: Snapshot) -> None:
        """Ask a machine's host whether it is busy."""
        try:
            await self._outfitter.ask(advance.machine, snapshot)
        finally:
            self.state.asking.discard(advance.machine.id)
        self.nudge()

    def _set_pace(self, *, expecting: bool, due: datetime | None) -> None:
        """Grow the pause from 2 s to 15 s while something is expected; 30 s when all is quiet."""
        settings = self._settings
        if not expecting and not self.state.moving:
            pace = self._quiet
        elif self.state.pace in {timedelta(0), self._quiet}:
            pace = settings.busy_first
        else:
            pace = min(self.state.pace * 1.5, settings.busy_last)
        self.state.pace = pace
        now = self._ports.clock.now()
        wake = now + pace
        self.state.due = min(wake, due) if due is not None and due > now else wake
        if (pause := self._observer.pause) is not None:
            self.state.due = min(self.state.due, now + pause)

    @property
    def _quiet(self) -> timedelta:
        """The pause between two observations when nothing is expected."""
        return self.state.quiet(self._settings.quiet)

    async def _until_due(self) -> None:
        """Wait for cadence, nudge or lease.

        Rounds are at least a quarter second apart, but for those few that go on with what the last
        one made.
        """
        leading = self._leases.tenure(self.lease) is not None
        if not leading:
            await self._ports.clock.sleep(self._settings.standby)
        elif not 0 < self._at_once < _AT_ONCE:
            await self._ports.clock.sleep(_ROUNDS_APART)
            self._at_once = 0
        if self.state.due is None or self._leases.tenure(self.lease) is None:
            self._nudged.clear()
            return
        # Whatever the wall clock says, no pause is longer than the quiet one.
        last = self._ports.clock.boot() + self._quiet.total_seconds()
        while not self._nudged.is_set():
            longest = timedelta(seconds=last - self._ports.clock.boot())
            left = min(self.state.due - self._ports.clock.now(), longest)
            if left <= timedelta(0):
                break
            await self._wait(left)
        self._nudged.clear()

    async def _wait(self, time: timedelta) -> None:
        """Wait this long, or until something makes the next round due earlier."""
        self._hurried.clear()
        await until(self._hurried, time)
