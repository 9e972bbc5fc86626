"""Protected Fleets: one that is deleted stays in force until it is protected no more. Pure.

What a removed fleet is says its table of when it was removed, and a protected one ends nothing: a
fleet that was removed while it was protected would keep its machines for ever, whatever is written
on its object later.
"""

from collections.abc import Iterable, Mapping

from hostler.config.decode import Raw
from hostler.config.definition import table_of
from hostler.domain.model.fleet import FleetRow
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import FLEET, Place
from hostler.frontends.kubernetes.objects.models import Fields, Written

POLICY, END = "deletionPolicy", "end"


def stays(one: Written, run: Raw | None) -> bool:
    """Tell whether a deleted Fleet is in force still.

    `run` is its table as an engine has it, None where none has: it stays until its object says that
    it is protected no more, and an engine has run it so.
    """
    ends_all = one.wanted.get(POLICY) == END
    return ends_all and run is not None and (_protects(one.wanted) or _protects(run))


def _protects(table: Fields | Raw) -> bool:
    return table.get("protected") is True


def run_tables(
    objects: Iterable[Written], rows: Iterable[FleetRow], namespaces: Namespaces
) -> Mapping[Place, Raw]:
    """Return the tables that an engine last ran for the fleets of these objects.

    What was removed after its object was deleted is run no more.
    """
    named = {namespaces.name_of(one.metadata): one for one in objects}
    known = ((row, named.get(str(row.name))) for row in rows)
    tables = {
        Place(FLEET, str(row.name)): _table(row)
        for row, one in known
        if one is not None and not (one.ends and row.removed is not None)
    }
    return {place: table for place, table in tables.items() if table is not None}


def _table(row: FleetRow) -> Raw | None:
    """Return the table that an engine last ran; None where the store does not say it."""
    try:
        return table_of(row.definition)
    except ValueError:
        return None
