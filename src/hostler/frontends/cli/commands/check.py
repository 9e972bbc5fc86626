"""Checking: is the fleet file right, and would the provider sell what it asks for?"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from hostler.config.values import Config
from hostler.controllers.plan import observe_once
from hostler.controllers.runtime.settings import Account
from hostler.domain.errors import ProviderError
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import Snapshot
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.null_metrics import NullMetrics
from hostler.frontends.cli.console.options import File, Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render.tables import ink, table
from hostler.frontends.cli.views.coverage import whole
from hostler.ports.online import ChecksOnline, Finding
from hostler.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One thing that was checked."""

    about: str
    text: str
    well: bool = True
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Checking:
    """The command that changes nothing and tells what would go wrong."""

    outside: Outside
    guard: Guard

    def check(
        self,
        file: File,
        /,
        *,
        online: Annotated[
            bool, Parameter(negative=(), help="also ask the provider, changing nothing")
        ] = False,
        json: Json = False,
    ) -> int:
        """Check the fleet file; with --online also key, zones, types and images at the provider."""
        return self.guard(json, lambda screen: self._check(file, screen, online=online))

    async def _check(self, file: Path, screen: Screen, *, online: bool) -> int:
        config = self.outside.load(file)
        checks = [_fleet(fleet) for fleet in config.fleets]
        checks += (_warning(text) for text in config.warnings)
        if online:
            async with self.outside.store(config, Purpose.READ) as store:
                with screen.waiting("asking the provider"):
                    checks += [entry async for entry in self._online(config, store)]
        well = all(entry.well for entry in checks)
        value = {
            "file": str(config.path),
            "store": str(config.store),
            "well": well,
            "checks": [
                {"well": c.well, "warning": c.warns, "about": c.about, "text": c.text}
                for c in checks
            ],
        }
        screen.show(picture(config, checks), value)
        return Exit.OK if well else Exit.FAILED

    async def _online(self, config: Config, store: Store) -> AsyncIterator[Checked]:
        """Look once for each fleet, and let providers that can say more."""
        async with self.outside.accounts(config, store) as accounts:
            ports = self.outside.ports(store, NullMetrics())
            for account in accounts:
                for fleet in account.fleets:
                    snapshot = await observe_once(ports, account, fleet, config.settings)
                    await _answers(account, snapshot)
                    yield _observed(
                        account, fleet, len(snapshot.inventory.sightings), len(snapshot.foreign)
                    )
                for found in await _findings(account):
                    yield found


async def _answers(account: Account, snapshot: Snapshot) -> None:
    """Raise ProviderError where nothing answers; the provider may know what must be changed."""
    try:
        whole(snapshot)
    except ProviderError as error:
        lasting = [f"{f.about} {f.text}" for f in await _found(account) if f.lasting]
        if not lasting:
            raise
        raise ProviderError("; ".join(lasting)) from error


async def _findings(account: Account) -> tuple[Checked, ...]:
    found = await _found(account)
    return tuple(Checked(about=f.about, text=f.text, well=f.well) for f in found)


async def _found(account: Account) -> tuple[Finding, ...]:
    if not isinstance(account.provider, ChecksOnline):
        return ()
    offers = {fleet.name: fleet.offers for fleet in account.fleets}
    return await account.provider.check_online(offers)


def _observed(account: Account, fleet: Fleet, resources: int, foreign: int) -> Checked:
    about = f"provider {account.name}"
    if foreign:
        text = f"{foreign} parts in the name of {fleet.name} are of another installation: see leaks"
        return Checked(about=about, text=text, well=False)
    if account.provider.capabilities.hosts:  # its own findings tell of them, zone by zone
        return Checked(about=about, text="answers")
    return Checked(about=about, text=f"answers; {resources} parts are marked")


def _fleet(fleet: Fleet) -> Checked:
    offers = ", then ".join(str(offer) for offer in fleet.offers[:4])
    more = f" and {len(fleet.offers) - 4} more" if len(fleet.offers) > 4 else ""
    return Checked(
        about=f"fleet {fleet.name}",
        text=f"{fleet.size} of {offers}{more}; template {fleet.template}",
    )


def _warning(text: str) -> Checked:
    about, _, said = text.partition(": ")
    return Checked(about=about, text=said, warns=True)


def _sign(entry: Checked) -> Text:
    if not entry.well:
        return Text("✗", "red")
    return Text("!", "yellow") if entry.warns else Text("✓", "green")


def picture(config: Config, checks: list[Checked]) -> RenderableType:
    """Return the findings as a table, after a word on the whole. Pure."""
    well = all(entry.well for entry in checks)
    word = ("in order", "green") if well else ("not in order", "red")
    made = table("", "what", "found")
    for entry in checks:
        made.add_row(_sign(entry), ink(entry.about), ink(entry.text))
    return Group(ink(f"{config.path}: {word[0]}", word[1]), made)
