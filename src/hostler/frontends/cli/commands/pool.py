"""Pooling: the hosts of a fleet's account: listed, put into its pool, or made machines of it."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, assert_never

from cyclopts import Parameter

from hostler.config.values import Config
from hostler.controllers.host_plan import hosts_once
from hostler.controllers.runtime.settings import Account
from hostler.domain.errors import RequestRefused
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import HostsSnapshot, Request, RequestKind
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.null_metrics import NullMetrics
from hostler.frontends.cli.console.options import Asking, File
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render import as_json
from hostler.frontends.cli.render.host_tables import as_rows, listed
from hostler.frontends.cli.render.tables import ink
from hostler.frontends.cli.views.coverage import whole_hosts
from hostler.frontends.cli.views.host_status import Stall, stalls, stalls_of
from hostler.frontends.cli.views.pool_checks import (
    check_given_up,
    check_hosts,
    check_pool,
    check_put,
    check_room,
    check_why,
    named,
    strange_to,
    untyped,
)
from hostler.ports.hosts import KeepsHosts
from hostler.ports.store import Store

from .requests import taken_request, told_of

Act = Literal["list", "add", "adopt", "retire"]
NO_HOSTS = (
    "no provider of this file has hosts that outlive machines: there is no pool (hostler status "
    "lists machines)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What was asked of hosts: the wishes to write, and the hosts that they are about."""

    requests: tuple[Request, ...]
    hosts: tuple[Stall, ...]


@dataclass(frozen=True, slots=True)
class Pooling:
    """The command about hosts that outlive machines."""

    outside: Outside
    guard: Guard

    def pool(
        self,
        file: File,
        act: Annotated[Act, Parameter(help="list, add, adopt or retire; left out: list")] = "list",
        /,
        *servers: Annotated[
            str, Parameter(help="hosts, each by its id or its whole name; not for list")
        ],
        online: Annotated[
            bool, Parameter(negative=(), help="with list: look at the provider now as well")
        ] = False,
        keep_disk: Annotated[
            bool, Parameter(negative=(), help="with adopt: leave its disk as it is")
        ] = False,
        asking: Asking | None = None,
    ) -> int:
        """List hosts, put some into the fleet's pool, make them its machines, or give them up."""
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            match act:
                case "list":
                    _no_servers(servers)
                    return await self._list(file, asked, screen, online=online)
                case "add":
                    return await self._add(file, servers, asked, screen)
                case "adopt":
                    return await self._adopt(file, servers, asked, screen, keep=keep_disk)
                case "retire":
                    return await self._retire(file, servers, asked, screen)
                case _:
                    assert_never(act)

        return self.guard(asked.json, work)

    async def _list(self, file: Path, asked: Asking, screen: Screen, *, online: bool) -> int:
        config = self.outside.load(file)
        accounts = {fleet.account for fleet in config.chosen(asked.fleet)}
        async with self.outside.store(config, Purpose.READ) as store:
            hosts = [host for host in await store.hosts() if host.account in accounts]
            bindings = dict(await store.bindings())
            found = [
                stall
                for account in sorted(accounts)
                for stall in stalls(
                    account, {host.id: host for host in hosts if host.account == account}, bindings
                )
            ]
            if online:
                with screen.waiting("looking at the provider"):
                    found = [
                        stall
                        for account, snapshot in await self._observed(config, store)
                        if account.name in accounts
                        for stall in stalls_of(snapshot)
                    ]
        now = self.outside.clock().now()
        value = {"at": now, "observed": online, "hosts": as_rows(found, now)}
        screen.show(listed(found, now, observed=online), value)
        return Exit.OK

    async def _observed(self, config: Config, store: Store) -> list[tuple[Account, HostsSnapshot]]:
        """Return what one look at each account that has hosts shows."""
        found = list[tuple[Account, HostsSnapshot]]()
        async with self.outside.accounts(config, store) as accounts:
            ports = self.outside.ports(store, NullMetrics())
            for account in accounts:
                snapshot = await hosts_once(ports, account, config.settings)
                if snapshot is not None:
                    found.append((account, whole_hosts(snapshot)))
        if not found:
            raise RequestRefused(NO_HOSTS)
        return found

    async def _of_fleet(
        self, config: Config, store: Store, fleet: Fleet, screen: Screen
    ) -> tuple[Account, tuple[Stall, ...]]:
        """Return the hosts of a fleet's account as a look shows them now."""
        with screen.waiting(f"looking at {fleet.account}"):
            observed = await self._observed(config, store)
        mine = next(((a, snapshot) for a, snapshot in observed if a.name == fleet.account), None)
        if mine is None:
            raise RequestRefused(NO_HOSTS)
        return mine[0], stalls_of(mine[1])

    async def _add(
        self, file: Path, servers: tuple[str, ...], asked: Asking, screen: Screen
    ) -> int:
        config, fleet = self._asked(file, servers, asked, "add")
        async with self.outside.store(config, Purpose.REQUEST) as store:
            account, found = await self._of_fleet(config, store, fleet, screen)
            hosts = named(servers, found)
            check_pool(_pool_of(account, fleet), fleet)
            check_hosts(hosts)
            check_put(hosts)
        requests = tuple(
            self._request(RequestKind.POOL_ADD, fleet, stall, asked) for stall in hosts
        )
        _warn(fleet, hosts, screen)
        return await self._grant(config, Granted(requests=requests, hosts=hosts), asked, screen)

    async def _adopt(
        self,
        file: Path,
        servers: tuple[str, ...],
        asked: Asking,
        screen: Screen,
        *,
        keep: bool,
    ) -> int:
        config, fleet = self._asked(file, servers, asked, "adopt")
        async with self.outside.store(config, Purpose.REQUEST) as store:
            _, found = await self._of_fleet(config, store, fleet, screen)
            hosts = named(servers, found)
            check_hosts(hosts)
            rows = {row.name: row for row in await store.fleets()}
            living = await store.machines(fleet.name)
            check_room(len(hosts), fleet, rows.get(fleet.name), living)
            fresh = self.outside.ports(store, NullMetrics()).fresh
        if not keep:
            _confirm(untyped(hosts, servers), screen)
        requests = tuple(
            replace(
                self._request(RequestKind.POOL_ADOPT, fleet, stall, asked),
                machines=(fresh(),),
                keep=keep,
            )
            for stall in hosts
        )
        _warn(fleet, hosts, screen)
        return await self._grant(config, Granted(requests=requests, hosts=hosts), asked, screen)

    async def _retire(
        self, file: Path, servers: tuple[str, ...], asked: Asking, screen: Screen
    ) -> int:
        config, fleet = self._asked(file, servers, asked, "retire")
        check_why(asked.why)
        async with self.outside.store(config, Purpose.REQUEST) as store:
            _, found = await self._of_fleet(config, store, fleet, screen)
            hosts = named(servers, found)
            check_given_up(hosts)
        requests = tuple(self._request(RequestKind.RETIRE, fleet, stall, asked) for stall in hosts)
        return await self._grant(config, Granted(requests=requests, hosts=hosts), asked, screen)

    def _asked(
        self, file: Path, servers: tuple[str, ...], asked: Asking, act: str
    ) -> tuple[Config, Fleet]:
        if not servers:
            raise RequestRefused(
                f"say which: hostler pool {file} {act} SERVER…; hostler pool {file} list --online "
                "shows them all"
            )
        config = self.outside.load(file)
        return config, config.fleet(asked.fleet)

    def _request(self, kind: RequestKind, fleet: Fleet, stall: Stall, asked: Asking) -> Request:
        return Request(
            number=0,
            kind=kind,
            fleet=fleet.name,
            at=self.outside.clock().now(),
            actor=self.outside.actor(),
            why=asked.why,
            host=stall.id,
        )

    async def _grant(self, config: Config, asks: Granted, asked: Asking, screen: Screen) -> int:
        """Write the wishes, wait for the last one, and say what is to come of each."""
        async with self.outside.store(config, Purpose.REQUEST) as store:
            kept = [await store.request(request) for request in asks.requests]
            runs = self.outside.engine_runs(config)
            with screen.waiting("waiting for the engine"):
                numbers = {request.number for request in kept}
                waits = runs and asked.wait
                taken = waits and await taken_request(self.outside, store, numbers)
        value = {"requests": [as_json.request(w) for w in kept], "engine": runs, "taken": taken}
        lines = [_said(request, stall) for request, stall in zip(kept, asks.hosts, strict=True)]
        how = told_of(runs=runs, taken=taken, waited=asked.wait)
        screen.show(ink("\n".join([*lines, how])), value)
        return Exit.OK if taken or not asked.wait else Exit.NOT_TAKEN


