"""Renames: a request that a fleet of the file takes over the machines of one that left it."""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.snapshot import RequestKind
from hostler.ports.store import Store

from .recording import Accepted, Author, new_request


class Source(Struct, frozen=True, kw_only=True):
    """The fleet whose machines are to be taken over: its table and row, where there are any.

    `unreadable` says why its table cannot be read; `others` have the rows of all fleets, and
    `living` how many machines the fleet has that is to take them over.
    """

    name: FleetName
    fleet: Fleet | None
    unreadable: str = ""
    others: Mapping[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    living: int = 0


async def source_of(config: Config, store: Store, fleet: Fleet, name: FleetName) -> Source:
    """Return what the file and the store say of a fleet whose machines another is to have."""
    return Source(
        name=name,
        fleet=config.known(name),
        unreadable=config.unreadable.get(name, ""),
        others={row.name: row for row in await store.fleets()},
        living=len(await store.machines(fleet.name)),
    )


def adopt_fleet(author: Author, fleet: Fleet, source: Source) -> Accepted:
    """Ask that a fleet takes over the machines of one that is no longer in the file.

    Raises RequestRefused where that cannot be. A fleet that no engine has yet takes them over when
    one reads the file.
    """
    if why := _impossible(fleet, source):
        raise RequestRefused(why)
    request = new_request(RequestKind.ADOPT_FLEET, fleet, author)
    more = (
        f"fleet {fleet.name} has machines of its own already ({source.living}): once it has the "
        "others too, those that are more than its size end"
    )
    return Accepted(
        request=replace(request, source=source.name), warnings=(more,) if source.living else ()
    )


def _impossible(fleet: Fleet, source: Source) -> str:
    """Return why the machines cannot be taken over, and what would help; empty where they can."""
    name, left = source.name, source.fleet
    if fleet.removed:
        return f"fleet {fleet.name} is not in the file: name one that is"
    if left is not None and not left.removed:
        return (
            f"fleet {name} is in the file: take its table out first, then another fleet can take "
            "over its machines"
        )
    if left is None:
        unread = f"nobody can look after fleet {name}, for {source.unreadable}"
        return unread if source.unreadable else f"nothing is left of a fleet {name}"
    if left.account != fleet.account:
        return (
            f"fleet {name} is of the provider {left.account}, and {fleet.name} of {fleet.account}: "
            "machines cannot go from one to the other"
        )
    return _taken(fleet, source)


def _taken(fleet: Fleet, source: Source) -> str:
    """Return what becomes of one of the two already."""
    name, rows = source.name, source.others
    row, mine = rows.get(name), rows.get(fleet.name)
    if row is not None and row.ends:
        return f"fleet {name} is being deleted with all that it has"
    taker = next((one.name for one in rows.values() if one.adopts == name), None)
    if taker is not None:
        return f"fleet {taker} is taking over the machines of {name} already"
    busy = next((one for one in (mine, row) if one is not None and one.adopts), None)
    if busy is not None:
        return f"fleet {busy.name} is taking over the machines of {busy.adopts}: ask after that"
    return ""
