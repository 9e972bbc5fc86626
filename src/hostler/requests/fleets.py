"""Requests about a whole fleet: its size, a pause, what it adopts, and machines by their ids."""

from collections.abc import Iterable
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.errors import Remedy, RequestRefused
from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import MachineSpec
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, RequestKind
from hostler.domain.observation.blockers import paused_by

from .recording import Accepted, Author, new_request, protecting

MOST_MACHINES = 100_000
"""The largest size of a fleet, in its file as by request."""


def scale(author: Author, fleet: Fleet, size: int) -> Accepted:
    """Ask for another size; it stays until the next such request, whatever the fleet file says.

    Raises RequestRefused where the fleet has no size of its own, allows fewer machines, or is not
    in the file any more.
    """
    if fleet.removed:
        raise RequestRefused(
            f"fleet {fleet.name} is not in the file any more, and its machines are kept as they "
            f"are: put it back first, or end them: hostler delete FILE {fleet.name}"
        )
    if not 0 <= size <= MOST_MACHINES:
        raise RequestRefused(
            f"{size} is not a size: it must be 0 or more, and {MOST_MACHINES:,} at most"
        )
    if not fleet.renews:
        raise RequestRefused(
            f"fleet {fleet.name} has no size of its own (`renews = false`): whoever uses it "
            "requests each machine"
        )
    if fleet.maximum is not None and size > fleet.maximum:
        raise RequestRefused(
            f"fleet {fleet.name} has at most {fleet.maximum} machines: raise `maximum` in its file"
        )
    return Accepted(request=replace(new_request(RequestKind.SCALE, fleet, author), size=size))


def delete(author: Author, fleet: Fleet) -> Accepted:
    """Ask that a fleet which is no longer in the file ends, with all that it has.

    Raises RequestRefused where the file has it.
    """
    if not fleet.removed:
        raise RequestRefused(
            f"{fleet.name} is a fleet of the file: scale it to 0, or take it out of the file first"
        )
    return Accepted(request=new_request(RequestKind.DELETE, fleet, author))


def grow(
    author: Author,
    fleet: Fleet,
    ids: tuple[MachineId, ...],
    specs: tuple[MachineSpec, ...] = (),
) -> Accepted:
    """Ask for a new machine under each of these fresh ids; see capacity.admit for how many.

    `specs` are what is asked of each beyond the fleet's template, in the same order.
    """
    request = new_request(RequestKind.GROW, fleet, author)
    return Accepted(request=replace(request, machines=ids, specs=specs))


def pause(author: Author, fleet: Fleet, duration: timedelta | None = None) -> Accepted:
    """Ask that a fleet is observed and not changed; without a duration as long as it allows.

    Raises RequestRefused where the duration is longer than that.
    """
    return Accepted(request=protecting(RequestKind.PAUSE, fleet, author, duration))


def resume(author: Author, fleet: Fleet, row: FleetRow | None) -> Accepted:
    """Ask that a pause ends; where there is none, that is said: it may be asked for again.

    `row` is what is on record of the fleet, if anything is.
    """
    paused = row is not None and bool(paused_by(row, author.at))
    return Accepted(
        request=new_request(RequestKind.RESUME, fleet, author),
        warnings=() if paused else (f"fleet {fleet.name} is not paused",),
    )


def adopt(
    author: Author, fleet: Fleet, source: InstallationId | None, orphans: Iterable[Orphan]
) -> Accepted:
    """Ask that the fleet takes over the resources that have its name and an owner tag.

    `source` is the installation whose tags become ours; None: only our own tags, where no record
    explains them. `orphans` are those on record. Raises RequestRefused where they show that nothing
    would be taken over.
    """
    check_source(orphans, fleet.name, source)
    request = new_request(RequestKind.ADOPT, fleet, author)
    return Accepted(request=replace(request, installation=source))


def check_source(
    orphans: Iterable[Orphan], fleet: FleetName, source: InstallationId | None
) -> None:
    """Raise RequestRefused where the orphan report shows that this adoption would do nothing.

    An empty report proves nothing: an engine may not have observed yet.
    """
    mine = [orphan for orphan in orphans if orphan.fleet == fleet]
    foreign = sorted({str(o.installation) for o in mine if o.cls is OrphanClass.FOREIGN})
    if source is None and foreign and len(foreign) == len({o.installation for o in mine}):
        raise RequestRefused(
            f"every resource in the name of fleet {fleet} has the tag of another installation "
            f"({', '.join(foreign)}): say which one is yours",
            Remedy.NAME_INSTALLATION,
        )
    if source is not None and mine and str(source) not in foreign:
        listed = ", ".join(foreign) or "none"
        raise RequestRefused(
            f"no resource in the name of fleet {fleet} has the tag of {source}; other "
            f"installations whose tags were seen: {listed}",
            Remedy.LIST_ORPHANS,
        )