def _no_servers(servers: tuple[str, ...]) -> None:
    if servers:
        raise RequestRefused(f"list takes no servers: {' '.join(servers)}")


def _pool_of(account: Account, fleet: Fleet) -> str:
    provider = account.provider
    return provider.pool_of(fleet.name) if isinstance(provider, KeepsHosts) else ""


def _warn(fleet: Fleet, hosts: tuple[Stall, ...], screen: Screen) -> None:
    for stall in hosts:
        if strange := strange_to(fleet, stall):
            screen.note(strange)


def _confirm(hosts: tuple[Stall, ...], screen: Screen) -> None:
    """Let the whole name of each of these hosts be typed: it is not in the pool, and is wiped."""
    for stall in hosts:
        told = f"{stall.name} ({stall.id}) is not in the pool, and this wipes its disk"
        if screen.json or not (screen.live and sys.stdin.isatty()):
            raise RequestRefused(
                f"{told}: name it by its whole name instead of its id, or add --keep-disk"
            )
        screen.note(f"{told}. Type its name to go on:")
        if sys.stdin.readline().strip() != stall.name:
            raise RequestRefused(f"that is not {stall.name}: nothing was asked")


def _said(request: Request, stall: Stall) -> str:
    what = f"{stall.name} ({stall.id})" if stall.name else str(stall.id)
    if request.kind is RequestKind.RETIRE:
        return (
            f"{what}: given up: deleted, or at its date where it cannot be deleted before "
            f"(hostler history FILE {stall.id} tells)"
        )
    if request.kind is RequestKind.POOL_ADD:
        return (
            f"{what}: into the pool of {request.fleet}, under another name; it keeps its disk "
            "until "
            f"it is claimed, and is wiped then (hostler explain FILE {stall.id} tells of it)"
        )
    disk = "its disk is left as it is" if request.keep else "wiped first"
    return f"{what}: becomes machine {request.machines[0]} of {request.fleet}, {disk}"
