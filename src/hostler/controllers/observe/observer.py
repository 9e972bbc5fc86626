"""Observer: observes one account, as far as that is due, and tells of scopes that fail."""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog
from msgspec.structs import replace

from hostler.controllers.runtime.measurements import measure_age
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.controllers.runtime.state import AccountState
from hostler.domain.errors import first_of
from hostler.domain.ids import AccountName, ResourceId, Zone
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import Known, Machine
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Observation, ObservedScope, Scope, joined
from hostler.ports.metrics import Count, Gauge, Metrics

from .account_observation import observe_account
from .due import Load, due_scopes, is_moving, is_unfinished, requests_for, zones_of
from .proofs import batch_of

_TOGETHER = 20
"""How many focused observations the rate limit is asked for at once, and then sent together."""

_LULL = timedelta(seconds=15)
"""How long after calls last waited for the rate machines count that are not switched on yet.

One call in some thousands takes as long.
"""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.loop")


class Observer:
    """Observes one account, within its rate limit, and keeps its newest inventory."""

    def __init__(
        self,
        ports: Ports,
        state: AccountState,
        budget: Budget,
        settings: Settings,
    ) -> None:
        self._ports, self._state = ports, state
        self._budget, self._settings = budget, settings
        self._lag = LagWatch(self._account.name, self._account.provider.capabilities, ports.metrics)
        self._failing = set[tuple[Zone, str]]()
        self._in_vain = False

    @property
    def _account(self) -> Account:
        return self._state.account

    async def observe(self) -> None:
        """Observe what is due now, if anything is; nothing is concluded from what failed.

        Then what the last decisions asked for, as much of it as the account's rate allows in the
        time between two observations; the rest stays asked for.
        """
        due, provider = self._due(), self._account.provider
        if due:
            cost = requests_for(provider, due, self._state.inventory)
            await self._budget.take(Priority.OBSERVE, cost)
            self._learn(await observe_account(self._ports, self._state, due))
        batch = batch_of(self._state.asked, due, provider, self._affordable)
        if batch.now:
            observation = await self._ask(batch.now)
            self._learn(observation)
            failed = sum(not observed.complete for observed in observation.observed)
            self._in_vain = 2 * failed > len(observation.observed)
        self._state.asked = batch.later

    @property
    def failing(self) -> frozenset[tuple[Zone, str]]:
        """The listings that failed, by zone and kind, and that no later one has made good."""
        return frozenset(self._failing)

    @property
    def pause(self) -> timedelta | None:
        """How long what is asked for may wait; None where nothing is, or no answer comes.

        Where most of the last answers failed, the usual cadence is often enough.
        """
        if not self._state.asked or self._in_vain:
            return None
        batch = batch_of(self._state.asked, (), self._account.provider, self._affordable)
        return timedelta(0) if batch.later else self._settings.busy_first

    @property
    def _affordable(self) -> float:
        return self._account.rate * self._settings.busy_first.total_seconds()

    async def _ask(self, scopes: tuple[Scope, ...]) -> Observation:
        """Ask for these side by side, as the rate limit lets them go; hosts all together."""
        provider = self._account.provider
        size = len(scopes) if provider.capabilities.hosts else _TOGETHER
        tasks = list[asyncio.Task[Observation]]()
        try:
            async with asyncio.TaskGroup() as group:
                for first in range(0, len(scopes), size):
                    some = scopes[first : first + size]
                    cost = requests_for(provider, some, self._state.inventory)
                    await self._budget.take(Priority.PROVE, cost)
                    tasks.append(group.create_task(observe_account(self._ports, self._state, some)))
        except BaseExceptionGroup as failed:  # a store that is busy is no bug, whoever asked it
            raise first_of(failed) from None
        return joined(task.result() for task in tasks)

    def _learn(self, observation: Observation) -> None:
        """Merge an observation into the inventory, and tell what was strange about it."""
        for word in observation.strange:
            self._ports.metrics.count(Count.UNKNOWN_STATUSES, self._account.name, word[:64])
            log.warning("unknown status: nothing is concluded from it", word=word)
        for observed in observation.observed:
            self._tell(observed)
        self._state.learn(observation)
        for fleet in self._account.fleets:
            records = self._state.machines.get(fleet.name, {})
            self._lag.watch(filter(is_moving, records.values()), self._state.inventory)
        self._lag.forget_old(self._state.inventory)
        whole = self._state.inventory.whole.values()
        if whole:
            age = self._ports.clock.now() - min(whole)
            measure_age(self._ports.metrics, self._account.name, age)

    def _tell(self, observed: ObservedScope) -> None:
        """Warn of a listing that failed; a whole zone's that goes on failing is no news."""
        scope = observed.scope
        listing = (scope.zone, scope.kind)
        known = scope.machine is None and listing in self._failing
        if observed.complete:
            if known:
                self._failing.discard(listing)
                log.info("observation complete again", zone=scope.zone, kind=scope.kind)
            return
        self._ports.metrics.count(
            Count.OBSERVATIONS_FAILED, self._account.name, scope.zone, scope.kind
        )
        if scope.machine is None:
            self._failing.add(listing)
        (log.debug if known else log.warning)(
            "observation incomplete",
            zone=scope.zone,
            kind=scope.kind,
            machine=scope.machine,
            error=observed.error,
        )

    def _believed(self, now: datetime) -> Inventory:
        """Return the inventory; without those listings where something waits for newer ones.

        An adoption waits for all of them; what is asked of a host for the hosts', where what was
        seen before speaks against it; and an orphan that one listing lacked for one more.
        """
        inventory, since = self._state.inventory, self._state.adoption(now)
        hosts, lacking = self._state.doubtful(now), self._state.lacking(now)
        kind = self._account.provider.capabilities.host_kind

        def is_new(listed: tuple[Zone, str], at: datetime) -> bool:
            doubted = hosts is not None and listed[1] == kind and at <= hosts
            newer = max(filter(None, (since, lacking.get(listed))), default=at)
            return not doubted and at >= newer

        whole = {key: at for key, at in inventory.whole.items() if is_new(key, at)}
        return inventory if len(whole) == len(inventory.whole) else replace(inventory, whole=whole)

    def _due(self) -> tuple[Scope, ...]:
        provider = self._account.provider
        fleets = (tuple(o.zone for o in fleet.offers) for fleet in self._account.fleets)
        machines = {f.name: self._state.living(f.name) for f in self._account.fleets}
        lived = tuple({m.offer.zone for ms in machines.values() for m in ms})
        limits = (fleet.timers.observation_limit for fleet in self._account.fleets)
        suspected, recorded = self._state.suspected(), self._state.host_records.zones()
        now = self._ports.clock.now()
        return due_scopes(
            provider=provider,
            zones=zones_of(
                provider.capabilities, (*fleets, lived, suspected, recorded), self._state.inventory
            ),
            machines=machines,
            inventory=self._believed(now),
            now=now,
            settings=replace(self._settings, quiet=self._state.quiet(self._settings.quiet)),
            load=Load(
                rate=self._account.rate,
                crowded=self._is_crowded(),
                limit=min(limits, default=None),
            ),
        )

    def _is_crowded(self) -> bool:
        """Tell whether listings should leave the rate to others: to makers, or to proofs.

        Also while the last machines are between two calls: a listing of everything would go first.
        """
        more = batch_of(self._state.asked, (), self._account.provider, self._affordable).later
        if self._budget.is_crowded() or more:
            return True
        fleets = (fleet.name for fleet in self._account.fleets)
        return self._budget.is_crowded(_LULL) and any(
            is_unfinished(machine) for name in fleets for machine in self._state.living(name)
        )


