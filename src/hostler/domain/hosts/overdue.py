"""Overdue: does a host's own work take longer than it may, so that somebody must look?

Its own work is what its goal says, while no machine has it: a wipe, its way into a pool, its end.
"""

from datetime import datetime, timedelta

from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.observation.blockers import paused_by

LONGEST = timedelta(hours=3)
"""How long a host's own work may take, by our guess: more needs somebody."""

_TO_WIPE = frozenset({HostCondition.DIRTY, HostCondition.WIPING})


def is_overdue(host: Host, now: datetime, since: datetime, row: FleetRow | None) -> bool:
    """Tell whether a host's own work did not end within its bound, while we could act.

    `since` is the latest of our start and of a jump of the clock, and `row` the host's fleet's:
    of what is paused nothing is done.
    """
    begun = _work_since(host)
    if begun is None or (row is not None and paused_by(row, now)):
        return False
    resumed = row.at_work_since(now) if row is not None else None
    return now - max(begun, since, resumed or since) >= LONGEST


def _work_since(host: Host) -> datetime | None:
    """Return since when a host could be wiped, put into its pool or given up; None: it is not.

    What is paid for may not go before its date.
    """
    paid_until = host.purchase.paid_until or host.since
    match host.goal:
        case HostGoal.CLEAN if host.condition in _TO_WIPE:
            return host.since
        case HostGoal.POOLED:
            return host.since
        case HostGoal.RETIRED:
            return max(host.since, paid_until) if host.since and paid_until else None
        case _:
            return None
