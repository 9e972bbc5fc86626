"""Reload: make the running engine read its file again, and show what changes by that."""

from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Group

from hostler.config.digests import differing, digests
from hostler.config.values import Config
from hostler.controllers.plan import Plan
from hostler.domain.errors import RequestRefused
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Services, open_providers
from hostler.frontends.cli.render.plans import plans
from hostler.frontends.cli.render.tables import ink
from hostler.ports.engine_record import EngineRecord, engine_record_of
from hostler.ports.store import Store
from hostler.queries import documents

_PATIENCE = timedelta(seconds=15)
_PAUSE = timedelta(milliseconds=100)


class _Answer(Struct, frozen=True, kw_only=True):
    """What became of it: the engine runs the file, refused it, or has not answered yet."""

    taken: bool = False
    refused: str = ""

    @property
    def exit(self) -> Exit:
        if self.taken:
            return Exit.OK
        return Exit.FAILED if self.refused else Exit.NOT_TAKEN

    @property
    def text(self) -> str:
        """The answer in a sentence."""
        if self.taken:
            return "the engine runs this file now"
        if self.refused:
            return f"the engine refused the file and goes on with the old one: {self.refused}"
        return "the engine has not answered yet; hostler status says whether it runs this file"


class ReloadCommand(Struct, frozen=True):
    """The command about the file that the engine runs."""

    services: Services
    guard: Guard

    def reload(
        self,
        file: File,
        /,
        *,
        dry_run: Annotated[
            bool,
            Parameter(
                name="--dry-run", negative=(), help="only show what would change, and what follows"
            ),
        ] = False,
        json: Json = False,
    ) -> int:
        """Make the running engine read its file again, whole or not at all, and show the plan."""
        return self.guard(json, lambda screen: self._reload(file, screen, dry_run=dry_run))

    async def _reload(self, file: Path, screen: Screen, *, dry_run: bool) -> int:
        config = self.services.load(file, partial=True)
        async with self.services.store(config, Purpose.READ) as store:
            record = await self._record(config, store)
            if record.objects is None:
                config = self.services.load(file)  # a file that is alone has fleets
            else:
                config = replace(config, objects=frozenset(record.objects))
            changed = differing(record.of_file, digests(config))
            config = await self.services.with_removed(config, store)
            made = await self._plans(config, store, screen, record.objects or ())
            answer = None if dry_run else await self._ask(config, store)
        value = {
            "changed": changed,
            "fleets": [documents.plan(entry) for entry in made],
            "taken": answer.taken if answer else None,
            "refused": answer.refused if answer else "",
        }
        lines = [f"changed: {', '.join(changed) or 'nothing'}", *([answer.text] if answer else ())]
        screen.show(
            Group(plans(made, (), self.services.clock().now()), *(ink(line) for line in lines)),
            value,
        )
        return answer.exit if answer else Exit.OK

    async def _record(self, config: Config, store: Store) -> EngineRecord:
        """Return what the engine runs; RequestRefused where it is not this file."""
        if not self.services.engine_runs(config):
            raise RequestRefused(f"no engine runs on {config.store}: start one with hostler run")
        record = await engine_record_of(store)
        if record is None:
            raise RequestRefused("the engine has not recorded yet which file it runs: try again")
        if why := _another(record, config):
            raise RequestRefused(why)
        return record

    async def _plans(
        self, config: Config, store: Store, screen: Screen, objects: Collection[str]
    ) -> list[Plan]:
        """Return what a cycle would do now by the new file, which is none of objects' fleets."""
        fleets = tuple(fleet for fleet in config.fleets if f"fleet.{fleet.name}" not in objects)
        by_file = replace(config, fleets=fleets)
        async with open_providers(self.services, by_file, store) as providers:
            with screen.waiting("observing the providers"):
                return [await providers.plan(fleet) for fleet in fleets]

    async def _ask(self, config: Config, store: Store) -> _Answer:
        """Ask the engine, and wait for its answer."""
        clock = self.services.clock()
        asked = clock.now()
        self.services.ask_to_reload(config)
        while clock.now() - asked < _PATIENCE:
            answer = await self._answer(config, store, asked)
            if answer is not None:
                return answer
            await clock.sleep(_PAUSE)
        return _Answer()

    @staticmethod
    async def _answer(config: Config, store: Store, asked: datetime) -> _Answer | None:
        record = await engine_record_of(store)
        if record is None:
            return None
        if record.refused_at is not None and record.refused_at >= asked:
            return _Answer(refused=record.refused)
        if record.since >= asked:
            return _Answer(taken=not differing(record.of_file, digests(config)))
        return None


def _another(record: EngineRecord, config: Config) -> str:
    """Return why an engine does not run this file; empty where it does."""
    ran = Path(record.file)
    if ran == config.path.resolve():
        return ""
    if record.objects is not None and not ran.exists():
        return "what objects say is taken at once: there is nothing to reload"
    return f"the engine runs another file: {record.file}"
