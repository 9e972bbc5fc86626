"""Reporting: how everything stands, written on the objects; and what they ask for, requested.

Only differences are written. An object that is deleted stays until what it asked for is done.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from hostler.config.values import Config
from hostler.domain.errors import StoreError
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Place, Verdict
from hostler.frontends.kubernetes.objects.models import FLEETS, HOSTS, PROVIDERS, Fields, Written
from hostler.kubernetes.errors import ApiError, Conflict, NotFound
from hostler.kubernetes.objects import Metadata, key_of
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.queries.fleets import FleetStatus, fleet_status
from hostler.requests.recording import Accepted, record

from . import status as statuses
from .following import Followed
from .requests import Asked, about_end, about_pause
from .source import Source
from .status import Condition, differs, document

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

EVERY = timedelta(seconds=1)
TRUSTED = 15.0
"""Seconds for which what was just written is believed to be there, whatever the cache shows."""
FINALIZER = "hostler.dev/ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a reporter is given: records, objects, what is in force, and whether we write at all.

    `with_removed` adds the fleets that the store holds and nobody asks for any more.
    """

    cluster: Connected
    followed: Followed
    source: Source
    store: Store
    clock: Clock
    leads: Callable[[], bool]
    with_removed: Callable[[Config, Store], Awaitable[Config]]


