"""Requests: scale, delete, retire, protect, pause and adopt write what is wanted for the engine."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from hostler.config.values import Config
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.observation.blockers import protected_until
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import parse_span, span
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import Asking, File, Name, find_machine
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render import as_json
from hostler.frontends.cli.render.tables import ink
from hostler.frontends.cli.views.adoption_checks import check_source
from hostler.frontends.cli.views.pool_checks import check_why
from hostler.ports.store import Store

PATIENCE = timedelta(seconds=5)
_POLL = timedelta(milliseconds=100)

Span = Annotated[
    str | None,
    Parameter(help="for how long, such as 2h; left out: the longest that the fleet allows"),
]


@dataclass(frozen=True, slots=True)
class Requesting:
    """The commands that ask for something."""

    outside: Outside
    guard: Guard

    def scale(
        self,
        file: File,
        size: Annotated[int, Parameter(help="how many are to be ready", validator=Number(gte=0))],
        /,
        *,
        asking: Asking | None = None,
    ) -> int:
        """Wish another size; it stays until the next wish, whatever the fleet file says."""
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            config, request = self._for_fleet(file, RequestKind.SCALE, asked)
            _check_size(config.fleet(asked.fleet), size)
            return await self._request(config, replace(request, size=size), asked, screen)

        return self.guard(asked.json, work)

    def delete(
        self,
        file: File,
        machine: Name,
        /,
        *,
        now: Annotated[
            bool, Parameter(negative=(), help="do not wait for what runs on it")
        ] = False,
        asking: Asking | None = None,
    ) -> int:
        """Wish that a machine goes; the fleet's size decides whether another one comes."""
        return self._machine(file, machine, RequestKind.DELETE, None, asking, now=now)

    def retire(
        self,
        file: File,
        machine: Name,
        /,
        *,
        now: Annotated[
            bool, Parameter(negative=(), help="do not wait for what runs on it")
        ] = False,
        asking: Asking | None = None,
    ) -> int:
        """Wish that a machine goes, and that its host is given up: say --why."""
        return self._machine(file, machine, RequestKind.RETIRE, None, asking, now=now)

    def protect(
        self,
        file: File,
        machine: Name,
        /,
        *,
        for_: Annotated[Span, Parameter(name="--for")] = None,
        asking: Asking | None = None,
    ) -> int:
        """Wish that a machine is left alone: nothing destructive is done to it meanwhile."""
        return self._machine(file, machine, RequestKind.PROTECT, for_, asking)

    def unprotect(self, file: File, machine: Name, /, *, asking: Asking | None = None) -> int:
        """Take a hold back."""
        return self._machine(file, machine, RequestKind.UNPROTECT, None, asking)

    def pause(
        self,
        file: File,
        /,
        *,
        for_: Annotated[Span, Parameter(name="--for")] = None,
        asking: Asking | None = None,
    ) -> int:
        """Wish that a whole fleet is left alone: it is looked at, and nothing is changed."""
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            config, request = self._for_fleet(file, RequestKind.PAUSE, asked)
            until = self._until(for_, config.fleet(asked.fleet))
            return await self._request(config, replace(request, until=until), asked, screen)

        return self.guard(asked.json, work)

    def resume(self, file: File, /, *, asking: Asking | None = None) -> int:
        """Take a pause back."""
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            config, request = self._for_fleet(file, RequestKind.RESUME, asked)
            return await self._request(config, request, asked, screen)

        return self.guard(asked.json, work)

    def adopt(
        self,
        file: File,
        /,
        *,
        from_: Annotated[
            str | None,
            Parameter(
                name="--from",
                help="the installation whose marks become ours (leaks shows it as owner); left "
                "out: only parts with our own mark that no record explains",
            ),
        ] = None,
        asking: Asking | None = None,
    ) -> int:
        """Take over servers that carry the fleet's name: after a lost store, or from another."""
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            config, request = self._for_fleet(file, RequestKind.ADOPT, asked)
            source = InstallationId(from_) if from_ else None
            async with self.outside.store(config, Purpose.READ) as store:
                check_source(await store.orphans(), request.fleet, source)
            return await self._request(config, replace(request, installation=source), asked, screen)

        return self.guard(asked.json, work)

    def _machine(  # noqa: PLR0913 - what a wish about a machine is made of
        self,
        file: File,
        name: str,
        kind: RequestKind,
        time: str | None,
        asking: Asking | None,
        *,
        now: bool = False,
    ) -> int:
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            config = self.outside.load(file)
            async with self.outside.store(config, Purpose.READ) as store:
                fleet, machine = await find_machine(store, config, asked.fleet, name)
            _check_machine(kind, machine, fleet)
            if kind in {RequestKind.DELETE, RequestKind.RETIRE}:
                _warn_of_protection(machine, self.outside.clock().now(), screen)
            if kind is RequestKind.RETIRE:
                _check_retiring(machine, asked, screen)
            request = replace(self._new(kind, fleet, asked), machine=machine.id, now=now)
            if kind is RequestKind.PROTECT:
                request = replace(request, until=self._until(time, fleet))
            return await self._request(config, request, asked, screen)

        return self.guard(asked.json, work)

    def _for_fleet(self, file: File, kind: RequestKind, asked: Asking) -> tuple[Config, Request]:
        config = self.outside.load(file)
        return config, self._new(kind, config.fleet(asked.fleet), asked)

    def _new(self, kind: RequestKind, fleet: Fleet, asked: Asking) -> Request:
        return Request(
            number=0,
            kind=kind,
            fleet=fleet.name,
            at=self.outside.clock().now(),
            actor=self.outside.actor(),
            why=asked.why,
        )

    def _until(self, time: str | None, fleet: Fleet) -> datetime:
        longest = fleet.timers.longest_protection
        asked = parse_span(time) if time else longest
        if asked > longest:
            raise RequestRefused(
                f"at most {span(longest)}: that is timers.longest_protection of fleet {fleet.name}"
            )
        return self.outside.clock().now() + asked

    async def _request(
        self, config: Config, request: Request, asked: Asking, screen: Screen
    ) -> int:
        """Write the wish, and say whether it was taken."""
        async with self.outside.store(config, Purpose.REQUEST) as store:
            kept = await store.request(request)
            runs = self.outside.engine_runs(config)
            with screen.waiting("waiting for the engine"):
                waits = runs and asked.wait
                taken = waits and await taken_request(self.outside, store, {kept.number})
        value = {"request": as_json.request(kept), "engine": runs, "taken": taken}
        screen.show(ink(_said(kept, runs=runs, taken=taken, waited=asked.wait)), value)
        return Exit.OK if taken or not asked.wait else Exit.NOT_TAKEN


