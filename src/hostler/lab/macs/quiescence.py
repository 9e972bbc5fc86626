"""Resting: what keeps fleets of Macs from rest: hosts that could be taken, hosts on their way."""

from hostler.domain.ids import HostId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import HostCondition
from hostler.lab.checks.shadow_store import Book
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

from .faults import MacClimate

KEPT = frozenset({HostCondition.QUARANTINED, HostCondition.RETIRING})
"""The conditions in which a host may rest although something is wanted of it."""


def free_for(world: World, climate: MacClimate, book: Book, fleet: Fleet) -> list[str]:
    """Return the hosts that a machine of the fleet could take now."""
    return [mac.id for mac in world.estate.macs if _fits(mac, climate, book, fleet)]


def _fits(mac: Mac, climate: MacClimate, book: Book, fleet: Fleet) -> bool:
    names = [known.name for known in book.fleets.values()]
    pool = climate.pools[names.index(fleet.name)]
    longest = max((p for p in climate.pools if mac.name.startswith(p)), key=len, default="")
    record = book.hosts.get(HostId(mac.id))
    quarantined = record is not None and record.quarantined_until is not None
    known = any((o.type, o.zone) == (mac.type_name, mac.zone) for o in fleet.offers)
    well = mac.status is MacStatus.READY and mac.delivered and not mac.deletion_scheduled
    return (
        pool == longest
        and known
        and well
        and mac.os.family == fleet.offers[0].image
        and not quarantined
    )


def hosts_rest(book: Book) -> Found:
    """Tell of a host that is still on its way somewhere (L1)."""
    for host in book.hosts.values():
        if host.goal is not None and host.condition not in KEPT:
            text = f"host {host.id} is {host.condition} on its way to {host.goal} ({host.error})"
            return (Violation(invariant="L1", text=text, machine=host.machine),)
    return ()
