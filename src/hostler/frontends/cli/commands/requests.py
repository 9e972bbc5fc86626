"""Requests: scale, delete, retire, protect, pause and adopt ask something of the engine."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Protocol

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import Struct

from hostler.config.values import Config
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName, InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import parse_span
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, Name, RequestOptions, Whole
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Services, open_records, standing_of
from hostler.frontends.cli.render.tables import ink
from hostler.queries import documents
from hostler.queries.lookup import find_machine
from hostler.queries.wording import rounded
from hostler.requests import fleets, machines, renames
from hostler.requests.recording import Accepted, Author, record, refusals, wait_until_taken

PATIENCE = timedelta(seconds=5)

Duration = Annotated[
    str | None,
    Parameter(
        name="--for",
        help="how long, such as 2h; default: the longest that the fleet allows",
    ),
]
Now = Annotated[bool, Parameter(negative=(), help="do not wait for jobs that run on it")]


class AboutMachine(Protocol):
    """Checks a request about a machine, and returns it; RequestRefused says what is wrong."""

    def __call__(self, author: Author, fleet: Fleet, machine: Machine) -> Accepted:
        """Return the request."""
        ...


class RequestCommands(Struct, frozen=True):
    """The commands that ask for something."""

    services: Services
    guard: Guard

    def scale(
        self,
        file: File,
        size: Annotated[
            Whole,
            Parameter(
                help="how many machines should be ready",
                validator=Number(gte=0, lte=fleets.MOST_MACHINES),
            ),
        ],
        /,
        *,
        options: RequestOptions | None = None,
    ) -> int:
        """Change the fleet's size; it stays until the next request, whatever the file says."""

        def check(author: Author, fleet: Fleet, config: Config) -> Accepted:
            if config.is_object(fleet.name):
                raise RequestRefused(_scaled_by_kubectl(fleet.name, size))
            return fleets.scale(author, fleet, size)

        return self._about_fleet(file, check, options)

    def delete(
        self,
        file: File,
        machine: Annotated[
            str,
            Parameter(
                help="the id of a machine, or how it begins; or the name of a fleet that is no "
                "longer in the file"
            ),
        ],
        /,
        *,
        now: Now = False,
        options: RequestOptions | None = None,
    ) -> int:
        """Delete a machine, or all that a fleet has left which is no longer in the file.

        A fleet's size decides whether another machine is made.
        """
        chosen = options or RequestOptions()

        async def work(screen: Screen) -> int:
            author = author_of(self.services, chosen)
            async with open_records(self.services, file, screen) as (config, store):
                if config.is_object(FleetName(machine)):
                    raise RequestRefused(_ended_by_kubectl(FleetName(machine)))
                if (fleet := config.known(machine)) is not None:
                    accepted = fleets.delete(author, fleet)
                else:
                    found = await find_machine(store, config.chosen(chosen.fleet), machine)
                    accepted = machines.delete(author, *found, now=now)
            return await self._submit(config, accepted, chosen, screen)

        return self.guard(chosen.json, work)

    def retire(
        self,
        file: File,
        machine: Name,
        /,
        *,
        now: Now = False,
        options: RequestOptions | None = None,
    ) -> int:
        """Delete a machine and retire its host, for a reason (--why)."""

        def check(author: Author, fleet: Fleet, machine: Machine) -> Accepted:
            return machines.retire(author, fleet, machine, now=now)

        return self._about_machine(file, machine, check, options)

    def protect(
        self,
        file: File,
        machine: Name,
        /,
        *,
        for_: Duration = None,
        options: RequestOptions | None = None,
    ) -> int:
        """Protect a machine for a while: nothing destructive is done to it."""

        def check(author: Author, fleet: Fleet, machine: Machine) -> Accepted:
            return machines.protect(author, fleet, machine, duration_of(for_))

        return self._about_machine(file, machine, check, options)

    def unprotect(
        self, file: File, machine: Name, /, *, options: RequestOptions | None = None
    ) -> int:
        """End a machine's protection."""
        return self._about_machine(file, machine, machines.unprotect, options)

    def pause(
        self,
        file: File,
        /,
        *,
        for_: Duration = None,
        options: RequestOptions | None = None,
    ) -> int:
        """Pause a whole fleet for a while: what was begun is finished, nothing else is changed."""

        def check(author: Author, fleet: Fleet, _: Config) -> Accepted:
            return fleets.pause(author, fleet, duration_of(for_))

        return self._about_fleet(file, check, options)

    def resume(self, file: File, /, *, options: RequestOptions | None = None) -> int:
        """End a fleet's pause."""
        chosen = options or RequestOptions()

        async def work(screen: Screen) -> int:
            async with open_records(self.services, file, screen) as (config, store):
                fleet = config.fleet(chosen.fleet)
                rows = {row.name: row for row in await store.fleets()}
            author = author_of(self.services, chosen)
            accepted = fleets.resume(author, fleet, rows.get(fleet.name))
            return await self._submit(config, accepted, chosen, screen)

        return self.guard(chosen.json, work)

    def adopt(
        self,
        file: File,
        /,
        *,
        from_: Annotated[
            str | None,
            Parameter(
                name="--from",
                help="the installation whose tags become ours (`orphans` shows it as owner); "
                "default: only resources with our own tag that no record explains",
            ),
        ] = None,
        from_fleet: Annotated[
            str | None,
            Parameter(
                help="a fleet that is no longer in the file: its machines become this fleet's, as "
                "after a rename",
            ),
        ] = None,
        options: RequestOptions | None = None,
    ) -> int:
        """Take over what another had: servers with the fleet's name, or a renamed fleet's machines.

        Servers with its name are there after a store was lost, or from elsewhere.
        """
        chosen = options or RequestOptions()
        source = InstallationId(from_) if from_ else None

        async def work(screen: Screen) -> int:
            author = author_of(self.services, chosen)
            if from_ and from_fleet:
                raise RequestRefused("--from and --from-fleet ask for two things: one at a time")
            async with open_records(self.services, file, screen) as (config, store):
                fleet = config.fleet(chosen.fleet)
                if from_fleet is not None:
                    found = await renames.source_of(config, store, fleet, FleetName(from_fleet))
                    accepted = renames.adopt_fleet(author, fleet, found)
                else:
                    accepted = fleets.adopt(author, fleet, source, await store.orphans())
            return await self._submit(config, accepted, chosen, screen)

        return self.guard(chosen.json, work)

    def _about_fleet(
        self,
        file: Path,
        check: Callable[[Author, Fleet, Config], Accepted],
        options: RequestOptions | None,
    ) -> int:
        chosen = options or RequestOptions()

        async def work(screen: Screen) -> int:
            async with open_records(self.services, file, screen) as (config, _):
                fleet = config.fleet(chosen.fleet)
            accepted = check(author_of(self.services, chosen), fleet, config)
            return await self._submit(config, accepted, chosen, screen)

        return self.guard(chosen.json, work)

    def _about_machine(
        self, file: File, name: str, check: AboutMachine, options: RequestOptions | None
    ) -> int:
        chosen = options or RequestOptions()

        async def work(screen: Screen) -> int:
            async with open_records(self.services, file, screen) as (config, store):
                fleet, machine = await find_machine(store, config.chosen(chosen.fleet), name)
            accepted = check(author_of(self.services, chosen), fleet, machine)
            return await self._submit(config, accepted, chosen, screen)

        return self.guard(chosen.json, work)

    async def _submit(
        self, config: Config, accepted: Accepted, options: RequestOptions, screen: Screen
    ) -> int:
        """Record the request, and say whether it was taken."""
        done = await submit(self.services, config, (accepted,), wait=options.wait, screen=screen)
        (request,) = done.requests
        value = {
            "request": documents.request(request),
            "warnings": done.warnings,
            "engine": done.engine,
            "taken": done.taken,
            "refused": done.refusals.get(request.number, ""),
        }
        screen.show(ink(f"{_title(request)}: {done.sentence(request, waited=options.wait)}"), value)
        return done.exit(waited=options.wait)


