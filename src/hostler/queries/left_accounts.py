"""Left accounts: fleets that a file takes to another account than that in which their machines are.

Nobody would look for these machines where they are: each would count as lost, another be made in
its place, and all of them stay on the bill of an account that is never observed again.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from hostler.config.definition import PROVIDER, table_of
from hostler.config.errors import Fault
from hostler.config.values import Config, WrongFile
from hostler.domain.ids import AccountName
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.resource import OrphanClass
from hostler.ports.store import Store

from .removed import RemovedFleet, held_of
from .renamed_hosts import renamed_hosts
from .wording import euros

_OF_OTHERS = {OrphanClass.FOREIGN, OrphanClass.CLAIMED_LOOKING, OrphanClass.OUTSIDE}
"""Orphans that are told of, and are for others to look after."""


async def left_accounts(store: Store, config: Config, now: datetime) -> tuple[Fault, ...]:
    """Return a fault for each fleet that still has something in another account than its own.

    And for each machine that has a host of its account under another name.
    """
    renamed = await renamed_hosts(store, config)
    moved = tuple(_moved(await store.fleets(), config))
    if not moved:
        return renamed
    hosts, found = await store.hosts(), [*renamed]
    orphans = tuple(one for one in await store.orphans() if one.cls not in _OF_OTHERS)
    for row, account in moved:
        held = await held_of(store, row, (hosts, orphans), now)
        if held.needs_engine or held.orphans:
            found.append(_fault(account, config.account_ids[account], held))
    return tuple(found)


async def refuse_left_accounts(store: Store, config: Config, now: datetime) -> None:
    """Raise WrongFile where a fleet would be taken away from what it still has."""
    if faults := await left_accounts(store, config, now):
        raise WrongFile(config.path, faults)


def _moved(rows: Iterable[FleetRow], config: Config) -> Iterator[tuple[FleetRow, AccountName]]:
    """Yield the fleets whose accounts were others, as far as both are known, with those of now.

    A table that cannot be read any more names its account all the same: of another kind it may be.
    """
    for row in rows:
        fleet = config.known(row.name)
        unread = row.name in config.unreadable
        account = fleet.account if fleet is not None else AccountName(_account_of(row))
        if (fleet is not None or unread) and _is_another(row, account, config):
            yield row, account


def _is_another(row: FleetRow, account: AccountName, config: Config) -> bool:
    """Tell whether a fleet's account was another one than this.

    Those of hosts that the file names have no id, only their kind: they are two by their names,
    where both stand in the file.
    """
    now, before = config.account_ids.get(account, ""), _account_of(row)
    if "" in {row.account_id, now}:
        return False
    stands = any(a.name == before and a.kind == row.account_id for a in config.accounts)
    return row.account_id != now or (stands and before != account)


def _fault(account: AccountName, now: str, held: RemovedFleet) -> Fault:
    row, name = held.row, held.row.name
    moved = _account_of(row) not in {"", str(account)}
    cost = f", {euros(held.cost)} so far" if held.cost else ""
    at = row.account_id if row.account_id != now else _account_of(row)
    return Fault(
        path=f"fleet.{name}.provider" if moved else f"provider.{account}",
        value=f"{account} ({now})" if moved else now,
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
