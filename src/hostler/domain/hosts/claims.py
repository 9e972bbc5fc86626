"""Claims: which host does each machine take, where machines are allocations of hosts?

A host is chosen, bound to its machine in the store, and only then is anything asked of it. What is
not free by the newest observation, by our records or by a binding is no candidate.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, MachineId, ResourceId
from hostler.domain.model.commands import Bind
from hostler.domain.model.host import AT_HOME, GIVEN_BACK, Free, Host, HostCondition, host_of
from hostler.domain.model.machine import LEFT, CallState, Machine, Offer, Place
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Stage
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event, move, wait

from . import turns
from .allocation import allocated
from .free import preference

CLEAN = "clean"
"""The fact that a machine's host was proved clean when it was taken."""

_CLEAN_AS = "clean as "

ADOPTED = "adopted"
"""The fact that a machine's host was named by somebody: it is taken whatever its name is."""


def offers(many: int, transitions: tuple[Transition, ...], snapshot: Snapshot) -> tuple[Offer, ...]:
    """Return an offer for each machine that may begin: there is a host for it that no other has."""
    left = [free.offer for free in snapshot.free]
    for transition in transitions:
        if _lacks_host(transition, snapshot) and transition.machine.offer in left:
            left.remove(transition.machine.offer)
    return tuple(left[:many])


def _lacks_host(transition: Transition, snapshot: Snapshot) -> bool:
    """Tell whether a machine will take a host: it waits for its first, or lost one.

    One that loses its host in this very decision is bound to it until the decision is saved.
    """
    machine = transition.machine
    if machine.host is not None or machine.deletion is not None:
        return False
    tied = machine.id in snapshot.bindings and given_back(transition, snapshot) is None
    if tied and transition.before.host is None:
        return False
    waits = machine.phase is Phase.PENDING and snapshot.fleet.renews
    return waits or machine.phase is Phase.STARTING


def assign(
    transitions: tuple[Transition, ...], account: AccountName, snapshot: Snapshot
) -> tuple[tuple[Transition, ...], tuple[Bind, ...]]:
    """Give a host to each machine that waits for one, while there are any that fit.

    With the machines come the bindings that must be made first.
    """
    if not snapshot.capabilities.hosts:
        return transitions, ()
    machines = (transition.machine for transition in transitions)
    left = list(turns.startable(snapshot.free, machines, snapshot))
    binds, after = list[Bind](), list[Transition]()
    for transition in transitions:
        if (bind := _untied(transition, account, snapshot)) is not None:
            binds.append(bind)
        if not _waits(transition, snapshot):
            after.append(transition)
            continue
        tied = snapshot.bindings.get(transition.machine.id)
        free = None if tied or snapshot.revision.broken else _choose(transition.machine, left)
        if tied is not None:
            after.append(_begun(transition, tied, snapshot))
        elif free is not None:
            left.remove(free)
            binds.append(
                Bind(
                    host=taken(free, transition.machine, account, snapshot),
                    machine=transition.machine.id,
                )
            )
            after.append(
                _begun(transition, free.id, snapshot, free.resource.name if free.clean else "")
            )
        elif snapshot.revision.broken:
            after.append(wait(transition, "wait", "a setup script that is not at fault"))
        else:
            after.append(wait(transition, "wait", "a free host of its pool"))
    return tuple(after), tuple(binds)


def _untied(transition: Transition, account: AccountName, snapshot: Snapshot) -> Bind | None:
    """Return the binding of a machine that was adopted with its host, while it has none."""
    machine = transition.machine
    if machine.host is None or machine.id in snapshot.bindings or machine.id in snapshot.moving:
        return None
    resource = snapshot.inventory.resource(ResourceId(machine.host))
    if resource is None or machine.phase is Phase.DELETED:
        return None
    record = snapshot.hosts.get(machine.host)
    free = Free(resource=resource, offer=machine.offer, record=record)
    return Bind(host=taken(free, machine, account, snapshot), machine=machine.id)


def _waits(transition: Transition, snapshot: Snapshot) -> bool:
    machine = transition.machine
    if machine.host is not None or machine.deletion is not None or machine.id in snapshot.moving:
        return False
    if transition.before.host is not None:  # it has just let go of one: that one is unbound first
        return False
    if given_back(transition, snapshot) is not None:
        return False
    begins = machine.phase is Phase.PENDING and snapshot.fleet.renews and not transition.blocker
    return begins or machine.phase is Phase.STARTING


