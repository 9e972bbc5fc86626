"""Reporting: how everything stands, written on the objects; and what they ask for, requested.

Only differences are written. An object that is deleted stays until what it asked for is done.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog
from msgspec import Struct
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.domain.errors import RequestRefused, StoreError
from hostler.domain.ids import AccountName, FleetName, MachineId
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine
from hostler.frontends.kubernetes.nodes.standing import Standing
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Place, Verdict
from hostler.frontends.kubernetes.objects.models import FLEETS, HOSTS, PROVIDERS, Written
from hostler.frontends.kubernetes.objects.reach import provider_key
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.objects import key_of
from hostler.ports.clock import Clock
from hostler.ports.engine_record import KeepsEngineRecord
from hostler.ports.store import Store
from hostler.queries.fleets import FleetStatus, fleet_status
from hostler.queries.hosts import recorded_hosts
from hostler.queries.power_states import power_statuses
from hostler.queries.removed import RemovedFleet, held_of
from hostler.requests.recording import Accepted, record

from . import status as statuses
from .earlier import provider_of
from .following import Followed, is_held
from .host_ends import end_condition, left, wanted_at_end
from .hosts import Around, Known, about_hold, host_condition, host_fields, wanted
from .locks import annotations_for
from .provider_ends import Needs, provider_left
from .requests import Asked, about_pause, at_end
from .source import Source
from .writing import Writer

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

EVERY = timedelta(seconds=1)


def _no_node(machine: MachineId) -> Standing | None:
    del machine
    return None


class Reported(Struct, frozen=True, kw_only=True):
    """What a reporter is given: records, objects, what is in force, and whether we write at all.

    `with_removed` adds the fleets that the store holds and nobody asks for any more; `node` tells
    how the Node of a machine stands, `reloads` whether an engine is about to run other tables.
    """

    followed: Followed
    source: Source
    store: Store
    clock: Clock
    leads: Callable[[], bool]
    with_removed: Callable[[Config, Store], Awaitable[Config]]
    reloads: Callable[[], bool]
    node: Callable[[MachineId], Standing | None] = _no_node


@dataclass(slots=True)
class Reporter:
    """Goes over all objects now and then: `every` is how often."""

    of: Reported
    writer: Writer
    every: timedelta = EVERY

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
            fleet = of.source.config().known(self._name(one))
            if fleet is not None and not one.ends:
                asked = Asked(row=rows.get(fleet.name), requests=requests, now=of.clock.now())
                await self._request(about_pause(one, fleet, asked))

    async def report(self) -> None:
        """Go over all objects once."""
        of = self.of
        config = await of.with_removed(of.source.config(), of.store)
        rows = {row.name: row for row in await of.store.fleets()}
        for one in of.followed.of(FLEETS.kind):
            row = rows.get(FleetName(self._name(one)))
            await self.writer.safely(one, partial(self._fleet, one, config, row))
        for one in of.followed.of(PROVIDERS.kind):
            await self.writer.safely(one, partial(self._provider, one, config, rows))
        await self._hosts(config)

    # ------------------------------------------------------------ fleets

    async def _fleet(self, one: Written, config: Config, row: FleetRow | None) -> None:
        of, place = self.of, Place(FLEET, self._name(one))
        fleet = config.known(place.name)
        found: FleetStatus | None = None
        if fleet is not None:
            found = await fleet_status(of.store, fleet, of.clock.now(), runs=True)
            asked = Asked(row=row, requests=found.requests, now=found.at)
            if not one.ends and not fleet.removed:
                await self._request(about_pause(one, fleet, asked))
            elif one.ends and one.wanted.get("deletionPolicy") == "end":
                for accepted in at_end(one, fleet, asked):
                    await self._request(accepted)
        if one.ends and await self._is_over(one, row, found, config):
            await self.writer.release(FLEETS, one)
            return
        if not one.ends:
            await self.writer.hold(FLEETS, one)
        verdict, generation = self._verdict(one, place)
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
            return await self._never_ran(self._name(one))
        if one.wanted.get("deletionPolicy") != "end":
            over = row.removed is not None
        else:
            machines = found.machines if found else await self.of.store.machines(row.name)
            over = row.ends and not machines
        return over or await self._holds_nothing(row, config)

    async def _never_ran(self, name: str) -> bool:
        """Tell whether no engine has had a fleet, and none is about to.

        One that is deleted right after it was made may be run for a moment still: then it gets a
        row, and maybe machines, and its object says what becomes of them. The rows are read last.
        """
        of, path = self.of, Place(FLEET, name).path
        if path in of.source.paths() or of.reloads() or await self._is_run(path):
            return False
        return all(str(row.name) != name for row in await of.store.fleets())

    async def _holds_nothing(self, row: FleetRow, config: Config) -> bool:
        """Tell whether an engine has let a fleet go that has nothing to look after.

        It is never marked as removed then: no engine runs what holds nothing, nor what has orphans
        alone and no provider. What it holds is read after what is run, for an engine that still has
        the fleet may make a machine.
        """
        known = config.known(row.name) is not None
        if known or await self._is_run(Place(FLEET, str(row.name)).path, unknown=True):
            return False
        return not (await self._held(row)).needs_engine

    async def _is_run(self, path: str, *, unknown: bool = False) -> bool:
        """Tell whether the engine has a table, or `unknown` where nobody has written which."""
        store = self.of.store
        runs = await store.engine_record() if isinstance(store, KeepsEngineRecord) else None
        return unknown if runs is None else path in runs.tables

    async def _request(self, accepted: Accepted | None) -> None:
        if accepted is not None:
            await record(self.of.store, (accepted,))

    # ------------------------------------------------------------ providers

    async def _provider(
        self, one: Written, config: Config, rows: Mapping[FleetName, FleetRow]
    ) -> None:
        name, of = self._name(one), self.of
        fleets = [fleet for fleet in config.fleets if str(fleet.account) == name]
        hosts = [h for h in of.followed.of(HOSTS.kind) if provider_key(h) == key_of(one)]
        waits = await self._provider_waits(one, fleets, config, rows) if one.ends else ""
        if one.ends and not waits:
            await self.writer.release(PROVIDERS, one)
            return
        if not one.ends:
            await self.writer.hold(PROVIDERS, one)
        verdict, generation = self._verdict(one, Place(PROVIDER, name))
        fields = {"fleets": sum(not f.removed for f in fleets), "hosts": len(hosts)}
        accepted = statuses.accepted(verdict)
        conditions = (accepted, end_condition(waits)) if waits else (accepted,)
        await self.writer.status(PROVIDERS, one, fields, conditions, generation)

    async def _provider_waits(
        self,
        one: Written,
        fleets: Sequence[Fleet],
        config: Config,
        rows: Mapping[FleetName, FleetRow],
    ) -> str:
        """Return what a deleted provider waits for; empty where it may go.

        A fleet whose provider is not in force is not run, and nobody can say how it is to be looked
        after; its row tells whose it is.
        """
        removed = {fleet.name: "" for fleet in fleets if fleet.removed}
        whose = {name for name, row in rows.items() if provider_of(row) == self._name(one)}
        unread = {name: why for name, why in config.unreadable.items() if name in whose}
        known = [(rows[name], why) for name, why in {**removed, **unread}.items() if name in rows]
        needs = Needs(
            named={self._name(fleet): fleet.metadata.name for fleet in self._naming(one)},
            run=[str(fleet.name) for fleet in fleets if not fleet.removed],
            held=[(await self._held(row), why) for row, why in known],
        )
        return provider_left(needs)

    def _named_providers(self) -> set[AccountName]:
        """Return the Providers that stay and that Fleets name, in force or not."""
        found = (one for one in self.of.followed.of(PROVIDERS.kind) if not one.ends)
        return {AccountName(self._name(one)) for one in found if self._naming(one)}

    def _naming(self, one: Written) -> tuple[Written, ...]:
        """Return the Fleets that name a provider, in force or not."""
        fleets = self.of.followed.of(FLEETS.kind)
        return tuple(f for f in fleets if not f.ends and provider_key(f) == key_of(one))

    async def _held(self, row: FleetRow) -> RemovedFleet:
        """Return the machines of a fleet, the hosts that it bought, and its orders under way.

        A host stays on the bill when its last machine has left it, until an engine gives it up.
        """
        store = self.of.store
        return await held_of(store, row, (await store.hosts(), ()), self.of.clock.now())

    def _name(self, one: Written) -> str:
        """Return how the engine calls an object."""
        return self.of.source.namespaces.name_of(one.metadata)

    def _provider_name(self, host: Written) -> str:
        """Return how the engine calls the provider that a Host names."""
        key = provider_key(host)
        return self.of.source.namespaces.name(key.namespace, key.name)

    def _verdict(self, one: Written, place: Place) -> tuple[Verdict | None, int]:
        judged = self.of.source.judged
        if (generation := judged.generations.get(one.metadata.uid)) is None:
            return None, 0
        return judged.assembly.verdicts.get(place), generation

    # ------------------------------------------------------------ hosts

    async def _hosts(self, config: Config) -> None:
        """Report every host, and ask for what its object says."""
        of = self.of
        objects = of.followed.of(HOSTS.kind)
        if not objects:
            return
        run = {account.name for account in config.accounts}
        named = {AccountName(self._provider_name(one)) for one in objects}
        known = await self._known_hosts(run | named, config)
        around = Around(
            fleets=tuple(config.fleets),
            accounts=frozenset(run),
            waiting=frozenset(self._named_providers() - run),
            requests=await of.store.requests(),
            now=of.clock.now(),
        )
        for one in objects:
            found = known.get((self._provider_name(one), self._name(one)))
            await self.writer.safely(one, partial(self._host, one, found, around))

    async def _known_hosts(
        self, accounts: Iterable[AccountName], config: Config
    ) -> Mapping[tuple[str, str], Known]:
        """Return the hosts on record by their account and their name."""
        of = self.of
        hosts = await recorded_hosts(of.store, accounts)
        machines = dict[MachineId, Machine]()
        for host in hosts:
            if host.binding is not None:
                machine = await of.store.machine(host.binding)
                machines |= {host.binding: machine} if machine is not None else {}
        power = power_statuses(hosts, machines.values(), config.fleets, of.clock.now())
        return {
            (str(host.account), name): Known(
                host=host,
                machine=machines.get(host.binding) if host.binding is not None else None,
                power=power.get(host.id),
                node=of.node(host.binding) if host.binding is not None else None,
            )
            for host in hosts
            for name in {host.name or str(host.id), str(host.id)}
        }

    async def _host(self, one: Written, known: Known | None, around: Around) -> None:
        now, judged = around.now, self.of.source.judged
        provider, name = Place(PROVIDER, self._provider_name(one)), self._name(one)
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
        waits = await self._ends(one, known, around)
        if not is_held(one) or (one.ends and waits is None):
            return
        run = known is not None and known.host.account in around.accounts
        fields = host_fields(known, now, run=run)
        conditions = (condition, waits) if waits is not None else (condition,)
        await self.writer.status(HOSTS, one, fields, conditions, generation)
        if known is None or not run:
            return
        aim = wanted_at_end(one, known) if one.ends else wanted(one, now)
        try:
            await self._request(about_hold(one, aim, known, around))
        except RequestRefused as error:
            log.debug("kubernetes.no_hold", host=one.metadata.name, why=str(error))
        operation = known.power.operation if known.power is not None else None
        locks = annotations_for(one.metadata.annotations, operation, now)
        await self.writer.annotate(HOSTS, one, locks)

    async def _ends(
        self, one: Written, known: Known | None, around: Around
    ) -> statuses.Condition | None:
        """Hold an object, or let it go where it was deleted; return what it waits for."""
        if not one.ends:
            await self.writer.hold(HOSTS, one)
            return None
        if text := left(one, known, around):
            return end_condition(text)
        await self.writer.release(HOSTS, one)
        return None
