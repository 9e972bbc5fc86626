"""Pool: the hosts of a fleet's account: listed, put into its pool, or made machines of it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, assert_never

from cyclopts import Parameter
from msgspec import Struct

from hostler.config.values import Config
from hostler.domain.errors import Remedy, RequestRefused
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, RequestOptions
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Services, open_providers, open_records
from hostler.frontends.cli.render.host_tables import host_table
from hostler.frontends.cli.render.tables import ink
from hostler.ports.store import Store
from hostler.queries import documents
from hostler.queries.hosts import pool_of, recorded_hosts
from hostler.queries.lookup import as_far_as_seen, hosts_named, require_seen
from hostler.queries.power_states import power_statuses
from hostler.queries.providers import Providers
from hostler.requests import hosts as host_requests

from .requests import Submitted, author_of, submit

Act = Literal["list", "add", "adopt", "retire"]


class _Chosen(Struct, frozen=True, kw_only=True):
    """Which hosts of which fleet are meant, and how the answer is given."""

    config: Config
    fleet: Fleet
    names: tuple[str, ...]
    options: RequestOptions
    screen: Screen
    keep_disk: bool = False


class PoolCommand(Struct, frozen=True):
    """The command about hosts that outlive machines."""

    services: Services
    guard: Guard

    def pool(
        self,
        file: File,
        act: Annotated[Act, Parameter(help="what to do")] = "list",
        /,
        *hosts: Annotated[str, Parameter(help="hosts, each by its id or full name; not with list")],
        online: Annotated[
            bool, Parameter(negative=(), help="with list: also observe the provider now")
        ] = False,
        keep_disk: Annotated[
            bool, Parameter(negative=(), help="with adopt: do not wipe the disk")
        ] = False,
        options: RequestOptions | None = None,
    ) -> int:
        """List hosts, add some to the fleet's pool, adopt them as its machines, or retire them."""
        asked = options or RequestOptions()

        async def work(screen: Screen) -> int:
            if act == "list":
                _no_servers(hosts)
                return await self._list(file, asked, screen, online=online)
            async with open_records(self.services, file, screen) as (config, _):
                if not hosts:
                    raise RequestRefused(
                        f"say which host: `hostler pool {file} {act} HOST…`", Remedy.LIST_HOSTS
                    )
                chosen = _Chosen(
                    config=config,
                    fleet=config.fleet(asked.fleet),
                    names=hosts,
                    options=asked,
                    screen=screen,
                    keep_disk=keep_disk,
                )
                return await self._change(act, chosen)

        return self.guard(asked.json, work)

    async def _list(
        self, file: Path, options: RequestOptions, screen: Screen, *, online: bool
    ) -> int:
        async with open_records(self.services, file, screen) as (config, store):
            accounts = {fleet.account for fleet in config.chosen(options.fleet)}
            hosts, unseen = await recorded_hosts(store, accounts), dict[str, str]()
            if online:
                with screen.waiting("observing the provider"):
                    async with open_providers(self.services, config, store) as providers:
                        observed = await providers.hosts(accounts)
                hosts = tuple(host for found in observed.hosts.values() for host in found)
                unseen = {f"hosts in {zone}": why for (_, zone), why in observed.unseen.items()}
            machines = [m for fleet in config.fleets for m in await store.machines(fleet.name)]
        for scope, why in unseen.items():
            lacking = "so some may be missing, and others are as on record"
            screen.note(f"could not observe {scope}, {lacking}: {why}")
        now = self.services.clock().now()
        powers = power_statuses(hosts, machines, config.fleets, now)
        rows = [documents.host(host, now, powers.get(host.id)) for host in hosts]
        value = {"at": now, "observed": online, "incomplete": unseen, "hosts": rows}
        screen.show(host_table(hosts, now, observed=online), value)
        return Exit.OK

    async def _change(self, act: Literal["add", "adopt", "retire"], chosen: _Chosen) -> int:
        """Check what is asked of hosts against an observation and the records, and record it."""
        author = author_of(self.services, chosen.options)
        if act == "retire":
            host_requests.require_reason(author)
        async with (
            self.services.store(chosen.config, Purpose.REQUEST) as store,
            open_providers(self.services, chosen.config, store) as providers,
        ):
            with chosen.screen.waiting(f"observing {chosen.fleet.account}"):
                found = await providers.hosts((chosen.fleet.account,))
            observed = found.hosts[chosen.fleet.account]
            with as_far_as_seen(found.unseen):
                hosts = hosts_named(chosen.names, observed)
            require_seen(hosts, found.unseen)
            match act:
                case "add":
                    pool = pool_of(providers.account(chosen.fleet), chosen.fleet)
                    accepted = host_requests.add_to_pool(author, chosen.fleet, pool, hosts)
                case "adopt":
                    adoption = await _adoption(store, providers, chosen, hosts)
                    accepted = host_requests.adopt(author, adoption)
                case "retire":
                    accepted = host_requests.retire(author, chosen.fleet, hosts)
                case _:
                    assert_never(act)
            host_requests.require_own_names(hosts, observed)
        if act == "adopt" and not chosen.keep_disk:
            _confirm(host_requests.unconfirmed(hosts, chosen.names), chosen.screen)
        by_id = {host.id: host for host in hosts}

        def sentence(request: Request) -> str:
            return _sentence(request, by_id[request.host or hosts[0].id])

        wait, screen = chosen.options.wait, chosen.screen
        done = await submit(self.services, chosen.config, accepted, wait=wait, screen=screen)
        return show_submitted(done, sentence, screen, waited=wait)


