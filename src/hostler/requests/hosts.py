"""Requests about hosts: that they join a fleet's pool, become its machines, or are retired."""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.errors import Remedy, RequestRefused
from hostler.domain.fleets.requested import room
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import HostCondition, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.requester import Requester
from hostler.domain.model.resource import Stage
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.reporting.hosts import OUTSIDE, HostStatus

from .recording import Accepted, Author, new_request

_BUSY = {
    HostCondition.WIPING: "it is being wiped, and then returns to the pool",
    HostCondition.RETIRING: "it is being retired",
}
_FAILED = frozenset({"locked", "error"})
_CLAIMABLE = frozenset({HostCondition.FREE, HostCondition.DIRTY})


def add_to_pool(
    author: Author, fleet: Fleet, pool: str, hosts: tuple[HostStatus, ...]
) -> tuple[Accepted, ...]:
    """Ask that these hosts join the fleet's pool; `pool` is how names in it begin, if it has one.

    Raises RequestRefused, with every reason, where one of them cannot.
    """
    if not pool:
        raise RequestRefused(
            f"fleet {fleet.name} has no pool: set `pool_prefix` in its file, or in its provider's "
            "table"
        )
    _check(hosts, _unavailable)
    there = [host.name for host in hosts if host.facts.stage is Stage.POOL and _is_claimable(host)]
    if there:
        raise RequestRefused(f"already in the pool: {', '.join(there)}")
    return tuple(_about(RequestKind.POOL_ADD, author, fleet, host) for host in hosts)


class Adoption(Struct, frozen=True, kw_only=True):
    """Hosts that are to become machines of a fleet, under these ids, and the fleet's records.

    `keep_disk` leaves their disks as they are; `requested` is how many machines more were asked
    for, and are not on record yet.
    """

    fleet: Fleet
    row: FleetRow | None
    machines: tuple[Machine, ...]
    hosts: tuple[HostStatus, ...]
    ids: tuple[MachineId, ...]
    keep_disk: bool = False
    requested: int = 0


def adopt(author: Author, adoption: Adoption) -> tuple[Accepted, ...]:
    """Ask that hosts become machines of a fleet.

    Raises RequestRefused, with every reason, where one of them cannot, or the fleet has no room.
    A frontend has a person confirm those that `unconfirmed` returns.
    """
    _check(adoption.hosts, _unavailable)
    _require_room(adoption)
    return _adopting(author, adoption)


def adopt_requested(author: Author, adoption: Adoption, requester: Requester) -> Accepted:
    """Ask that a host becomes the machine that somebody asks for under its id.

    Raises RequestRefused where it cannot, where the fleet makes up for machines by itself, and
    where it has no room.
    """
    _check(adoption.hosts, _unavailable)
    _require_room_by_id(adoption)
    (accepted,) = _adopting(author, adoption)
    return Accepted(request=replace(accepted.request, requester=requester))


def _adopting(author: Author, adoption: Adoption) -> tuple[Accepted, ...]:
    return tuple(
        replace(
            accepted,
            request=replace(accepted.request, machines=(machine,), keep=adoption.keep_disk),
        )
        for machine, host in zip(adoption.ids, adoption.hosts, strict=True)
        for accepted in (_about(RequestKind.POOL_ADOPT, author, adoption.fleet, host),)
    )


def unconfirmed(hosts: Iterable[HostStatus], names: Iterable[str]) -> tuple[HostStatus, ...]:
    """Return the hosts outside the pool whose whole names are not among these: do not wipe them."""
    confirmed = set(names)
    return tuple(h for h in hosts if not h.is_available and h.name not in confirmed)


def retire(author: Author, fleet: Fleet, hosts: tuple[HostStatus, ...]) -> tuple[Accepted, ...]:
    """Ask that hosts without a machine are retired.

    Raises RequestRefused, with every reason, where one of them cannot, or no reason is given.
    """
    _check(hosts, _not_ours_to_retire)
    require_reason(author)
    return tuple(
        replace(_about(RequestKind.RETIRE, author, fleet, host), warnings=()) for host in hosts
    )


def require_reason(author: Author) -> None:
    """Raise RequestRefused where no reason is given: a host is not easily had again."""
    if not author.why:
        raise RequestRefused("say why the host is to be retired", Remedy.GIVE_REASON)


def require_own_names(hosts: Iterable[HostStatus], observed: Iterable[HostStatus]) -> None:
    """Raise RequestRefused where one of these hosts bears the name of another one's machine.

    It is refused by its id as by its name: somebody copied the name, and which host the machine
    has is not said by that.
    """
    bound = {host.binding: host for host in observed if host.binding is not None}

    def other_tenant(host: HostStatus) -> str:
        holder = host.facts.holder
        other = bound.get(holder) if holder is not None else None
        if other is None or other.id == host.id or host.facts.stage is Stage.FOREIGN:
            return ""
        return f"it bears the name of machine {holder}, which has {other.id}: rename it first"

    _check(hosts, other_tenant)


