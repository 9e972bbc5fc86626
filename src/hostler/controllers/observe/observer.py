"""Looker: takes one account's looks, as far as they are due, and tells of those that fail."""

import structlog

from hostler.controllers.runtime.given import Ports
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Account, Settings
from hostler.controllers.runtime.state import AccountState
from hostler.domain.model.inventory import merge
from hostler.domain.model.resource import Looked, Scope

from .lag import LagWatch
from .looking import due_scopes, is_moving, requests_for, zones_of

_CLOSE_AT_ONCE = 20
"""How many single looks go with one look at most; the others come with the next ones."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.loop")


class Looker:
    """Looks at one account, within its budget, and keeps its newest view."""

    def __init__(
        self,
        account: Account,
        ports: Ports,
        state: AccountState,
        budget: Budget,
        settings: Settings,
    ) -> None:
        self._account, self._ports, self._state = account, ports, state
        self._budget, self._settings = budget, settings
        self._lag = LagWatch(account.name, account.provider.traits, ports.meters)
        self._failing = set[Scope]()

    async def look(self) -> None:
        """Look at what is due now, if anything is; nothing is concluded from what failed."""
        scopes = self._scopes()
        if not scopes:
            return
        provider = self._account.provider
        cost = requests_for(provider, scopes, self._state.view)
        await self._budget.take(Priority.LOOK, cost)
        look = await provider.look(scopes)
        self._state.asked = self._state.asked[_CLOSE_AT_ONCE:]
        for word in look.strange:
            self._ports.meters.strange(self._account.name, word)
            log.warning("unknown status: nothing is concluded from it", word=word)
        for looked in look.looked:
            self._tell(looked)
        self._state.view = merge(self._state.view, look)
        for fleet in self._account.fleets:
            records = self._state.machines.get(fleet.name, {})
            self._lag.watch(filter(is_moving, records.values()), self._state.view)
        whole = self._state.view.whole.values()
        if whole:
            self._ports.meters.looked(self._account.name, self._ports.clock.now() - min(whole))

    def _tell(self, looked: Looked) -> None:
        """Warn of a listing that failed; a whole zone's that goes on failing is no news."""
        scope = looked.scope
        known = scope in self._failing
        if looked.complete:
            self._failing.discard(scope)
            if known:
                log.info("look complete again", zone=scope.zone, kind=scope.kind)
            return
        self._ports.meters.unseen(self._account.name, scope.zone, scope.kind)
        if scope.machine is None:
            self._failing.add(scope)
        (log.debug if known else log.warning)(
            "look incomplete",
            zone=scope.zone,
            kind=scope.kind,
            machine=scope.machine,
            error=looked.error,
        )

    def _scopes(self) -> tuple[Scope, ...]:
        provider = self._account.provider
        fleets = (tuple(o.zone for o in fleet.offers) for fleet in self._account.fleets)
        machines = {f.name: self._state.living(f.name) for f in self._account.fleets}
        lived = tuple({m.offer.zone for ms in machines.values() for m in ms})
        suspected = tuple(suspect.zone for suspect in self._state.suspects)
        kept = self._state.stable.zones()
        return due_scopes(
            provider=provider,
            zones=zones_of(provider.traits, (*fleets, lived, suspected, kept), self._state.view),
            machines=machines,
            view=self._state.view,
            now=self._ports.clock.now(),
            settings=self._settings,
            asked=self._state.asked[:_CLOSE_AT_ONCE],
        )