@dataclass(slots=True)
class Reporter:
    """Goes over all objects now and then."""

    of: Reported
    _written: dict[str, tuple[Fields, float]] = field(
        default_factory=dict[str, tuple[Fields, float]]
    )

    async def run(self) -> None:
        """Report for ever; what fails is tried again with the next pass."""
        while True:
            if self.of.leads():
                try:
                    await self.report()
                except (ApiError, StoreError) as error:
                    log.warning("kubernetes.not_reported", error=str(error))
            await self.of.clock.sleep(EVERY)

    async def ask_for_pauses(self) -> None:
        """Ask for the pauses of fleets before an engine has them: then it begins with them."""
        of = self.of
        rows = {row.name: row for row in await of.store.fleets()}
        requests = await of.store.requests()
        for one in of.followed.of(FLEETS.kind):
            fleet = of.source.config().known(one.metadata.name)
            if fleet is not None and not one.ends:
                asked = Asked(row=rows.get(fleet.name), requests=requests, now=of.clock.now())
                await self._request(about_pause(one, fleet, asked))

    async def report(self) -> None:
        """Go over all objects once."""
        of = self.of
        config = await of.with_removed(of.source.config(), of.store)
        rows = {row.name: row for row in await of.store.fleets()}
        for one in of.followed.of(FLEETS.kind):
            await self._safely(self._fleet, one, config, rows.get(FleetName(one.metadata.name)))
        for one in of.followed.of(PROVIDERS.kind):
            await self._safely(self._provider, one, config, None)

    async def _safely(
        self,
        work: Callable[[Written, Config, FleetRow | None], Awaitable[None]],
        one: Written,
        config: Config,
        row: FleetRow | None,
    ) -> None:
        """Have one object that somebody else wrote meanwhile, or removed, stop no other."""
        try:
            await work(one, config, row)
        except (Conflict, NotFound) as error:
            log.debug("kubernetes.written_meanwhile", object=str(key_of(one)), error=str(error))

    # ------------------------------------------------------------ fleets

    async def _fleet(self, one: Written, config: Config, row: FleetRow | None) -> None:
        of, place = self.of, Place(FLEET, one.metadata.name)
        fleet = config.known(one.metadata.name)
        found: FleetStatus | None = None
        if fleet is not None:
            found = await fleet_status(of.store, fleet, of.clock.now(), runs=True)
            asked = Asked(row=row, requests=found.requests, now=found.at)
            if not one.ends and not fleet.removed:
                await self._request(about_pause(one, fleet, asked))
            elif one.ends and one.wanted.get("deletionPolicy") == "end":
                await self._request(about_end(one, fleet, asked))
        if one.ends and _is_over(one, row, found):
            await self._release(FLEETS, one)
            return
        if not one.ends:
            await self._hold(FLEETS, one)
        verdict, generation = self._verdict(place)
        conditions = statuses.fleet_conditions(found, verdict, ends=one.ends)
        fields = statuses.fleet_fields(found)
        await self._write(FLEETS, one, fields, conditions, generation)

    async def _request(self, accepted: Accepted | None) -> None:
        if accepted is not None:
            await record(self.of.store, (accepted,))

    # ------------------------------------------------------------ providers

    async def _provider(self, one: Written, config: Config, row: FleetRow | None) -> None:
        del row
        name, of = one.metadata.name, self.of
        fleets = [fleet for fleet in config.fleets if str(fleet.account) == name]
        hosts = [h for h in of.followed.of(HOSTS.kind) if h.wanted.get("provider") == name]
        if one.ends and not await self._is_used(fleets):
            await self._release(PROVIDERS, one)
            return
        if not one.ends:
            await self._hold(PROVIDERS, one)
        verdict, generation = self._verdict(Place(PROVIDER, name))
        fields = {"fleets": sum(not f.removed for f in fleets), "hosts": len(hosts)}
        await self._write(PROVIDERS, one, fields, (statuses.accepted(verdict),), generation)

    async def _is_used(self, fleets: Iterable[Fleet]) -> bool:
        """Tell whether anybody asks for machines of these fleets, or there are some still."""
        for fleet in fleets:
            if not fleet.removed or await self.of.store.machines(fleet.name):
                return True
        return False

    # ------------------------------------------------------------ any object

    def _verdict(self, place: Place) -> tuple[Verdict | None, int]:
        judged = self.of.source.judged
        return judged.assembly.verdicts.get(place), judged.generations.get(place, 0)

    async def _write(
        self,
        resource: Resource[Written],
        one: Written,
        fields: Fields,
        conditions: Iterable[Condition],
        generation: int,
    ) -> None:
        """Write a status where it differs from what is there, or is believed to be there."""
        clock, uid = self.of.clock, one.metadata.uid
        known, at = self._written.get(uid, (None, -TRUSTED))
        before = known if known is not None and clock.boot() - at < TRUSTED else one.status
        made = document(fields, conditions, generation, before, clock.now())
        if not differs(made, before):
            return
        item = Written(
            api_version=resource.api_version,
            kind=resource.kind,
            metadata=Metadata(name=one.metadata.name, namespace=one.metadata.namespace),
            status=made,
        )
        await self.of.cluster.client.apply(resource, item, "status", force=True)
        self._written[uid] = (made, clock.boot())

    async def _hold(self, resource: Resource[Written], one: Written) -> None:
        """Have an object stay after its deletion until what it asks for is done."""
        present = one.metadata.finalizers or ()
        if FINALIZER not in present:
            await self._finalizers(resource, one, (*present, FINALIZER))

    async def _release(self, resource: Resource[Written], one: Written) -> None:
        present = one.metadata.finalizers or ()
        if FINALIZER in present:
            log.info("kubernetes.released", kind=resource.kind, object=str(key_of(one)))
            others = tuple(name for name in present if name != FINALIZER)
            await self._finalizers(resource, one, others)

    async def _finalizers(
        self, resource: Resource[Written], one: Written, names: tuple[str, ...]
    ) -> None:
        patch = merge_patch({}, one.metadata, {"finalizers": list(names)})
        await self.of.cluster.client.patch(resource, key_of(one), patch)


def _is_over(one: Written, row: FleetRow | None, found: FleetStatus | None) -> bool:
    """Tell whether a Fleet whose object was deleted needs it no longer."""
    if row is None:
        return True
    if one.wanted.get("deletionPolicy") != "end":
        return row.removed is not None
    return row.ends and (found is None or not found.machines)
