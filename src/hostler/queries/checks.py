"""Checks: is the fleet file right, and would the provider sell what it asks for?"""

from collections.abc import AsyncIterator, Iterable

from msgspec import Struct

from hostler.config.values import Config
from hostler.controllers.runtime.settings import Account
from hostler.domain.errors import ProviderError
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import Snapshot
from hostler.ports.kind import Lack
from hostler.ports.online import ChecksOnline, Finding

from .providers import Providers, require_observed
from .wording import count


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was checked: `ok` or not, or `warning` where it works and is hardly meant."""

    about: str
    text: str
    ok: bool = True
    warning: bool = False


def check_file(config: Config) -> tuple[Check, ...]:
    """Return what a fleet file that could be loaded asks for, and its warnings."""
    fleets = (_fleet(fleet) for fleet in config.fleets)
    unread = (Check(about="objects", text=config.unread, warning=True),) if config.unread else ()
    return (*fleets, *(_warning(text) for text in config.warnings), *unread)


def check_place(path: str, lacks: Iterable[Lack]) -> tuple[Check, ...]:
    """Return what an engine would not find on this computer for the table at this path."""
    return tuple(
        Check(
            about=f"{path}.{lack.key}",
            text=lack.text,
            ok=lack.environment,
            warning=lack.environment,
        )
        for lack in lacks
    )


async def check_online(providers: Providers) -> AsyncIterator[Check]:
    """Observe once for each fleet, and ask the providers that can say more; nothing is changed.

    Raises ProviderError where a provider shows nothing at all.
    """
    for account in providers.accounts:
        for fleet in account.fleets:
            snapshot = await providers.snapshot(fleet)
            await _require_answer(account, snapshot)
            yield _answer(account, snapshot)
        for finding in await _findings(account):
            yield Check(about=finding.about, text=finding.text, ok=finding.well)


async def _require_answer(account: Account, snapshot: Snapshot) -> None:
    """Raise ProviderError where nothing answers; the provider may know what must be changed."""
    try:
        require_observed(snapshot.inventory)
    except ProviderError as error:
        lasting = [f"{f.about} {f.text}" for f in await _findings(account) if f.lasting]
        if not lasting:
            raise
        raise ProviderError("; ".join(lasting)) from error


async def _findings(account: Account) -> tuple[Finding, ...]:
    if not isinstance(account.provider, ChecksOnline):
        return ()
    offers = {fleet.name: fleet.offers for fleet in account.fleets}
    return await account.provider.check_online(offers)


def _answer(account: Account, snapshot: Snapshot) -> Check:
    about, name = f"provider {account.name}", snapshot.fleet.name
    if foreign := len(snapshot.foreign):
        belongs = "belongs" if foreign == 1 else "belong"
        resources = f"{count(foreign, 'resource')} in the name of {name} {belongs}"
        text = f"{resources} to another installation; they are listed as orphans"
        return Check(about=about, text=text, ok=False)
    if account.provider.capabilities.hosts:  # its own findings describe them, zone by zone
        return Check(about=about, text="answers")
    tagged = len(snapshot.inventory.sightings)
    return Check(about=about, text=f"answers; {count(tagged, 'resource')} with our tag")


def _fleet(fleet: Fleet) -> Check:
    offers = ", then ".join(str(offer) for offer in fleet.offers[:4])
    more = f" and {len(fleet.offers) - 4} more" if len(fleet.offers) > 4 else ""
    return Check(
        about=f"fleet {fleet.name}",
        text=f"{fleet.size} of {offers}{more}; template {fleet.template}",
    )


def _warning(text: str) -> Check:
    about, _, rest = text.partition(": ")
    return Check(about=about, text=rest, warning=True)
