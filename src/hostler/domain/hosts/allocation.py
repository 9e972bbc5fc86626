"""Allocations: what is special about a machine that ends on a host which outlives it.

The host goes back to its pool, or is given up; where no pool is known it is left as it is,
reported, and kept in the orphan report.
"""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import evolve
from hostler.domain.model.host import OTHERS, TENANT, Host, HostCondition
from hostler.domain.model.machine import RETIRE, CallState, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event, move
from hostler.domain.observation.effects import came_late

FAULT = "host_failed"
"""The fact that a machine failed by its host: that counts as a strike against the host."""

ALONE = "host_alone"
"""The fact that the host is to be left alone for a while after this machine."""

CLAIMED_TWICE = "claimed_twice"
"""The fact that the host's name says that somebody else has it too, since when."""

LISTED = "fault_of_list"
"""How the fact begins that what the host failed at was a command: of the list of this digest."""

HAD = "host_had"
"""The fact that the host's name told of another installation's machine while this one was in use.

Whatever the name is later, unless it is this machine's again: the disk may be the other's.
"""

STRANGER = "host_stranger"
"""The fact that the host shows a key that is not its own: it is not wiped either."""


def allocated(host: Host, machine: Machine, now: datetime) -> Host:
    """Return the record of a host that a machine has: it is the machine's, and nothing's goal.

    It is written with the binding; where a process ended between the two, whoever finds the binding
    writes it.
    """
    held = had_by(host, machine).now(HostCondition.ALLOCATED, now, str(Reason.ADMITTED))
    return evolve(held, goal=None, power=replace(held.power, begun=None, cycle=None))


def had_by(host: Host, machine: Machine) -> Host:
    """Return the record of a host that a machine has, or had last: no older proof says it is clean.

    When it is wiped, it is to what that machine asked for.
    """
    unproved = host.with_cleaning(image=machine.offer.image, wiped=None, wiping=None)
    return evolve(unproved, machine=machine.id, fleet=machine.fleet)


def blamed(transition: Transition, snapshot: Snapshot) -> Transition:
    """Write down that the host failed, where it is known that it did, and not what asks for it."""
    if not snapshot.capabilities.hosts:
        return transition
    return replace(transition, machine=transition.machine.with_fact(FAULT, snapshot.now))


def lists_of(machine: Machine) -> tuple[str, ...]:
    """Return the digest of the list that a machine's host failed at, if it did."""
    names = (fact.name.partition(" ") for fact in machine.facts)
    return tuple(digest for name, _, digest in names if name == LISTED)


def watched(transition: Transition, snapshot: Snapshot) -> Transition:
    """Raise an alarm, once, where the host bears another's name, or a claim of ours came too late.

    Nothing is done about it: beyond the consistency delay nobody can prove whose it is, so all
    sides hold.
    """
    resource = transition.main(snapshot)
    if resource is None or resource.status == "promised":
        return transition
    transition = _had(transition, resource, snapshot)
    machine = transition.machine
    late = came_late(machine, resource.host.stage)
    usurped = machine.host in snapshot.usurped
    if not late and not usurped and not _is_others(resource, snapshot):
        calm = machine.fact(CLAIMED_TWICE) is None
        return (
            transition if calm else replace(transition, machine=machine.without_fact(CLAIMED_TWICE))
        )
    why = (
        "a claim of ours took effect too late" if late else f"its host is called {resource.name!r}"
    )
    message = f"{why}: somebody else may use it, and nothing is done to it"
    known = machine.fact(CLAIMED_TWICE) is not None
    notice = () if known else (event("alarm", machine, snapshot, str(Reason.HOST_TAKEN), message),)
    noted = machine if known else machine.with_fact(CLAIMED_TWICE, snapshot.now)
    return replace(
        transition,
        machine=noted,
        events=(*transition.events, *notice),
        blocker=transition.blocker or message,
    )


def _had(transition: Transition, resource: Resource, snapshot: Snapshot) -> Transition:
    """Write down that another installation's machine has the host, by its name, or had it."""
    machine, stage = transition.machine, resource.host.stage
    others = (
        stage is Stage.FOREIGN and resource.host.tagged in TENANT and _is_others(resource, snapshot)
    )
    if machine.fact(HAD) is None and machine.health.was_ready is not None and others:
        return replace(transition, machine=machine.with_fact(HAD, snapshot.now))
    if machine.fact(HAD) is not None and resource.owner_tag is not None and stage is Stage.CLAIMED:
        return replace(transition, machine=machine.without_fact(HAD))
    return transition


def stopping(transition: Transition, snapshot: Snapshot) -> Transition:
    """Write down whether the host is given up; end at once where it can go nowhere."""
    machine = transition.machine
    host = snapshot.hosts.get(machine.host) if machine.host else None
    if host is not None and host.retires and machine.fact(RETIRE) is None:
        transition = replace(transition, machine=machine.with_fact(RETIRE, snapshot.now))
    reason = _left_alone(transition, host, snapshot)
    if reason is None:
        return transition
    notice = event(str(reason), transition.machine, snapshot, str(reason), str(machine.host))
    skipped = replace(transition, events=(*transition.events, notice))
    return move(skipped, Phase.DELETED, reason, snapshot)


def _left_alone(transition: Transition, host: Host | None, snapshot: Snapshot) -> Reason | None:
    """Return why the host is left as it is: it is somebody else's, a stranger, or has no pool."""
    machine, resource = transition.machine, transition.main(snapshot)
    if (
        resource is None
        or resource.status == "promised"
        or any(a.call_state is CallState.OPEN for a in machine.asked)
    ):
        return None
    if came_late(machine, resource.host.stage):
        return Reason.HOST_TAKEN
    if machine.host in snapshot.usurped or _is_others(resource, snapshot):
        return Reason.HOST_TAKEN
    if machine.fact(STRANGER) is not None and machine.fact(RETIRE) is None:
        return Reason.NOT_PREPARED
    if machine.fact(RETIRE) is not None or not _needs_pool(snapshot):
        return None
    pooled = resource.host.pool or (host is not None and host.ownership.pool)
    return None if pooled else Reason.RELEASE_SKIPPED


def _needs_pool(snapshot: Snapshot) -> bool:
    return snapshot.capabilities.hosts is None or snapshot.capabilities.hosts.needs_pool


def _is_others(resource: Resource, snapshot: Snapshot) -> bool:
    """Tell whether a host's name was given by nobody whose owner tags are ours by now."""
    adopted = resource.owner_tag is not None and resource.owner_tag.installation in snapshot.ours
    return resource.host.stage in OTHERS and not adopted