def show_submitted(
    done: Submitted, sentence: Callable[[Request], str], screen: Screen, *, waited: bool
) -> int:
    """Say what is to come of each request, and what has become of it; return the exit code.

    A sentence begins with the name of what it is about, and a colon.
    """
    value = {
        "requests": [documents.request(request) for request in done.requests],
        "warnings": done.warnings,
        "engine": done.engine,
        "taken": done.taken,
        "refused": {str(number): why for number, why in done.refusals.items()},
    }

    def line(request: Request) -> str:
        text = sentence(request)
        subject = text.partition(": ")[0] if request.number in done.refusals else text
        return f"{subject}: {done.sentence(request, waited=waited)}"

    screen.show(ink("\n".join(map(line, done.requests))), value)
    return done.exit(waited=waited)


async def _adoption(
    store: Store, providers: Providers, chosen: _Chosen, hosts: tuple[HostStatus, ...]
) -> host_requests.Adoption:
    fleet = chosen.fleet
    rows = {row.name: row for row in await store.fleets()}
    return host_requests.Adoption(
        fleet=fleet,
        row=rows.get(fleet.name),
        machines=await store.machines(fleet.name),
        hosts=hosts,
        ids=tuple(providers.ports.fresh() for _ in hosts),
        keep_disk=chosen.keep_disk,
    )


def _no_servers(hosts: tuple[str, ...]) -> None:
    if hosts:
        raise RequestRefused(f"list takes no hosts: {' '.join(hosts)}")


def _confirm(hosts: tuple[HostStatus, ...], screen: Screen) -> None:
    """Have the whole name of each of these hosts typed: it is not in the pool, and is wiped."""
    for host in hosts:
        warning = f"{host.name} ({host.id}) is not in the pool, and adopting it wipes its disk"
        if screen.json or not (screen.live and sys.stdin.isatty()):
            raise RequestRefused(
                f"{warning}: give its full name instead of its id, or add --keep-disk"
            )
        screen.note(f"{warning}. Type its name to continue:")
        if sys.stdin.readline().strip() != host.name:
            raise RequestRefused(f"that is not {host.name}: nothing was requested")


def _name(host: HostStatus) -> str:
    return f"{host.name} ({host.id})" if host.name else str(host.id)


def _sentence(request: Request, host: HostStatus) -> str:
    """Return what is to come of a request about a host."""
    name = _name(host)
    if request.kind is RequestKind.RETIRE:
        return (
            f"{name}: is retired: deleted now, or as soon as the provider allows it (see "
            f"hostler history FILE {host.id})"
        )
    if request.kind is RequestKind.POOL_ADD:
        return (
            f"{name}: joins the pool of {request.fleet}, under another name; its disk stays as it "
            f"is until it is claimed, and is wiped then (see hostler explain FILE {host.id})"
        )
    disk = "its disk is left as it is" if request.keep else "wiped first"
    return f"{name}: becomes machine {request.machines[0]} of {request.fleet}, {disk}"