async def taken_request(outside: Outside, store: Store, numbers: Collection[int]) -> bool:
    """Wait a while for an engine to take these wishes; tell whether it took them all."""
    clock = outside.clock()
    end = clock.boot() + PATIENCE.total_seconds()
    while clock.boot() < end:
        if all(request.number not in numbers for request in await store.requests()):
            return True
        await clock.sleep(_POLL)
    return False


def _check_size(fleet: Fleet, size: int) -> None:
    if not fleet.renews:
        raise RequestRefused(
            f"fleet {fleet.name} has no size of its own (`renews = false`): whoever uses it asks "
            "for each machine"
        )
    if fleet.maximum is not None and size > fleet.maximum:
        raise RequestRefused(
            f"fleet {fleet.name} has at most {fleet.maximum} machines: raise `maximum` in its file"
        )


def _check_machine(kind: RequestKind, machine: Machine, fleet: Fleet) -> None:
    if kind in {RequestKind.DELETE, RequestKind.RETIRE} and fleet.protected:
        raise RequestRefused(
            f"fleet {fleet.name} is protected: change `protected` in its file first"
        )
    if kind is RequestKind.UNPROTECT and machine.protection is None:
        raise RequestRefused(f"{machine.id} is not held")


def _warn_of_protection(machine: Machine, now: datetime, screen: Screen) -> None:
    """Say that a machine whose end is asked for stays as long as it is held."""
    if machine.is_protected(now):
        screen.note(
            f"{protected_until(machine, now)}: {machine.id} goes then, or after hostler unprotect"
        )


def _check_retiring(machine: Machine, asked: Asking, screen: Screen) -> None:
    """Ask for a reason, and warn where there is no host to give up."""
    check_why(asked.why)
    if machine.host is None:
        screen.note(
            f"{machine.id} has no host that would outlive it: this is the same as hostler delete"
        )


def _said(request: Request, *, runs: bool, taken: bool, waited: bool) -> str:
    what = f"{request.kind} {request.machine or request.fleet}"
    if request.size is not None:
        what += f" to {request.size}"
    return f"{what}: {told_of(runs=runs, taken=taken, waited=waited)}"


def told_of(*, runs: bool, taken: bool, waited: bool) -> str:
    """Return what became of a wish up to now."""
    if taken:
        return "taken by the running engine"
    if not runs:
        return "written; no engine is running, the next one takes it (hostler run)"
    if not waited:
        return "written; the running engine takes it"
    return f"written, but not taken within {span(PATIENCE)}; see hostler status"