class Submitted(Struct, frozen=True, kw_only=True):
    """Requests as they were recorded; whether an engine runs, and whether it took them all.

    `refusals` say why it refused some of them, by their numbers; `older` whether the engine runs
    another file than this one. `warnings` are what is to be known of them.
    """

    requests: tuple[Request, ...]
    warnings: tuple[str, ...]
    engine: bool
    taken: bool
    refusals: Mapping[int, str]
    older: bool

    def sentence(self, request: Request, *, waited: bool) -> str:
        """Return what has become of one of the requests up to now."""
        if request.number in self.refusals:
            return f"refused by the running engine: {self.refusals[request.number]}"
        if self.taken:
            return "taken by the running engine"
        if not self.engine:
            return "recorded; no engine is running, the next one takes it (`hostler run FILE`)"
        if not waited:
            return "recorded; the running engine takes it"
        late = f"recorded, but not taken within {rounded(PATIENCE)}"
        if self.older:
            return f"{late}: the engine does not run this file yet, see `hostler reload FILE`"
        return f"{late}; see `hostler status FILE`"

    def exit(self, *, waited: bool) -> Exit:
        """Return the exit code: a refusal counts for more than that another was not taken."""
        if self.refusals:
            return Exit.FAILED
        return Exit.OK if self.taken or not waited else Exit.NOT_TAKEN


