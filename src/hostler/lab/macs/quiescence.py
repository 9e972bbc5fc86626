"""Quiescence: what keeps fleets of Macs from it: hosts that could be taken, hosts on their way."""

from collections import Counter
from collections.abc import Container, Iterable

from hostler.domain.ids import HostId, MachineId, ResourceId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import HostCondition
from hostler.domain.model.machine import LEFT, Machine
from hostler.domain.model.phases import Reason
from hostler.domain.model.resource import OwnerTag
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

from .faults import MacScenario
from .ground_truth import Fact, GroundTruth

MAY_REST = frozenset({HostCondition.QUARANTINED, HostCondition.RETIRING})
"""The conditions in which a host may rest although something is wanted of it."""


def free_for(world: World, scenario: MacScenario, shadow: ShadowStore, fleet: Fleet) -> list[str]:
    """Return the hosts that a machine of the fleet could take now."""
    return [mac.id for mac in world.cloud.macs if _fits(mac, scenario, shadow, fleet)]


def _fits(mac: Mac, scenario: MacScenario, shadow: ShadowStore, fleet: Fleet) -> bool:
    names = [known.name for known in shadow.fleets.values()]
    pool = scenario.pools[names.index(fleet.name)]
    longest = max((p for p in scenario.pools if mac.name.startswith(p)), key=len, default="")
    record = shadow.hosts.get(HostId(mac.id))
    quarantined = record is not None and record.health.quarantined_until is not None
    known = any((o.type, o.zone) == (mac.type_name, mac.zone) for o in fleet.offers)
    well = mac.status is MacStatus.READY and mac.delivered and not mac.deletion_scheduled
    return (
        pool == longest
        and known
        and well
        and mac.os.family == fleet.offers[0].image
        and not quarantined
    )


def hosts_rest(shadow: ShadowStore) -> Found:
    """Tell of a host that is still on its way somewhere (L1)."""
    for host in shadow.hosts.values():
        if host.goal is not None and host.condition not in MAY_REST:
            text = f"host {host.id} is {host.condition} on its way to {host.goal} ({host.error})"
            return (Violation(invariant="L1", text=text, machine=host.machine),)
    return ()


_LET_GO = frozenset(
    map(str, (Reason.HOST_TAKEN, Reason.RELEASE_SKIPPED, Reason.HOST_LOST, Reason.NOT_PREPARED))
)
"""Reasons for which a machine is gone although its host may still bear its name.

One that shows a stranger's key is not wiped, for nobody knows what answers there: its own record
keeps it apart, and names it so next.
"""


_TENANT = frozenset({"pending", "claimed", "standby", "rested", "releasing"})


def to_people(truth: GroundTruth, shadows: Iterable[ShadowStore]) -> list[HostId]:
    """Return the hosts of which only people can tell whose they are, and that nobody's machine has.

    Their names tell of tenants, and either came later than the consistency delay, so that nothing
    is proved by them; or a person copied them, of a machine that lives elsewhere, whose store is
    lost, or whose own host still bears it. Any other name that a person copied of a machine which
    is over is an orphan like all.
    """
    stores = list(shadows)
    living = {m.id: m for one in stores if not one.lost for m in one.living()}
    held = {machine.host for machine in living.values()}
    lost = {one.own for one in stores if one.lost}
    named = Counter(fact.owner[1].machine for fact in truth.hosts.values() if fact.owner)
    twice = {machine for machine, hosts in named.items() if hosts > 1}
    borne = living.keys() | twice
    return [
        host
        for host, fact in truth.hosts.items()
        if host not in held
        and (owner := fact.owner) is not None
        and owner[0] in _TENANT
        and (_is_late(fact) or (fact.by_person and _is_elsewhere(owner[1], borne, lost)))
    ]


def _is_late(fact: Fact) -> bool:
    return fact.late >= fact.named


def _is_elsewhere(tag: OwnerTag, borne: Container[MachineId], lost: Container[str]) -> bool:
    return tag.machine in borne or tag.installation in lost


def left_of(machine: Machine, truth: GroundTruth) -> set[ResourceId]:
    """Return the hosts whose names tell that a machine has them; those it let go of apart.

    A claim that shows after its machine let go of the host came later than the consistency delay:
    nobody may undo it, it is told as a double for as long as it shows, and the machine goes without
    it. So does one whose release was answered well and comes as late, while lists show nothing of
    it: two answers say that it is gone, and both are wrong.
    """
    if machine.reason in _LET_GO:
        return set()
    return {
        ResourceId(host)
        for host, fact in truth.hosts.items()
        if (owner := fact.owner) is not None
        and not (fact.by_person or fact.promised)
        and (machine.host == host or (machine.host is None and not _left(machine, host, fact)))
        and (owner[0] in _TENANT and owner[1].machine == machine.id)
    }


def _left(machine: Machine, host: HostId, fact: Fact) -> bool:
    """Tell whether a host's name came too late, for a machine that had let go of it."""
    return machine.fact(f"{LEFT} {host}") is not None and _is_late(fact)
