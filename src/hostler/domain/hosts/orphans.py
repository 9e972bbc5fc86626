"""Strays: which hosts that bear our names does no record explain, and of which class are they?

A host is owned by its tie, whatever its name says, or by its own record's work. What is left is
told in the ledger; only some classes may ever be reclaimed.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, PartId
from hostler.domain.model.host import GIVEN_UP, KEPT, OURS, TENANT, Host, HostCondition, HostGoal
from hostler.domain.model.inventory import View
from hostler.domain.model.machine import Fate, Machine
from hostler.domain.model.resource import Condition, Mark, Part
from hostler.domain.model.snapshot import SuspectClass
from hostler.domain.observation.effects import claimed_late, is_unknown

from .delivery import Orders, copies
from .wiping import is_overdue

CLASS = "class"
"""The note that says of which class a suspected host is."""

ACTIONABLE = frozenset(
    {SuspectClass.STRAY, SuspectClass.PENDING_STALE, SuspectClass.RELEASING_STUCK}
)
"""The classes of hosts that a sweep may take back; all others are only told."""

WHY_NOT: Mapping[SuspectClass, str] = {
    SuspectClass.PENDING_FRESH: "somebody may be claiming it just now",
    SuspectClass.DUPLICATE_NAME: "its name is that of a machine or an order which has another "
    "host: look who uses it, then give it its own name back",
    SuspectClass.SCHEDULED: "the provider will delete it: see its date",
    SuspectClass.LOCKED: "the provider locked it, or says that it is in error",
    SuspectClass.DOUBLE: "two may have it, for a claim came too late, or records are older than "
    "its name: look who uses it, then rename it into the pool or retire it",
    SuspectClass.SET_ASIDE: "it failed too often, or cannot be wiped, and is paid for: "
    "`hostler explain` says more, `hostler pool` adds it to its pool anew or retires it",
}

_STAGES = {
    "pending": SuspectClass.PENDING_STALE,
    "releasing": SuspectClass.RELEASING_STUCK,
    "wiping": SuspectClass.RELEASING_STUCK,
}
_AT_WORK = frozenset(
    {
        HostCondition.WIPING,
        HostCondition.RETIRING,
        HostCondition.QUARANTINED,
        HostCondition.FREE,
    }
)


def strays(  # noqa: PLR0913, PLR0917 - all that may explain a host
    view: View,
    kind: str,
    hosts: Mapping[HostId, Host],
    ties: Mapping[HostId, MachineId],
    living: Mapping[MachineId, Machine],
    past: Mapping[MachineId, Machine],
    ours: Collection[InstallationId] = (),
) -> Iterator[Part]:
    """Yield every host under a name of ours that no record explains, with its class in its notes.

    Its mark is what its name says, so that it is grouped with the machine that it names. `ours` are
    the installations whose names are ours by adoption too: what they told of twice is left over.
    """
    for sighting in view.sightings.values():
        part = sighting.part
        adopted = _is_adopted(part, ours)
        if part.slot.kind != kind or not (adopted or part.note("stage") in OURS | GIVEN_UP):
            continue
        host = HostId(part.id)
        record = hosts.get(host)
        if _is_owned(part, record, ties.get(host), living, past):
            continue
        double = adopted or (record is not None and _came_late(record, part))
        cls = SuspectClass.DOUBLE if double else _class(part, ties, living, past)
        yield replace(_marked(part), notes=(*part.notes, (CLASS, str(cls))))


def _came_late(record: Host, part: Part) -> bool:
    """Tell whether a host shows a name that came after it was given back: another may have it."""
    given_back = any(a.aim == "pool" and a.fate is Fate.DONE for a in record.asked)
    wiping_again = part.note("stage") == "wiping" and given_back
    return wiping_again or record.late == part.note("holder")


def _is_adopted(part: Part, ours: Collection[InstallationId]) -> bool:
    """Tell whether a host bears a tenant's name of an installation that was adopted."""
    tenant = part.note("stage") == "foreign" and part.note("named") in TENANT
    return tenant and part.note("installation") in ours