async def submit(
    services: Services,
    config: Config,
    accepted: Iterable[Accepted],
    *,
    wait: bool,
    screen: Screen,
) -> Submitted:
    """Say what is to be known of these requests, record them, and wait for the engine."""
    entries = tuple(accepted)
    warnings = tuple(dict.fromkeys(text for entry in entries for text in entry.warnings))
    for warning in warnings:
        screen.note(warning)
    async with services.store(config, Purpose.REQUEST) as store:
        before = await store.newest_event()
        recorded = await record(store, entries)
        runs = services.engine_runs(config)
        numbers = {request.number for request in recorded}
        try:
            with screen.waiting("waiting for the engine"):
                clock, waits = services.clock(), runs and wait
                taken = waits and await wait_until_taken(store, clock, numbers, PATIENCE)
        except asyncio.CancelledError:
            screen.note("interrupted: what was asked for is recorded, and carried out all the same")
            raise
        refused = await refusals(store, before, numbers) if runs and wait else {}
        older = bool((await standing_of(services, config, store)).differs)
    return Submitted(
        requests=recorded,
        warnings=warnings,
        engine=runs,
        taken=taken,
        refusals=refused,
        older=older,
    )


def _scaled_by_kubectl(fleet: FleetName, size: int) -> str:
    """Return how a size is asked for that stands in an object: a request would hide it for good."""
    return (
        f"fleet {fleet} is an object of the cluster, and its size stands there: "
        f"{_kubectl('scale', fleet)} --replicas={size}"
    )


def _ended_by_kubectl(fleet: FleetName) -> str:
    return (
        f"fleet {fleet} is an object of the cluster: to end its machines set `deletionPolicy: end` "
        f"there, then {_kubectl('delete', fleet)}"
    )


def _kubectl(verb: str, fleet: FleetName) -> str:
    """Return what to type about a fleet; one of another namespace than the home has that first."""
    namespace, _, name = fleet.rpartition("_")
    where = f" -n {namespace}" if namespace else ""
    return f"kubectl{where} {verb} fleets.hostler.dev {name}"


def author_of(services: Services, options: RequestOptions) -> Author:
    """Return who asks at this command line."""
    return Author(name=services.actor(), at=services.clock().now(), why=options.why)


def duration_of(text: str | None) -> timedelta | None:
    """Return how long, as `--for` has it; None where it says nothing."""
    return parse_span(text) if text is not None else None


def _title(request: Request) -> str:
    size = f" to {request.size}" if request.size is not None else ""
    if request.source is not None:
        return f"adopt {request.source} as {request.fleet}"
    return f"{request.kind} {request.machine or request.fleet}{size}"
