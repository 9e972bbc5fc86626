"""Left accounts: fleets that a file takes to another account than that in which their machines are.

Nobody would look for these machines where they are: each would count as lost, another be made in
its place, and all of them stay on the bill of an account that is never observed again.
"""

from collections.abc import Mapping
from datetime import datetime

from hostler.config.definition import PROVIDER, table_of
from hostler.config.errors import Fault
from hostler.config.values import Config, WrongFile
from hostler.domain.ids import AccountName
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.resource import OrphanClass
from hostler.ports.store import Store

from .removed import RemovedFleet, held_of
from .wording import euros

_OF_OTHERS = {OrphanClass.FOREIGN, OrphanClass.CLAIMED_LOOKING, OrphanClass.OUTSIDE}
"""Orphans that are told of, and are for others to look after."""


async def left_accounts(store: Store, config: Config, now: datetime) -> tuple[Fault, ...]:
    """Return a fault for each fleet that still has something in another account than its own."""
    rows = {row.name: row for row in await store.fleets()}
    known = [(fleet, rows[fleet.name]) for fleet in config.fleets if fleet.name in rows]
    accounts = {account.name: account.kind for account in config.accounts}
    moved = [(fleet, row) for fleet, row in known if _moves(fleet, row, accounts)]
    if not moved:
        return ()
    hosts, found = await store.hosts(), list[Fault]()
    orphans = tuple(one for one in await store.orphans() if one.cls not in _OF_OTHERS)
    for fleet, row in moved:
        held = await held_of(store, row, (hosts, orphans), now)
        if held.needs_engine or held.orphans:
            found.append(_fault(fleet, held))
    return tuple(found)


async def refuse_left_accounts(store: Store, config: Config, now: datetime) -> None:
    """Raise WrongFile where a fleet would be taken away from what it still has."""
    if faults := await left_accounts(store, config, now):
        raise WrongFile(config.path, faults)


def _moves(fleet: Fleet, row: FleetRow, accounts: Mapping[AccountName, str]) -> bool:
    """Tell whether both accounts are known, and are two.

    Those of hosts that the file names have no id, only their kind: they are two by their names,
    where both stand in the file.
    """
    if "" in {row.account_id, fleet.account_id}:
        return False
    before = AccountName(_account_of(row))
    named = before != fleet.account and accounts.get(before) == row.account_id
    return named or row.account_id != fleet.account_id


def _fault(fleet: Fleet, held: RemovedFleet) -> Fault:
    row, name = held.row, fleet.name
    moved = _account_of(row) not in {"", str(fleet.account)}
    cost = f", {euros(held.cost)} so far" if held.cost else ""
    at = _account_of(row) if row.account_id == fleet.account_id else row.account_id
    return Fault(
        path=f"fleet.{name}.provider" if moved else f"provider.{fleet.account}",
        value=f"{fleet.account} ({fleet.account_id})" if moved else fleet.account_id,
        expected=f"{at}: fleet {name} has {held.what} there{cost}, which nobody would look after "
        "any more",
        hint="put it back, and end them first; or give another account a [provider] and fleets of "
        "its own",
    )


def _account_of(row: FleetRow) -> str:
    """Return the name of the table that the fleet was in, or an empty string."""
    try:
        return str(table_of(row.definition).get(PROVIDER, ""))
    except ValueError:
        return ""
