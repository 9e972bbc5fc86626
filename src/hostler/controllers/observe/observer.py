"""Observer: observes one account, as far as that is due, and tells of scopes that fail."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.controllers.runtime.state import AccountState
from hostler.domain.ids import AccountName, ResourceId
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import Known, Machine
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import ObservedScope, Scope
from hostler.ports.metrics import Count, Gauge, Metrics

from .account_observation import observe_account
from .due import Load, due_scopes, is_moving, requests_for, zones_of

_CLOSE_AT_ONCE = 20
"""How many focused observations go with one listing at most; the others wait for the next."""

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
        self._failing = set[Scope]()

    @property
    def _account(self) -> Account:
        return self._state.account

    async def observe(self) -> None:
        """Observe what is due now, if anything is; nothing is concluded from what failed."""
        scopes = self._scopes()
        if not scopes:
            return
        provider = self._account.provider
        cost = requests_for(provider, scopes, self._state.inventory)
        await self._budget.take(Priority.OBSERVE, cost)
        observation = await observe_account(self._ports, self._state, scopes)
        self._state.asked = self._state.asked[_CLOSE_AT_ONCE:]
        for word in observation.strange:
            self._ports.metrics.count(Count.UNKNOWN_STATUSES, self._account.name, word[:64])
            log.warning("unknown status: nothing is concluded from it", word=word)
        for observed in observation.observed:
            self._tell(observed)
        self._state.inventory = merge(self._state.inventory, observation)
        for fleet in self._account.fleets:
            records = self._state.machines.get(fleet.name, {})
            self._lag.watch(filter(is_moving, records.values()), self._state.inventory)
        whole = self._state.inventory.whole.values()
        if whole:
            age = (self._ports.clock.now() - min(whole)).total_seconds()
            self._ports.metrics.gauge(Gauge.OBSERVATION_AGE, age, self._account.name)

    def _tell(self, observed: ObservedScope) -> None:
        """Warn of a listing that failed; a whole zone's that goes on failing is no news."""
        scope = observed.scope
        known = scope in self._failing
        if observed.complete:
            self._failing.discard(scope)
            if known:
                log.info("observation complete again", zone=scope.zone, kind=scope.kind)
            return
        self._ports.metrics.count(
            Count.OBSERVATIONS_FAILED, self._account.name, scope.zone, scope.kind
        )
        if scope.machine is None:
            self._failing.add(scope)
        (log.debug if known else log.warning)(
            "observation incomplete",
            zone=scope.zone,
            kind=scope.kind,
            machine=scope.machine,
            error=observed.error,
        )

    def _believed(self, now: datetime) -> Inventory:
        """Return the inventory; without its listings where an adoption waits for newer ones."""
        inventory, since = self._state.inventory, self._state.adoption(now)
        if since is None:
            return inventory
        return replace(inventory, whole={k: at for k, at in inventory.whole.items() if at >= since})

    def _scopes(self) -> tuple[Scope, ...]:
        provider = self._account.provider
        fleets = (tuple(o.zone for o in fleet.offers) for fleet in self._account.fleets)
        machines = {f.name: self._state.living(f.name) for f in self._account.fleets}
        lived = tuple({m.offer.zone for ms in machines.values() for m in ms})
        suspected = tuple(orphan.zone for orphan in self._state.orphans)
        recorded, now = self._state.host_records.zones(), self._ports.clock.now()
        return due_scopes(
            provider=provider,
            zones=zones_of(
                provider.capabilities, (*fleets, lived, suspected, recorded), self._state.inventory
            ),
            machines=machines,
            inventory=self._believed(now),
            now=now,
            settings=self._settings,
            asked=self._state.asked[:_CLOSE_AT_ONCE],
            load=Load(rate=self._account.rate, crowded=self._budget.is_crowded()),
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
        self._observed_at = set[ResourceId]()

    def watch(self, machines: Iterable[Machine], inventory: Inventory) -> None:
        """Measure after an observation; machines that nothing was asked of cost little."""
        for machine in machines:
            for place in machine.places:
                for known in place.known:
                    self._measure(machine, place.slot.kind, known, inventory)

    def _measure(self, machine: Machine, kind: str, known: Known, inventory: Inventory) -> None:
        sighting = inventory.sightings.get(known.id)
        if known.removed is not None:
            if known.missing:
                return
            if sighting is not None and inventory.observed_at(sighting) > known.removed:
                self._say(f"{kind} removed", inventory.observed_at(sighting) - known.removed)
        elif sighting is not None:
            self._observed_at.add(known.id)
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
