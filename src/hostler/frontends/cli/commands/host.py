"""Host: what a person wants of single hosts for a while, whatever the fleets want of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter
from msgspec import Struct
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.domain.errors import Remedy, RequestRefused, UsageError
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, RequestOptions
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services, open_providers, open_records
from hostler.ports.store import Store
from hostler.queries.hosts import recorded_hosts
from hostler.queries.lookup import Unseen, as_far_as_seen, find_machine, hosts_named
from hostler.requests import holds, machines
from hostler.requests.recording import Accepted, Author

from .pool import show_submitted
from .requests import Duration, author_of, duration_of, submit

Act = Literal["reserve", "maintain", "on", "off", "cycle", "lift"]

_HOLDS: Mapping[Act, HoldKind] = {
    "reserve": HoldKind.RESERVED,
    "maintain": HoldKind.MAINTENANCE,
    "on": HoldKind.ON,
    "off": HoldKind.OFF,
}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOptions:
    """How long hosts are held, and what becomes of the machines that have them."""

    for_: Duration = None
    drain: Annotated[
        bool, Parameter(negative=(), help="also delete the machine that has it, once it is idle")
    ] = False
    now: Annotated[
        bool,
        Parameter(negative=(), help="also delete the machine that has it, whatever runs on it"),
    ] = False

    @property
    def ends(self) -> bool:
        """Whether the machine that has a host is deleted."""
        return self.drain or self.now


class _Wanted(Struct, frozen=True, kw_only=True):
    """What is asked of each of some hosts, and by whom."""

    act: Act
    author: Author
    lasts: HoldOptions


class HostCommand(Struct, frozen=True):
    """The command about what a person wants of hosts."""

    services: Services
    guard: Guard

    def host(
        self,
        file: File,
        act: Annotated[
            Act,
            Parameter(
                help="reserve: no further machine takes it. maintain: nothing is done to it at "
                "all. on: it stays on while nobody uses it. off: no further machine takes it, and "
                "it is off. cycle: it is switched off and on, once it is free. lift: end all that"
            ),
        ],
        /,
        *hosts: Annotated[str, Parameter(help="hosts, each by its id or full name")],
        lasts: HoldOptions | None = None,
        options: RequestOptions | None = None,
    ) -> int:
        """Reserve hosts, take them out for maintenance, or switch them, for a while."""
        asked = options or RequestOptions()

        async def work(screen: Screen) -> int:
            wanted = _Wanted(
                act=act, author=author_of(self.services, asked), lasts=lasts or HoldOptions()
            )
            _require_sense(wanted, hosts)
            async with open_records(self.services, file, screen) as (config, store):
                known, unseen = await self._known(config, store, hosts, screen)
                with as_far_as_seen(unseen):
                    named = hosts_named(hosts, known)
                fleets = config.chosen(asked.fleet)
                accepted = [
                    one for host in named for one in await _asked(wanted, host, fleets, store)
                ]
            by_id = {host.id: host for host in named}

            def sentence(request: Request) -> str:
                host = by_id.get(request.host) if request.host is not None else None
                return _sentence(request, host)

            wait = asked.wait
            done = await submit(self.services, config, accepted, wait=wait, screen=screen)
            return show_submitted(done, sentence, screen, waited=wait)

        return self.guard(asked.json, work)

    async def _known(
        self, config: Config, store: Store, names: tuple[str, ...], screen: Screen
    ) -> tuple[tuple[HostStatus, ...], Unseen]:
        """Return the hosts on record; those observed, where a name is of none on record.

        And where not all of them could be observed.
        """
        accounts = {fleet.account for fleet in config.fleets}
        known = await recorded_hosts(store, accounts)
        recorded = {text for host in known for text in (str(host.id), host.name)}
        if recorded.issuperset(names):
            return known, {}
        with screen.waiting("observing the provider"):
            async with open_providers(self.services, config, store) as providers:
                observed = await providers.hosts(accounts)
        return tuple(host for found in observed.hosts.values() for host in found), observed.unseen


def _require_sense(wanted: _Wanted, hosts: tuple[str, ...]) -> None:
    """Raise where what is asked for makes no sense together."""
    act, lasts = wanted.act, wanted.lasts
    if not hosts:
        raise RequestRefused(f"say which host: `hostler host FILE {act} HOST…`", Remedy.LIST_HOSTS)
    if lasts.for_ is not None and act not in _HOLDS:
        raise UsageError(f"{act} takes no --for: it does not last")
    kind = _HOLDS.get(act)
    if lasts.ends and (kind is None or not kind.bars_machines):
        raise UsageError(f"{act} takes neither --drain nor --now: a machine may have the host")


async def _asked(
    wanted: _Wanted, host: HostStatus, fleets: tuple[Fleet, ...], store: Store
) -> tuple[Accepted, ...]:
    fleet = holds.fleet_of(host, fleets)
    kind = _HOLDS.get(wanted.act)
    if kind is None:
        ask = holds.cycle if wanted.act == "cycle" else holds.lift
        return (ask(wanted.author, fleet, host),)
    held = holds.hold(wanted.author, fleet, host, kind, duration_of(wanted.lasts.for_))
    if host.binding is None or not wanted.lasts.ends:
        return (held,)
    owner, machine = await find_machine(store, fleets, host.binding)
    freed = replace(held, warnings=holds.given_up(host, kind))
    return freed, machines.delete(wanted.author, owner, machine, now=wanted.lasts.now)


_COMES = {
    HoldKind.RESERVED: "is reserved",
    HoldKind.MAINTENANCE: "is in maintenance",
    HoldKind.ON: "stays on while nobody uses it",
    HoldKind.OFF: "is switched off, and no machine takes it",
}


def _sentence(request: Request, host: HostStatus | None) -> str:
    """Return what is to come of a request about a host, or about the machine that has it."""
    if host is None:
        return f"machine {request.machine}: is deleted"
    name = host.name or str(host.id)
    if request.kind is RequestKind.LIFT:
        return f"{name}: is at the fleets' disposal again"
    if request.kind is RequestKind.CYCLE or request.hold is None or request.until is None:
        return f"{name}: is switched off and on"
    later = ", once its machine has ended," if _waits(request.hold, host) else ""
    return f"{name}: {_COMES[request.hold]}{later} until {request.until:%Y-%m-%d %H:%M} UTC"


def _waits(kind: HoldKind, host: HostStatus) -> bool:
    return kind.bars_machines and host.binding is not None