def copied(view: View, kind: str, hosts: Mapping[HostId, Host], orders: Orders) -> Iterator[Part]:
    """Yield every host that a person gave the name of an order of ours."""
    for part in copies(view, kind, hosts, orders):
        cls = str(SuspectClass.DUPLICATE_NAME)
        yield replace(_marked(part), notes=(*part.notes, (CLASS, cls)))


def others(
    view: View, kind: str, hosts: Mapping[HostId, Host], ties: Mapping[HostId, MachineId]
) -> Iterator[Part]:
    """Yield every host that another installation's name says is being kept, without a tenancy.

    Those are what a lost store leaves of wipes, parked hosts and ends; tenancies are parts of their
    own. One of which a record of ours says more is ours by now.
    """
    for sighting in view.sightings.values():
        part = sighting.part
        if part.slot.kind != kind or part.note("stage") != "foreign":
            continue
        kept = part.note("named") in KEPT
        record = hosts.get(HostId(part.id))
        if kept and HostId(part.id) not in ties and (record is None or not record.adopted):
            yield _marked(part)


def set_aside(
    view: View,
    hosts: Mapping[HostId, Host],
    ties: Mapping[HostId, MachineId],
    now: datetime,
    since: datetime,
) -> Iterator[Part]:
    """Yield every host that no machine can have for now: in quarantine, or not to be wiped.

    It is explained, and costs as much as any; nothing but its own work is done about it. `since` is
    when our process could act.
    """
    for host in hosts.values():
        if host.goal is not HostGoal.WIPED or host.id in ties:
            continue
        part = view.part(PartId(host.id))
        if part is None or not (host.quarantined(now) or is_overdue(host, now, since)):
            continue
        marked = _marked(part)
        if marked.mark is not None and (fleet := host.fleet or host.buyer):
            marked = replace(marked, mark=replace(marked.mark, fleet=fleet))
        yield replace(marked, notes=(*part.notes, (CLASS, str(SuspectClass.SET_ASIDE))))


def _marked(part: Part) -> Part:
    """Return a host with the mark that its name is."""
    mark = Mark(
        installation=InstallationId(part.note("installation")),
        fleet=FleetName(part.note("fleet")),
        machine=MachineId(part.note("holder")),
        attempt=0,
    )
    return replace(part, mark=mark)


def _is_owned(
    part: Part,
    record: Host | None,
    tie: MachineId | None,
    living: Collection[MachineId],
    past: Collection[MachineId],
) -> bool:
    """Tell whether a tie, the host's own work, or a machine that has no other host explains it.

    A tie to a machine that is in the history is about to be loosened, in order.
    """
    if tie is not None:
        return (tie in living or tie in past) and not is_unknown(part, (*living, *past))
    if record is None:
        return False
    return record.goal is not None or (record.condition in _AT_WORK and record.name == part.name)


def usurped(
    view: View, ties: Mapping[HostId, MachineId], known: Collection[MachineId]
) -> Iterator[HostId]:
    """Yield the hosts with machines of ours whose names tell of tenants that no record knows.

    The records are older than those names: a backup was put back, or two engines keep two copies
    of one store. Somebody may use the host, so that nothing is done to it.
    """
    for host in ties:
        part = view.part(PartId(host))
        if part is not None and is_unknown(part, known):
            yield host


def _class(
    part: Part,
    ties: Mapping[HostId, MachineId],
    living: Mapping[MachineId, Machine],
    past: Mapping[MachineId, Machine],
) -> SuspectClass:
    holder = MachineId(part.note("holder"))
    if ties.get(HostId(part.id), holder) != holder:
        return SuspectClass.DOUBLE
    machine = living.get(holder) or past.get(holder)
    if machine is not None and claimed_late(machine, part):
        return SuspectClass.DOUBLE
    if holder in living:
        return (
            SuspectClass.DUPLICATE_NAME if holder in ties.values() else SuspectClass.PENDING_FRESH
        )
    if part.note("scheduled"):
        return SuspectClass.SCHEDULED
    if part.condition in {Condition.LOCKED, Condition.FAILED}:
        return SuspectClass.LOCKED
    return _STAGES.get(part.note("stage"), SuspectClass.STRAY)
