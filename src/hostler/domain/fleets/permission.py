"""Permission: what forbids any reclaim in a fleet for now, whatever it is of."""

from hostler.domain.hosts.orphans import WHY_NOT
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import paused


def forbidden(row: FleetRow, snapshot: Snapshot) -> str:
    """Return why nothing is reclaimed in this fleet, or an empty string."""
    if snapshot.foreign:
        return "resources in this fleet's name carry the owner tag of another installation"
    if snapshot.unissued:
        return WHY_NOT[OrphanClass.UNISSUED]
    if why := paused(row, snapshot.now):
        return why
    if not snapshot.fleet.reclaim:
        return "report only: set `reclaim = true` for this fleet"
    return ""
