"""Removed fleets: those that a store holds and the file no longer has, read from the store."""

from collections.abc import Iterable

from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet, FleetRow

from .definition import PROVIDER, table_of
from .load import Bought, Kinds, Reading
from .values import Config


def with_removed(config: Config, rows: Iterable[FleetRow], kinds: Kinds) -> Config:
    """Return the file's values with these fleets, each as an engine last found it in the file.

    What cannot be read any more (its provider left the file too) is in `unreadable`, and why.
    """
    accounts = {
        str(account.name): Bought(kind=kinds[account.kind](), account=account)
        for account in config.accounts
    }
    fleets, templates = list(config.fleets), dict(config.templates)
    nodes, unreadable = dict(config.nodes), dict(config.unreadable)
    for row in rows:
        reading = Reading(path=config.path, kinds=kinds, stores={}, reclaims=config.reclaims)
        found, why = _read(reading, row, accounts)
        if found is None:
            unreadable[row.name] = why
        else:
            fleet, template = found
            fleets.append(replace(fleet, removed=True))
            templates[fleet.name] = template
            nodes |= reading.nodes
    return replace(
        config, fleets=tuple(fleets), templates=templates, nodes=nodes, unreadable=unreadable
    )


def _read(
    reading: Reading, row: FleetRow, accounts: dict[str, Bought]
) -> tuple[tuple[Fleet, object] | None, str]:
    """Return a fleet and its template, or why its table can no longer be read."""
    try:
        raw = table_of(row.definition)
    except ValueError:
        return None, "the store does not say what its table was"
    found = reading.fleet(str(row.name), raw, accounts)
    if found is None or reading.faults.found:
        faults = "; ".join(" ".join(str(fault).split()) for fault in reading.faults.found)
        why = faults or f"there is no provider {raw.get(PROVIDER, '')}"
        return None, f"its table can no longer be read: {why}"
    return found, ""
