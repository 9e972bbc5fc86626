"""Wishing: scale, end, retire, hold, pause and adopt write what is wanted; an engine takes it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from hostler.config.values import Config
from hostler.domain.errors import WishRefused
from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Wish, WishKind
from hostler.domain.observation.blockers import held_until
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
class Wishing:
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
            config, wish = self._for_fleet(file, WishKind.SCALE, asked)
            _check_size(config.fleet(asked.fleet), size)
            return await self._wish(config, replace(wish, size=size), asked, screen)

        return self.guard(asked.json, work)

    def end(
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
        return self._machine(file, machine, WishKind.END, None, asking, now=now)

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
        return self._machine(file, machine, WishKind.RETIRE, None, asking, now=now)

    def hold(
        self,
        file: File,
        machine: Name,
        /,
        *,
        for_: Annotated[Span, Parameter(name="--for")] = None,
        asking: Asking | None = None,
    ) -> int:
        """Wish that a machine is left alone: nothing destructive is done to it meanwhile."""
        return self._machine(file, machine, WishKind.HOLD, for_, asking)

    def unhold(self, file: File, machine: Name, /, *, asking: Asking | None = None) -> int:
        """Take a hold back."""
        return self._machine(file, machine, WishKind.UNHOLD, None, asking)

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
            config, wish = self._for_fleet(file, WishKind.PAUSE, asked)
            until = self._until(for_, config.fleet(asked.fleet))
            return await self._wish(config, replace(wish, until=until), asked, screen)

        return self.guard(asked.json, work)

    def resume(self, file: File, /, *, asking: Asking | None = None) -> int:
        """Take a pause back."""
        asked = asking or Asking()

        async def work(screen: Screen) -> int:
            config, wish = self._for_fleet(file, WishKind.RESUME, asked)
            return await self._wish(config, wish, asked, screen)

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
            config, wish = self._for_fleet(file, WishKind.ADOPT, asked)
            source = InstallationId(from_) if from_ else None
            async with self.outside.store(config, Purpose.READ) as store:
                check_source(await store.suspects(), wish.fleet, source)
            return await self._wish(config, replace(wish, installation=source), asked, screen)

        return self.guard(asked.json, work)

    def _machine(  # noqa: PLR0913 - what a wish about a machine is made of
        self,
        file: File,
        name: str,
        kind: WishKind,
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
            if kind in {WishKind.END, WishKind.RETIRE}:
                _warn_of_hold(machine, self.outside.clock().now(), screen)
            if kind is WishKind.RETIRE:
                _check_retiring(machine, asked, screen)
            wish = replace(self._new(kind, fleet, asked), machine=machine.id, now=now)
            if kind is WishKind.HOLD:
                wish = replace(wish, until=self._until(time, fleet))
            return await self._wish(config, wish, asked, screen)

        return self.guard(asked.json, work)

    def _for_fleet(self, file: File, kind: WishKind, asked: Asking) -> tuple[Config, Wish]:
        config = self.outside.load(file)
        return config, self._new(kind, config.fleet(asked.fleet), asked)

    def _new(self, kind: WishKind, fleet: Fleet, asked: Asking) -> Wish:
        return Wish(
            number=0,
            kind=kind,
            fleet=fleet.name,
            at=self.outside.clock().now(),
            actor=self.outside.actor(),
            why=asked.why,
        )

    def _until(self, time: str | None, fleet: Fleet) -> datetime:
        longest = fleet.timers.longest_hold
        asked = parse_span(time) if time else longest
        if asked > longest:
            raise WishRefused(
                f"at most {span(longest)}: that is timers.longest_hold of fleet {fleet.name}"
            )
        return self.outside.clock().now() + asked

    async def _wish(self, config: Config, wish: Wish, asked: Asking, screen: Screen) -> int:
        """Write the wish, and say whether it was taken."""
        async with self.outside.store(config, Purpose.WISH) as store:
            kept = await store.wish(wish)
            runs = self.outside.engine_runs(config)
            with screen.waiting("waiting for the engine"):
                waits = runs and asked.wait
                taken = waits and await taken_wish(self.outside, store, {kept.number})
        value = {"wish": as_json.wish(kept), "engine": runs, "taken": taken}
        screen.show(ink(_said(kept, runs=runs, taken=taken, waited=asked.wait)), value)
        return Exit.OK if taken or not asked.wait else Exit.NOT_TAKEN


async def taken_wish(outside: Outside, store: Store, numbers: Collection[int]) -> bool:
    """Wait a while for an engine to take these wishes; tell whether it took them all."""
    clock = outside.clock()
    end = clock.boot() + PATIENCE.total_seconds()
    while clock.boot() < end:
        if all(wish.number not in numbers for wish in await store.wishes()):
            return True
        await clock.sleep(_POLL)
    return False


def _check_size(fleet: Fleet, size: int) -> None:
    if not fleet.renews:
        raise WishRefused(
            f"fleet {fleet.name} has no size of its own (`renews = false`): whoever uses it asks "
            "for each machine"
        )
    if fleet.maximum is not None and size > fleet.maximum:
        raise WishRefused(
            f"fleet {fleet.name} has at most {fleet.maximum} machines: raise `maximum` in its file"
        )


def _check_machine(kind: WishKind, machine: Machine, fleet: Fleet) -> None:
    if kind in {WishKind.END, WishKind.RETIRE} and fleet.protected:
        raise WishRefused(f"fleet {fleet.name} is protected: change `protected` in its file first")
    if kind is WishKind.UNHOLD and machine.hold is None:
        raise WishRefused(f"{machine.id} is not held")


def _warn_of_hold(machine: Machine, now: datetime, screen: Screen) -> None:
    """Say that a machine whose end is asked for stays as long as it is held."""
    if machine.held(now):
        screen.note(f"{held_until(machine, now)}: {machine.id} goes then, or after hostler unhold")


def _check_retiring(machine: Machine, asked: Asking, screen: Screen) -> None:
    """Ask for a reason, and warn where there is no host to give up."""
    check_why(asked.why)
    if machine.host is None:
        screen.note(
            f"{machine.id} has no host that would outlive it: this is the same as hostler end"
        )


def _said(wish: Wish, *, runs: bool, taken: bool, waited: bool) -> str:
    what = f"{wish.kind} {wish.machine or wish.fleet}"
    if wish.size is not None:
        what += f" to {wish.size}"
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