def given_back(transition: Transition, snapshot: Snapshot) -> HostId | None:
    """Return the host that a machine is bound to though it gave it back: that one is unbound first.

    The process ended, or the store refused, after the machine was saved without it. The host's
    record tells it from one that was bound just now, and whose machine could not be saved: that is
    the machine's since its start began.
    """
    machine = transition.before
    tied = snapshot.bindings.get(machine.id)
    record = snapshot.hosts.get(tied) if tied is not None else None
    if record is None or machine.host is not None or machine.id in snapshot.moving:
        return None
    if record.condition is not HostCondition.ALLOCATED or record.machine != machine.id:
        return None
    until = max(machine.since, machine.fact(f"{LEFT} {tied}") or machine.since)
    return tied if record.since is not None and record.since < until else None


def _choose(machine: Machine, left: list[Free]) -> Free | None:
    """Return the best host for a machine; among equals each machine looks elsewhere first.

    So two installations that share a pool seldom reach for the same host.
    """
    fitting = [free for free in left if free.offer == machine.offer]
    if not fitting:
        return None
    best = preference(fitting[0])
    equals = [free for free in fitting if preference(free) == best]
    return min(equals, key=lambda free: _spread(machine.id, free.id))


def _spread(machine: MachineId, host: HostId) -> bytes:
    return hashlib.sha256(f"{machine} {host}".encode()).digest()


def _begun(
    transition: Transition, host: HostId, snapshot: Snapshot, clean_as: str = ""
) -> Transition:
    machine = _unproved(replace(transition.machine, host=host))
    if clean_as:
        machine = machine.with_fact(CLEAN, snapshot.now).with_fact(
            f"{_CLEAN_AS}{clean_as}", snapshot.now
        )
    notice = event("host", machine, snapshot, str(Reason.ADMITTED), f"takes host {host}")
    begun = replace(transition, machine=machine, events=(*transition.events, notice))
    if machine.phase is Phase.PENDING:
        return move(begun, Phase.STARTING, Reason.ADMITTED, snapshot)
    return begun


def clean_name(machine: Machine) -> str:
    """Return the name under which the machine's host is clean: only so is it claimed unwiped.

    Empty where it was not proved clean, or where somebody named it to be taken as it is.
    """
    names = (fact.name for fact in machine.facts)
    return next((name[len(_CLEAN_AS) :] for name in names if name.startswith(_CLEAN_AS)), "")


def _unproved(machine: Machine) -> Machine:
    """Return the machine without what was known of its host's disk."""
    facts = (f for f in machine.facts if f.name != CLEAN and not f.name.startswith(_CLEAN_AS))
    return replace(machine, facts=tuple(facts))


def doubted(transition: Transition, snapshot: Snapshot) -> Transition:
    """Take back that the host is clean where it is called otherwise before it is claimed.

    Somebody gave it that name, and may have used it: it is wiped first, as any other. So it is with
    one that somebody made anybody's again before its machine was ready.
    """
    name, machine = clean_name(transition.machine), transition.machine
    resource = snapshot.inventory.resource(ResourceId(machine.host or ""))
    if not name or resource is None:
        return transition
    if resource.name == name and not _is_named_back(machine, snapshot):
        return transition
    was_ready = machine.health.was_ready is not None
    if machine.places and (was_ready or resource.host.stage not in AT_HOME):
        return transition
    notice = event(
        "host", machine, snapshot, str(Reason.HOST_USED), f"it is called {resource.name!r} now"
    )
    return replace(transition, machine=_unproved(machine), events=(*transition.events, notice))


def taken(free: Free, machine: Machine, account: AccountName, snapshot: Snapshot) -> Host:
    """Return a host's record from the moment on that a machine takes it: dirty until proved."""
    resource = free.resource
    record = free.record or Host(id=free.id, account=account, zone=resource.zone)
    held = allocated(record, machine, snapshot.now)
    return replace(
        held.with_ownership(
            pool=resource.host.pool or record.ownership.pool, name=resource.name
        ).with_billing(price=resource.price),
        type=resource.type,
    )


