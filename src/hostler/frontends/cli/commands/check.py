"""Check: is the fleet file right, and would the provider sell what it asks for?"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from hostler.config.values import Config
from hostler.domain.errors import StoreTooOld
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Services, open_providers
from hostler.frontends.cli.render.tables import ink, table
from hostler.ports.store import Store
from hostler.queries.checks import Check, check_file, check_online, check_place
from hostler.queries.left_accounts import left_accounts
from hostler.queries.removed import removed_fleets


class CheckCommand(Struct, frozen=True):
    """The command that changes nothing and says what would go wrong."""

    services: Services
    guard: Guard

    def check(
        self,
        file: File,
        /,
        *,
        online: Annotated[
            bool, Parameter(negative=(), help="also ask the provider; nothing is changed")
        ] = False,
        json: Json = False,
    ) -> int:
        """Check the fleet file, and with --online the key, zones, types and images too.

        Objects of a cluster are checked as far as they are in force beside an engine.
        """
        return self.guard(json, lambda screen: self._check(file, screen, online=online))

    async def _check(self, file: Path, screen: Screen, *, online: bool) -> int:
        config = self.services.load(file, partial=True)
        async with AsyncExitStack() as stack:
            config, store = await self._opened(config, stack)
            if config.objects is None:
                config = self.services.load(file)  # a file that is alone has fleets
            checks = await self._found(config, store, screen, online=online)
        ok = all(entry.ok for entry in checks)
        value = {
            "file": str(config.path),
            "store": str(config.store),
            "ok": ok,
            "checks": [
                {"ok": c.ok, "warning": c.warning, "about": c.about, "text": c.text} for c in checks
            ],
        }
        screen.show(_findings(config.path, checks), value)
        return Exit.OK if ok else Exit.FAILED

    async def _opened(self, config: Config, stack: AsyncExitStack) -> tuple[Config, Store | Check]:
        """Return the values with those of objects, and the store, open until the end.

        In its place stands what is wrong with it.
        """
        if problem := await self.services.store_problem(config):
            return config, Check(about="store", text=problem, ok=False)
        try:
            store = await stack.enter_async_context(self.services.store(config, Purpose.CHECK))
            beside = self.services.objects(config, store)
            return await stack.enter_async_context(beside), store
        except StoreTooOld as error:
            return config, Check(about="store", text=str(error), ok=True, warning=True)

    async def _found(
        self, config: Config, found: Store | Check, screen: Screen, *, online: bool
    ) -> list[Check]:
        checks = list(check_file(config))
        for path, lacks in self.services.lacks(config).items():
            checks += check_place(path, lacks)
        checks += [found] if isinstance(found, Check) else await self._recorded(config, found)
        if online:
            async with (
                self.services.store(config, Purpose.CHECK) as store,
                open_providers(self.services, config, store) as providers,
            ):
                with screen.waiting("asking the provider"):
                    checks += [entry async for entry in check_online(providers)]
        return checks

    async def _recorded(self, config: Config, store: Store) -> list[Check]:
        """Return what is wrong with the file for what the store holds of its fleets, and of others.

        Those that the file has no longer are a warning each, but for those that are objects.
        """
        if not self.services.store_exists(config):
            return []
        known = await self.services.with_removed(config, store)
        now = self.services.clock().now()
        left = [
            Check(about=fault.path, text=f"expected {fault.expected}; {fault.hint}", ok=False)
            for fault in await left_accounts(store, known, now)
        ]
        return left + [
            Check(
                about=f"fleet.{one.row.name}",
                text=one.sentence(known.unreadable, now),
                ok=True,
                warning=True,
            )
            for one in await removed_fleets(store, known, now)
        ]


def _findings(path: Path, checks: Sequence[Check]) -> RenderableType:
    """Return the findings as a table, after a verdict on the whole."""
    ok = all(entry.ok for entry in checks)
    made = table("", "subject", "finding")
    for entry in checks:
        made.add_row(_sign(entry), ink(entry.about), ink(entry.text))
    verdict, style = ("OK", "green") if ok else ("not OK", "red")
    return Group(ink(f"{path}: {verdict}", style), made)


def _sign(entry: Check) -> Text:
    if not entry.ok:
        return Text("✗", "red")
    return Text("!", "yellow") if entry.warning else Text("✓", "green")
