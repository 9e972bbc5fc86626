"""Room: how many machines of a fleet the hosts that there are can bear at the same time."""

from collections.abc import Collection, Iterable
from datetime import datetime

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.unused import Fits

from .hosts import HostStatus


def room(
    hosts: Iterable[HostStatus],
    machines: Collection[MachineId],
    fleet: Fleet,
    fits: Fits,
    now: datetime,
) -> int:
    """Return on how many of these hosts one of the fleet's `machines` is, or may come.

    None comes on a host that is another fleet's, or that a person keeps machines from. One whose
    machine of this fleet has just ended counts, and so does one that is broken or in quarantine: it
    may be well in a minute.
    """
    return sum(_bears(host, machines, fleet, fits, now) for host in hosts)


def _bears(
    host: HostStatus, machines: Collection[MachineId], fleet: Fleet, fits: Fits, now: datetime
) -> bool:
    if host.binding is not None:
        return host.binding in machines or host.fleet == fleet.name
    if host.resource is None or (host.record is not None and host.record.is_barred(now)):
        return False
    return any(not fits(offer, host.resource) for offer in fleet.offers)