_YOUNG = 3
"""How many consistency delays old a promise may be: later it is a loss, not a lag."""


class LagWatch:
    """Compares definite answers with the observations that follow them.

    A resource that an answer promised and a later observation lacked is remembered until an
    observation shows it; a resource that an answer removed and a later observation still shows is
    measured at once.
    """

    def __init__(self, account: AccountName, capabilities: Capabilities, metrics: Metrics) -> None:
        self._account, self._metrics = account, metrics
        self._consistency_delay = capabilities.consistency_delay
        self._promised = dict[ResourceId, datetime]()
        self._observed_at = dict[ResourceId, datetime]()

    def watch(self, machines: Iterable[Machine], inventory: Inventory) -> None:
        """Measure after an observation; machines that nothing was asked of cost little."""
        for machine in machines:
            for place in machine.places:
                for known in place.known:
                    self._measure(machine, place.slot.kind, known, inventory)

    def forget_old(self, inventory: Inventory) -> None:
        """Forget what was seen and is too old to be missed: twice as old, as zones take turns."""
        newest = max(inventory.whole.values(), default=None)
        if newest is None:
            return
        oldest = newest - 2 * _YOUNG * self._consistency_delay
        self._observed_at = {
            resource: since for resource, since in self._observed_at.items() if since > oldest
        }

    def _measure(self, machine: Machine, kind: str, known: Known, inventory: Inventory) -> None:
        sighting = inventory.sightings.get(known.id)
        if known.removed is not None:
            if known.missing:
                return
            if sighting is not None and inventory.observed_at(sighting) > known.removed:
                self._say(f"{kind} removed", inventory.observed_at(sighting) - known.removed)
        elif sighting is not None:
            self._observed_at[known.id] = known.since
            since = self._promised.pop(known.id, None)
            if since is not None:
                self._say(f"{kind} made", inventory.observed_at(sighting) - since)
        elif known.absent is None and not known.deleted and known.id not in self._observed_at:
            covered = inventory.covered(known.zone, kind, machine.id)
            if (
                covered is not None
                and known.since < covered < known.since + _YOUNG * self._consistency_delay
            ):
                self._promised[known.id] = known.since

    def _say(self, kind: str, lag: timedelta) -> None:
        self._metrics.gauge(Gauge.CONSISTENCY_DELAY, lag.total_seconds(), self._account, kind)
        if lag > self._consistency_delay:
            log.warning(
                "an effect took longer to show than consistency_delay allows: raise it",
                kind=kind,
                seconds=round(lag.total_seconds(), 1),
                consistency_delay=self._consistency_delay.total_seconds(),
            )
