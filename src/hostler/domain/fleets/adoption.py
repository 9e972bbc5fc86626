"""Adoption: are the resources in this fleet's name ours, and which records would explain them?

The engine's first question: until foreign resources under a fleet's name are adopted, nothing is
created for it and nothing of theirs is touched.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from hostler.domain.hosts.orphans import TWOFOLD
from hostler.domain.ids import HostId, InstallationId, MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Known, Machine, MachineHealth, Offer, Origin, Place
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot
from hostler.domain.observation.certainty import unissued_of
from hostler.domain.policy.billing import Billing, cost_between

from .answers import RequestAnswer


def adoptable(snapshot: Snapshot) -> tuple[Resource, ...]:
    """Return the resources that the adoption requests of this cycle cover.

    None, where one machine's name is on several hosts: only people can tell which is its own. Nor
    a host that bears the name of what has another one: that it was adopted would wipe it.
    """
    resources = tuple(one for one in _covered(snapshot) if one.orphan not in TWOFOLD)
    if _doubles(resources, snapshot.capabilities):
        return ()
    ended = {machine.id for machine in snapshot.ended}
    return tuple(r for r in resources if r.owner_tag is None or r.owner_tag.machine not in ended)


def reopened(snapshot: Snapshot) -> tuple[Machine, ...]:
    """Return the machines of our history for which adopted resources were made, to end once more.

    A record of its own cannot be made of their ids. One with a main resource may be in use: it is
    for people, and is told.
    """
    resources = _covered(snapshot)
    if _doubles(resources, snapshot.capabilities):
        return ()
    return tuple(
        _brought(machine, made, snapshot)
        for machine in snapshot.ended
        if (made := _made_for(machine, resources))
        and all(resource.slot != snapshot.capabilities.main for resource in made)
    )


def _made_for(machine: Machine, resources: Iterable[Resource]) -> list[Resource]:
    tagged = (r for r in resources if r.owner_tag is not None)
    return [r for r in tagged if r.owner_tag is not None and r.owner_tag.machine == machine.id]


def _brought(machine: Machine, resources: Iterable[Resource], snapshot: Snapshot) -> Machine:
    for resource in resources:
        machine = machine.with_place(_place(machine.place(resource.slot), resource, snapshot))
    return machine


def _doubles(
    resources: Iterable[Resource], capabilities: Capabilities
) -> dict[MachineId, set[HostId]]:
    """Return the machines that several hosts say they are, each with those hosts."""
    hosts = dict[MachineId, set[HostId]]()
    for resource in resources if capabilities.hosts is not None else ():
        if resource.owner_tag is not None and resource.slot == capabilities.main:
            hosts.setdefault(resource.owner_tag.machine, set()).add(host_of(resource.id))
    return {machine: found for machine, found in hosts.items() if len(found) > 1}


def _covered(snapshot: Snapshot) -> tuple[Resource, ...]:
    sources = _sources(snapshot)
    if sources is None:
        return ()
    foreign = tuple(
        p for p in snapshot.foreign if p.owner_tag and _from(sources, p.owner_tag.installation)
    )
    return (*foreign, *snapshot.unissued, *snapshot.unexplained)


def brought_up_to_date(machines: tuple[Machine, ...], snapshot: Snapshot) -> tuple[Machine, ...]:
    """Return the records with what another copy of our store made for them since, if asked."""
    if _sources(snapshot) is None:
        return machines
    return tuple(_brought_up_to_date(machine, snapshot) for machine in machines)


def _brought_up_to_date(machine: Machine, snapshot: Snapshot) -> Machine:
    """Return the record of one machine with what was made for it by another copy of our store.

    A slot whose bound id is nowhere to be seen is filled by the newest attempt there is: the copy
    went on with that one.
    """
    machine = _brought(machine, unissued_of(machine, snapshot), snapshot)
    sightings = snapshot.inventory.sightings
    for place in machine.places:
        newest = max(place.known, key=lambda known: (known.attempt, known.id), default=None)
        if newest is not None and place.bound not in sightings and newest.id in sightings:
            machine = machine.with_place(replace(place, bound=newest.id))
    return machine


def answered(
    answers: tuple[RequestAnswer, ...], machines: tuple[Machine, ...], snapshot: Snapshot
) -> tuple[RequestAnswer, ...]:
    """Return the answers with that of an adoption which finds nothing: it is refused."""
    return tuple(
        replace(answer, refusal=_why_none(answer.request, snapshot))
        if answer.request.kind is RequestKind.ADOPT
        and not answer.refusal
        and not _covers(answer.request, machines, snapshot)
        else answer
        for answer in answers
    )


def _why_none(request: Request, snapshot: Snapshot) -> str:
    covered = _covered(replace(snapshot, requests=(request,)))
    doubles = _doubles(covered, snapshot.capabilities)
    used = next((m.id for m in snapshot.ended if _made_for(m, covered)), None)
    if not doubles and used is not None:
        return (
            f"{used} ended here, and another engine made a {snapshot.capabilities.main.kind} for "
            "it: delete that by hand once nobody uses it"
        )
    if not doubles:
        whose = f"of the installation {request.installation} " if request.installation else ""
        return f"nothing {whose}was found that could be adopted"
    machine, hosts = min(doubles.items())
    return (
        f"{len(hosts)} hosts bear the name of {machine} ({', '.join(sorted(hosts))}): "
        "rename those that are not its own, and adopt again"
    )


def _covers(request: Request, machines: tuple[Machine, ...], snapshot: Snapshot) -> bool:
    """Tell whether an adoption is about anything at all, by the newest observations."""
    alone = replace(snapshot, requests=(request,))
    found = adoptable(alone) or reopened(alone)
    return bool(found) or brought_up_to_date(machines, alone) != machines


def _sources(snapshot: Snapshot) -> tuple[InstallationId, ...] | None:
    """Return the installations named by adoption requests; None where nobody asked for any."""
    requests = [request for request in snapshot.requests if request.kind is RequestKind.ADOPT]
    if not requests:
        return None
    return tuple(request.installation for request in requests if request.installation)


def _from(sources: tuple[InstallationId, ...], installation: InstallationId) -> bool:
    return installation in sources


def adopted_installations(
    resources: Iterable[Resource], snapshot: Snapshot
) -> tuple[InstallationId, ...]:
    """Return the installations whose owner tags become ours with these resources, in order."""
    owner_tags = {
        resource.owner_tag.installation for resource in resources if resource.owner_tag is not None
    }
    return tuple(sorted(owner_tags - set(snapshot.ours)))


def records_for(
    resources: tuple[Resource, ...], row: FleetRow, snapshot: Snapshot
) -> tuple[Machine, ...]:
    """Return one record for each machine that these resources name, with every id bound or known.

    A machine with a main resource goes on as *starting*, and becomes ready as its server and probe
    say; one without has nothing to go on with, and is cleaned up.
    """
    groups = dict[MachineId, list[Resource]]()
    for resource in resources:
        if resource.owner_tag is not None and resource.slot.kind != snapshot.capabilities.host_kind:
            groups.setdefault(resource.owner_tag.machine, []).append(resource)
    return tuple(
        _record(machine, tuple(group), row.serial + number, snapshot)
        for number, (machine, group) in enumerate(sorted(groups.items()), start=1)
    )


def _record(
    machine: MachineId, resources: tuple[Resource, ...], serial: int, snapshot: Snapshot
) -> Machine:
    main = next(
        (resource for resource in resources if resource.slot == snapshot.capabilities.main), None
    )
    record = Machine(
        id=machine,
        fleet=snapshot.fleet.name,
        serial=serial,
        created=snapshot.now,
        since=snapshot.now,
        phase=Phase.STARTING if main else Phase.STOPPING,
        goal=Goal.PRESENT if main else Goal.ABSENT,
        offer=_offer(main or resources[0], snapshot),
        reason=str(Reason.ADOPTED),
        template=snapshot.fleet.template,
        origin=Origin.ADOPTED,
        host=host_of(main.id) if main is not None and snapshot.capabilities.hosts else None,
        health=MachineHealth(
            was_ready=snapshot.now if main is not None and main.condition is Condition.UP else None
        ),
        billing=Billing(spent=_spent(resources, snapshot)),
    )
    held = main.id if main is not None else None
    for resource in sorted(resources, key=lambda one: (one.owner != held, one.id)):
        record = record.with_place(_place(record.place(resource.slot), resource, snapshot))
    return record


def _spent(resources: Iterable[Resource], snapshot: Snapshot) -> float:
    """Return what a machine's resources have cost so far, as the orphan report counted them.

    A host's past is not its machine's: others had it before.
    """
    if snapshot.capabilities.hosts is not None:
        return 0.0
    first = {orphan.resource: orphan.first for orphan in snapshot.orphans}
    return sum(
        cost_between(one.price, one.created or first.get(one.id), snapshot.now) for one in resources
    )


def _place(place: Place, resource: Resource, snapshot: Snapshot) -> Place:
    attempt = resource.owner_tag.attempt if resource.owner_tag else 0
    known = Known(id=resource.id, zone=resource.zone, since=snapshot.now, attempt=attempt)
    return replace(
        place,
        attempt=max(place.attempt, attempt),
        bound=place.bound or resource.id,
        known=(*place.known, known),
    )


def _offer(resource: Resource, snapshot: Snapshot) -> Offer:
    named = resource.type
    for offer in snapshot.fleet.offers:
        if offer.type == named and offer.zone == resource.zone:
            return offer
    first = snapshot.fleet.offers[0]
    return Offer(type=named or first.type, zone=resource.zone, image=first.image)