def lets_go(transition: Transition, snapshot: Snapshot) -> Transition:
    """Take another host where the chosen one became somebody else's before it was claimed."""
    machine = transition.machine
    if (
        machine.host is None
        or machine.phase is not Phase.STARTING
        or machine.health.was_ready is not None
    ):
        return transition
    if any(asked.call_state is CallState.OPEN for asked in machine.asked) or _has_it(
        transition, snapshot
    ):
        return transition
    notice = event("host_lost", machine, snapshot, str(Reason.HOST_LOST), f"host {machine.host}")
    freed = without_host(machine.with_health(doubt=None))
    freed = replace(freed, retry_at=None, retry_since=None, error="")
    freed = freed.with_fact(f"{LEFT} {machine.host}", snapshot.now)
    return replace(transition, machine=freed, resources=(), events=(*transition.events, notice))


def without_host(machine: Machine) -> Machine:
    """Return a machine's record without its host, and without what was asked and known of that."""
    places = tuple(_left(place) for place in machine.places)
    freed = replace(machine, host=None, places=places, asked=())
    return _unproved(freed).without_fact(ADOPTED)


def _left(place: Place) -> Place:
    """Return a slot whose ids count no more; an observation that shows one brings it back."""
    known = tuple(replace(entry, deleted=True) for entry in place.known)
    return replace(place, bound=None, known=known)


def _has_it(transition: Transition, snapshot: Snapshot) -> bool:
    """Tell whether the host is, or may still become, this machine's.

    What an owner tag of ours was answered to may be seen as late as the consistency delay, over
    whatever name it has until then. One that it gave back as its start failed bears its name still.
    """
    machine = transition.machine
    resources = (
        resource for resource in transition.resources if host_of(resource.id) == machine.host
    )
    if any(
        resource.owner_tag is not None or resource.status == "promised" for resource in resources
    ):
        return True
    sighting = snapshot.inventory.sightings.get(ResourceId(machine.host or ""))
    observed = snapshot.inventory.covered(
        machine.offer.zone, snapshot.capabilities.main.kind, machine.id
    )
    calls = (asked.closed or asked.at for asked in machine.asked)
    newest = max((*calls, *_taken_at(machine, snapshot)), default=machine.since)
    if sighting is None:
        return (
            _may_show(machine)
            or observed is None
            or observed <= newest + snapshot.capabilities.consistency_delay
        )
    stage = sighting.resource.host.stage
    named = sighting.resource.host.holder == machine.id and stage not in GIVEN_BACK
    if snapshot.inventory.observed_at(sighting) <= newest or named:
        return True
    if _may_lag(machine, snapshot.inventory.observed_at(sighting), snapshot):
        return True
    if stage is Stage.NONE and _may_show(machine):  # nobody can ask it: it has what it had
        return True
    adopted = machine.fact(ADOPTED) is not None and stage is not Stage.FOREIGN
    return not machine.places and (adopted or stage in AT_HOME)


def _may_lag(machine: Machine, observed: datetime, snapshot: Snapshot) -> bool:
    """Tell whether an observation of then may still lack an owner tag that was answered well."""
    tagged = (a.closed or a.at for a in machine.asked if a.aim and a.call_state is CallState.DONE)
    return any(observed <= at + snapshot.capabilities.consistency_delay for at in tagged)


def _is_named_back(machine: Machine, snapshot: Snapshot) -> bool:
    """Tell whether somebody gave a host the name again that it bore before its machine had it."""
    sighting = snapshot.inventory.sightings.get(ResourceId(machine.host or ""))
    tagged = any(a.aim and a.call_state is CallState.DONE for a in machine.asked)
    if sighting is None or not tagged:
        return False
    return not _may_lag(machine, snapshot.inventory.observed_at(sighting), snapshot)


def _taken_at(machine: Machine, snapshot: Snapshot) -> Iterator[datetime]:
    """Yield since when a machine has its host: it may have had another one before."""
    record = snapshot.hosts.get(machine.host) if machine.host else None
    if record is not None and record.machine == machine.id and record.since is not None:
        yield record.since


def _may_show(machine: Machine) -> bool:
    """Tell whether observations lack a host that they showed once: only a proof says it is gone."""
    known = (k for place in machine.places for k in place.known if host_of(k.id) == machine.host)
    return any(not k.deleted for k in known)
