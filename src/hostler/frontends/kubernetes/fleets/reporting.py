"""Reporting: how everything stands, written on the objects; and what they ask for, requested.

Only differences are written. An object that is deleted stays until what it asked for is done.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.domain.errors import RequestRefused, StoreError
from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.fleet import FleetRow
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Place
from hostler.frontends.kubernetes.objects.models import FLEETS, HOSTS, PROVIDERS, Written
from hostler.frontends.kubernetes.objects.reach import provider_key
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.objects import key_of
from hostler.queries.fleets import FleetStatus, fleet_status
from hostler.requests.recording import Accepted, record

from . import status as statuses
from .fleet_ends import holds_nothing, is_let_go, never_ran
from .following import is_held
from .hold_requests import HoldRequests
from .host_ends import end_condition, left, left_though, wanted_at_end
from .host_records import known_hosts
from .hosts import Around, Known, Wanted, about_hold, host_condition, host_fields, not_held, wanted
from .locks import annotations_for
from .protected import END, POLICY, run_tables
from .provider_ends import provider_left
from .provider_needs import named_providers, needs_of
from .reported import Reported
from .requests import Asked, about_pause, at_end
from .writing import Writer

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

EVERY = timedelta(seconds=1)


@dataclass(slots=True)
class Reporter:
    """Goes over all objects now and then: `every` is how often."""

    of: Reported
    writer: Writer
    every: timedelta = EVERY
    holds: HoldRequests = field(init=False)

    def __post_init__(self) -> None:
        """Have one place for what is asked of hosts: it remembers what was refused."""
        self.holds = HoldRequests(self.of.store, self.of.clock)

    async def run(self) -> None:
        """Report for ever; what fails is tried again with the next pass."""
        while True:
            if self.of.leads():
                try:
                    await self.report()
                except (ApiError, StoreError) as error:
                    log.warning("kubernetes.not_reported", error=str(error))
            await self.of.clock.sleep(self.every)

    async def ask_for_pauses(self) -> None:
        """Ask for the pauses of fleets before an engine has them: then it begins with them."""
        of = self.of
        rows = {row.name: row for row in await of.store.fleets()}
        requests = await of.store.requests()
        for one in of.followed.of(FLEETS.kind):
            fleet = of.source.config().known(self.of.name(one))
            if fleet is not None:
                asked = Asked(row=rows.get(fleet.name), requests=requests, now=of.clock.now())
                await self._request(about_pause(one, fleet, asked))

    async def report(self) -> None:
        """Go over all objects once."""
        of = self.of
        config = await of.with_removed(of.source.config(), of.store)
        rows = {row.name: row for row in await of.store.fleets()}
        objects = of.followed.of(FLEETS.kind)
        deleted = [one for one in objects if one.ends]
        of.source.note_run(run_tables(deleted, rows.values(), of.source.namespaces))
        for one in objects:
            row = rows.get(FleetName(self.of.name(one)))
            await self.writer.safely(one, partial(self._fleet, one, config, row))
        for one in of.followed.of(PROVIDERS.kind):
            await self.writer.safely(one, partial(self._provider, one, config, rows))
        await self._hosts(config)

    # ------------------------------------------------------------ fleets

    async def _fleet(self, one: Written, config: Config, row: FleetRow | None) -> None:
        of, place = self.of, Place(FLEET, self.of.name(one))
        fleet = config.known(place.name)
        found: FleetStatus | None = None
        if fleet is not None:
            found = await fleet_status(of.store, fleet, of.clock.now(), runs=True)
            asked = Asked(row=row, requests=found.requests, now=found.at)
            if not fleet.removed:
                await self._request(about_pause(one, fleet, asked))
            elif one.ends and one.wanted.get(POLICY) == END:
                for accepted in at_end(one, fleet, asked):
                    await self._request(accepted)
        if one.ends and await self._is_over(one, row, found, config):
            await self.writer.release(FLEETS, one)
            return
        if not one.ends:
            await self.writer.hold(FLEETS, one)
        verdict, generation = self.of.verdict(one, place)
        unread = config.unreadable.get(row.name, "") if row is not None else ""
        generation = one.metadata.generation if one.ends and verdict is None else generation
        conditions = statuses.fleet_conditions(found, verdict, ends=one.ends, unread=unread)
        count = len(await of.store.machines(row.name)) if found is None and row is not None else 0
        fields = statuses.fleet_fields(found, count)
        await self.writer.status(FLEETS, one, fields, conditions, generation)

    async def _is_over(
        self, one: Written, row: FleetRow | None, found: FleetStatus | None, config: Config
    ) -> bool:
        """Tell whether a Fleet whose object was deleted needs it no longer.

        Of one whose table cannot be read, as while its Provider is not in force, nobody `found` how
        it stands: it may have machines all the same.
        """
        if row is None:
            return await never_ran(self.of, self.of.name(one))
        if one.wanted.get(POLICY) != END:
            over = row.removed is not None or await is_let_go(self.of, row, config)
        else:
            machines = found.machines if found else await self.of.store.machines(row.name)
            over = row.ends and not machines
        return over or await self._holds_nothing(row, config)

    async def _holds_nothing(self, row: FleetRow, config: Config) -> bool:
        """Tell whether an engine has let a fleet go that has nothing to look after."""
        return await holds_nothing(self.of, row, config)

    async def _request(self, accepted: Accepted | None) -> None:
        if accepted is not None:
            await record(self.of.store, (accepted,))

    # ------------------------------------------------------------ providers

    async def _provider(
        self, one: Written, config: Config, rows: Mapping[FleetName, FleetRow]
    ) -> None:
        name, of = self.of.name(one), self.of
        waits = provider_left(await needs_of(of, one, config, rows)) if one.ends else ""
        if one.ends and not waits:
            await self.writer.release(PROVIDERS, one)
            return
        if not one.ends:
            await self.writer.hold(PROVIDERS, one)
        verdict, generation = self.of.verdict(one, Place(PROVIDER, name))
        fleets = [f for f in config.fleets if str(f.account) == name and not f.removed]
        hosts = [h for h in of.followed.of(HOSTS.kind) if provider_key(h) == key_of(one)]
        fields = {"fleets": len(fleets), "hosts": len(hosts)}
        accepted = statuses.accepted(verdict)
        conditions = (accepted, end_condition(waits)) if waits else (accepted,)
        await self.writer.status(PROVIDERS, one, fields, conditions, generation)

    # ------------------------------------------------------------ hosts

    async def _hosts(self, config: Config) -> None:
        """Report every host, and ask for what its object says."""
        of = self.of
        objects = of.followed.of(HOSTS.kind)
        if not objects:
            return
        run = {account.name for account in config.accounts}
        named = {AccountName(self.of.provider_name(one)) for one in objects}
        known = await self._known_hosts(run | named, config)
        around = Around(
            fleets=tuple(config.fleets),
            accounts=frozenset(run),
            waiting=frozenset(named_providers(of) - run),
            requests=await of.store.requests(),
            now=of.clock.now(),
        )
        self.holds.retain([one.host.id for one in known.values()])
        for one in objects:
            found = known.get((self.of.provider_name(one), self.of.name(one)))
            await self.writer.safely(one, partial(self._host, one, found, around))

    async def _known_hosts(
        self, accounts: Iterable[AccountName], config: Config
    ) -> Mapping[tuple[str, str], Known]:
        """Return the hosts on record by their account and their name."""
        return await known_hosts(self.of, accounts, config)

    async def _host(self, one: Written, known: Known | None, around: Around) -> None:
        now, judged = around.now, self.of.source.judged
        provider, name = Place(PROVIDER, self.of.provider_name(one)), self.of.name(one)
        verdict = judged.assembly.verdicts.get(provider)
        condition = host_condition(
            judged.hosts.get(name),
            statuses.accepted(verdict) if verdict is not None else None,
            used=any(fleet.account == provider.name for fleet in around.fleets),
        )
        generation = judged.generations.get(one.metadata.uid, 0)
        own = judged.hosts.get(name)
        if own is not None and not own.accepted:  # it may be why its Provider is not in force
            around = replace(around, waiting=frozenset())
        refused, again = await self._refusal(one, known, around)
        waits = await self._ends(one, known, around, refused)
        if not is_held(one) or (one.ends and waits is None):
            return
        run = known is not None and known.host.account in around.accounts
        fields = host_fields(known, now, run=run)
        condition = condition if waits is not None else not_held(condition, refused)
        conditions = (condition, waits) if waits is not None else (condition,)
        await self.writer.status(HOSTS, one, fields, conditions, generation)
        if known is None or not run:
            return
        try:
            asked = about_hold(one, _aim(one, known, now), known, around) if again else None
            if asked is not None:
                await self.holds.ask(asked)
        except RequestRefused as error:
            log.debug("kubernetes.no_hold", host=one.metadata.name, why=str(error))
        operation = known.power.operation if known.power is not None else None
        locks = annotations_for(one.metadata.annotations, operation, now)
        await self.writer.annotate(HOSTS, one, locks)

    async def _refusal(self, one: Written, known: Known | None, around: Around) -> tuple[str, bool]:
        """Return why the engine refused what an object wants of its host, and if it may be asked.

        Nothing was refused of a host that nobody knows.
        """
        if known is None:
            return "", True
        aim = _aim(one, known, around.now)
        kind = aim.kind if aim is not None else None
        return await self.holds.refusal(known.host.id, kind, around.requests)

    async def _ends(
        self, one: Written, known: Known | None, around: Around, refused: str
    ) -> statuses.Condition | None:
        """Hold an object, or let it go where it was deleted; return what it waits for."""
        if not one.ends:
            await self.writer.hold(HOSTS, one)
            return None
        text = left(one, known, around)
        if text and refused and known is not None:
            text = left_though(refused, text, one, known, around.now)
        if text:
            return end_condition(text)
        await self.writer.release(HOSTS, one)
        return None


def _aim(one: Written, known: Known, now: datetime) -> Wanted | None:
    """Return how an object wants its host to be held, or as one that was deleted."""
    return wanted_at_end(one, known) if one.ends else wanted(one, now)