def _about(kind: RequestKind, author: Author, fleet: Fleet, host: HostStatus) -> Accepted:
    """Return a request about a host, with a warning where no machine of the fleet would want it."""
    request = replace(new_request(kind, fleet, author), host=host.id)
    if any((offer.type, offer.zone) == (host.type, host.zone) for offer in fleet.offers):
        return Accepted(request=request)
    offers = ", ".join(str(offer) for offer in fleet.offers)
    unwanted = f"{host.name} is {host.type} in {host.zone}; fleet {fleet.name} asks for {offers}"
    return Accepted(request=request, warnings=(unwanted,))


# ---------------------------------------------------------------- checks


def _check(hosts: Iterable[HostStatus], why_not: Callable[[HostStatus], str]) -> None:
    wrong = [f"{host.name or host.id}: {why}" for host in hosts if (why := why_not(host))]
    if wrong:
        raise RequestRefused("; ".join(wrong))


def _unavailable(host: HostStatus) -> str:
    """Return why a host can neither join a pool nor be adopted; empty where it can."""
    if foreign := _foreign(host, "take"):
        return foreign
    if host.binding is not None:
        return f"machine {host.binding} has it"
    if host.scheduled is not None:
        date = f"{host.scheduled:%Y-%m-%d %H:%M} UTC"
        return f"the provider deletes it at {date}: cancel that first"
    return _busy(host) or _unfit(host)


def _not_ours_to_retire(host: HostStatus) -> str:
    """Return why a host cannot be retired under its own name; empty where it can."""
    if foreign := _foreign(host, "retire"):
        return foreign
    if host.binding is not None:
        return f"machine {host.binding} has it: retire that machine instead"
    if host.facts.stage in OUTSIDE:
        return "it is not in the pool: add it first, or delete it in the provider's console"
    if host.record is not None and host.record.goal is HostGoal.RETIRED:
        return "it is being retired"
    return "the provider no longer lists it" if host.resource is None else ""


def _foreign(host: HostStatus, act: str) -> str:
    """Return that another installation has a host, if one has."""
    if host.facts.stage is not Stage.FOREIGN:
        return ""
    installation = host.facts.installation or "its name does not say which"
    return f"another installation has it ({installation}); it is not ours to {act}"


def _busy(host: HostStatus) -> str:
    """Return what we are doing to a host of ours; nothing is done to one that was renamed."""
    record = host.record
    if record is None or record.goal is None or host.is_idle:
        return ""
    return _BUSY.get(record.condition, "")


def _unfit(host: HostStatus) -> str:
    if host.resource is None:
        return "the provider no longer lists it"
    if not host.facts.delivered:
        return "it is not delivered yet"
    return f"it is {host.status}" if host.status in _FAILED else ""


def _is_claimable(host: HostStatus) -> bool:
    """Tell whether a host of the pool can be claimed there: its record says nothing else."""
    return host.record is None or host.record.condition in _CLAIMABLE


def _require_room(adoption: Adoption) -> None:
    """Raise RequestRefused where so many more machines do not fit into the fleet."""
    fleet, row = adoption.fleet, adoption.row
    if not fleet.renews:
        raise RequestRefused(
            f"fleet {fleet.name} adopts no hosts (`renews = false`): whoever uses it requests "
            "each machine"
        )
    wanted = sum(m.wanted and m.goal is not Goal.STANDBY for m in adoption.machines)
    size = max(row.desired(fleet) if row else fleet.size, wanted + len(adoption.hosts))
    if fleet.maximum is not None and size > fleet.maximum:
        raise RequestRefused(
            f"fleet {fleet.name} has at most {fleet.maximum} machines, and {wanted} of them exist: "
            "raise `maximum` in its file"
        )


def _require_room_by_id(adoption: Adoption) -> None:
    """Raise RequestRefused where a fleet whose user requests each machine has no room for these."""
    fleet, row = adoption.fleet, adoption.row
    if fleet.renews:
        raise RequestRefused(
            f"fleet {fleet.name} makes up for machines by itself: set `renews = false`"
        )
    if row is None or room(fleet, row, adoption.machines) < adoption.requested + len(adoption.ids):
        most = fleet.most(row.desired(fleet) if row is not None else fleet.size)
        raise RequestRefused(f"fleet {fleet.name} has at most {most} machines: raise `maximum`")
