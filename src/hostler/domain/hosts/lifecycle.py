"""Hosting: what becomes of hosts that no machine holds: wiped, put back, given up, or left alone?

One host's record is moved along with what the world shows; who holds a host is told by ties alone.
The goal that comes out is pursued by the provider's next calls for hosts.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, MachineId, PartId, evolve
from hostler.domain.model.host import (
    OURS,
    TENANT,
    WAITING,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
    may_come_back,
)
from hostler.domain.model.machine import RETIRE, RETIRE_ASKED, Asked, Fate, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import HostsSeen, HostStep
from hostler.domain.observation import effects
from hostler.domain.policy.remediation import LADDER, quarantined_for, settled

from . import allocation, delivery
from . import wiping as wipes
from .allocation import ALONE, FAULT, STRANGER


def decide_hosts(seen: HostsSeen) -> tuple[HostStep, ...]:
    """Return what becomes of each host of which a record is kept, in the order of their ids.

    A host that we ordered gets its record when it is first seen under the name of its order.
    """
    hosts = (seen.hosts[host] for host in sorted(seen.hosts))
    known = tuple(_decided(host, seen) for host in hosts if host.id not in seen.moving)
    return (*known, *_come(seen), *_unrecorded(seen))


def _unrecorded(seen: HostsSeen) -> Iterator[HostStep]:
    """Loosen ties whose machines are gone and whose hosts were never recorded.

    A process died between the two; nothing was asked of the host.
    """
    for host, machine in seen.ties.items():
        past = seen.past.get(machine)
        if host not in seen.hosts and past is not None and past.phase is Phase.GONE:
            blank = Host(id=host, account=seen.account, zone=past.offer.zone)
            yield HostStep(before=blank, host=blank, loose=machine)


def _come(seen: HostsSeen) -> Iterator[HostStep]:
    for part in delivery.came(seen.view, seen.traits.hosts, seen.hosts, seen.orders):
        blank = Host(id=HostId(part.id), account=seen.account, zone=part.zone)
        host = replace(
            blank,
            origin=HostOrigin.ORDERED,
            condition=HostCondition.COMING,
            since=seen.now,
            order=MachineId(part.note("holder")),
            fleet=FleetName(part.note("fleet")),
            buyer=FleetName(part.note("fleet")),
            reason="it was ordered",
        )
        yield HostStep(before=blank, host=_described(host, part, seen), part=part)


def _decided(host: Host, seen: HostsSeen) -> HostStep:
    sighting = seen.view.sightings.get(PartId(host.id))
    part = sighting.part if sighting else None
    described = evolve(_described(host, part, seen), late=_late(host, part, seen))
    step = HostStep(before=host, host=described, part=part)
    tied = seen.ties.get(host.id)
    if tied is not None and tied in seen.machines:
        return evolve(step, host=step.host.now(HostCondition.HELD, seen.now))
    if tied is not None and (machine := seen.past.get(tied)) is not None:
        return _passed_on(step, machine, seen)
    if tied is not None:
        return replace(step, stranded=True)
    if part is None:
        return _missing(step, seen)
    step = evolve(step, host=_closed(evolve(step.host, missing=None), seen))
    if step.host.goal is not None and names_unknown(host, part, (*seen.machines, *seen.past)):
        void = replace(wipes.unproved(step.host), goal=None)
        return replace(step, host=void.now(HostCondition.DIRTY, seen.now, _UNKNOWN))
    return _aimed(_stands(step, part, seen))


_UNKNOWN = "its name tells of a machine that no record knows"


def names_unknown(host: Host, part: Part, known: Collection[MachineId]) -> bool:
    """Tell whether a host that no machine holds bears the name of a tenant that no record knows.

    The records are older than the name: a backup was put back. Somebody may use the host, so that
    it is for the ledger, and what was proved before says nothing.
    """
    return part.note("holder") != host.machine and effects.is_unknown(part, known)


def _described(host: Host, part: Part | None, seen: HostsSeen) -> Host:
    """Write down what the provider says of the host; times that depend on the look are left out."""
    if part is None:
        return host
    price = part.price or host.price
    return evolve(
        host,
        name=part.name,
        adopted=host.adopted and part.note("stage") == "foreign",
        observed=part.status,
        price=price,
        billed_from=host.billed_from or seen.now,
        type=part.note("type") or host.type,
        pool=part.note("pool") or host.pool,
        commitment=part.note("commitment"),
        paid_until=_moment(part.note("deletable")) or host.paid_until,
        scheduled=_moment(part.note("deletable")) if part.note("scheduled") else None,
    )


def _late(host: Host, part: Part | None, seen: HostsSeen) -> MachineId | None:
    """Return whose name the host shows that came too late; machines are forgotten, hosts are not.

    A look that lacks the host says nothing of its name.
    """
    if part is None:
        return host.late
    if part.note("stage") not in TENANT:
        return None
    holder = MachineId(part.note("holder"))
    machine = seen.machines.get(holder) or seen.past.get(holder)
    if machine is not None and effects.claimed_late(machine, part):
        return holder
    lasts = host.late == holder and (machine is None or part.note("stage") == "pending")
    return holder if lasts else None


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _passed_on(step: HostStep, machine: Machine, seen: HostsSeen) -> HostStep:
    """Take over a host from a machine that is gone: its tie is loosened once this is recorded."""
    if machine.phase is not Phase.GONE:
        return step
    host = replace(step.host, machine=machine.id, fleet=machine.fleet)
    host = _judged(host, machine, seen)
    wipe = _wipe_of(machine)
    if machine.reason == Reason.RELEASE_SKIPPED:
        host = host.now(HostCondition.DIRTY, seen.now, str(Reason.RELEASE_SKIPPED))
    elif machine.fact(RETIRE) is not None:
        asked = machine.fact(RETIRE_ASKED) is not None
        policy = ReleasePolicy.TERMINATE if asked else host.policy
        host = replace(host, goal=HostGoal.RETIRED, policy=policy)
        host = host.now(HostCondition.RETIRING, seen.now, str(Reason.RETIRED))
    elif machine.fact(STRANGER) is not None:
        host = replace(host, goal=HostGoal.WIPED)  # once its quarantine is over
        host = host.now(HostCondition.QUARANTINED, seen.now, machine.reason)
    elif wipe is not None and wipe.fate is Fate.DONE:
        host = replace(host, goal=HostGoal.WIPED, wiping=wipe.closed).with_asked(wipe)
        host = host.now(HostCondition.WIPING, seen.now, machine.reason)
    else:
        ours = step.part is None or step.part.note("stage") in OURS
        ours = ours and not (step.part and effects.came_late(machine, step.part.note("stage")))
        host = replace(host, goal=HostGoal.WIPED if ours else None)
        host = host.now(HostCondition.DIRTY, seen.now, machine.reason)
    return replace(step, host=host, loose=machine.id)


def _judged(host: Host, machine: Machine, seen: HostsSeen) -> Host:
    """Count a machine that failed by its host against it; one that was ready clears it."""
    calm = replace(host, trouble=settled(host.trouble))
    if machine.was_ready is not None:
        return replace(calm, strikes=0, struck=())
    if machine.fact(FAULT) is None:
        return calm
    strikes = host.strikes + 1
    calm = replace(calm, struck=(*host.struck, *allocation.lists_of(machine)))
    if strikes < LADDER.strikes and machine.fact(ALONE) is None:
        return replace(calm, strikes=strikes)
    until = seen.now + quarantined_for(strikes, LADDER)
    return replace(calm, strikes=strikes, quarantined_until=until)


def _wipe_of(machine: Machine) -> Asked | None:
    """Return the newest reinstallation that the machine asked for since it was claimed, or None.

    One that was asked for before the claim wiped what others had left, and says nothing of what
    this machine left.
    """
    used = [a.at for a in machine.asked if a.aim in {"claimed", "resting"}]
    wipes = [a for a in machine.asked if a.shows is effects.Shows.WIPE]
    newest = max(wipes, key=lambda asked: asked.at, default=None)
    if newest is None or any(at > newest.at for at in used):
        return None
    return newest


def _missing(step: HostStep, seen: HostsSeen) -> HostStep:
    """A host that two complete looks lack, a gap apart, is gone; only a look brings it back."""
    host = step.host
    looked = seen.view.whole.get((host.zone, seen.traits.hosts))
    if looked is None or host.condition is HostCondition.GONE:
        return step
    if host.missing is None:
        return replace(step, host=replace(host, missing=looked))
    since = max(host.missing, seen.jumped or host.missing)
    if looked - since < max(seen.absence_gap, seen.traits.settle):
        return step
    gone = host.now(HostCondition.GONE, seen.now, "complete looks do not show it any more")
    return replace(step, host=replace(gone, goal=None, wiped=None, wiping=None, asked=()))


def _closed(host: Host, seen: HostsSeen) -> Host:
    """Close the open calls that the newest look proves done, or proves to have had no effect."""
    sighting = seen.view.sightings[PartId(host.id)]
    at = seen.view.shown(sighting)
    for asked in host.asked:
        if asked.fate is Fate.OPEN:
            fate = effects.fate(asked, sighting.part, at, sure_from(asked, seen))
            if fate is not Fate.OPEN:
                host = host.with_asked(replace(asked, fate=fate, closed=seen.now))
    return host


def sure_from(asked: Asked, seen: HostsSeen) -> datetime:
    """Return from when on a look can prove that an open call had no effect."""
    begun = asked.at if asked.epoch == seen.epoch else max(asked.at, seen.took)
    begun = max(begun, seen.jumped or begun)
    return begun + seen.traits.settle_of(asked.kind)


def _stands(step: HostStep, part: Part, seen: HostsSeen) -> HostStep:
    """Move a host that no machine holds along with what a look shows of it."""
    ways: dict[HostCondition, Callable[[Host, Part, HostsSeen], Host]] = {
        HostCondition.COMING: delivery.delivered,
        HostCondition.FREE: wipes.left,
        HostCondition.DIRTY: _dirty,
        HostCondition.WIPING: wipes.wiped,
        HostCondition.RETIRING: _called_back,
        HostCondition.QUARANTINED: _served,
        HostCondition.HELD: _found,
        HostCondition.GONE: _found,
    }
    return evolve(step, host=ways[step.host.condition](step.host, part, seen))


def _dirty(host: Host, part: Part, seen: HostsSeen) -> Host:
    """Dirty hosts wait for a claim that wipes them, unless a wipe or the pool is their goal.

    One that waits under our own name is paid for by us: it is wiped at once, for only what is free
    is given up at the end of its window. A machine let go of it before its claim took effect.
    """
    if host.goal is None and part.note("stage") in WAITING:
        return replace(host, goal=HostGoal.WIPED)
    if host.goal is HostGoal.WIPED:
        return wipes.wiped(host, part, seen)
    if host.goal is HostGoal.POOLED and part.note("stage") == "pool":
        return replace(host, goal=None)
    return host


def _served(host: Host, part: Part, seen: HostsSeen) -> Host:
    """A quarantine ends with another wipe; its strikes stay, so that one more failure is enough."""
    del part
    if host.quarantined(seen.now):
        return host
    tried = replace(wipes.unproved(host), goal=HostGoal.WIPED, quarantined_until=None)
    return tried.now(HostCondition.DIRTY, seen.now, "its quarantine ended")


def _called_back(host: Host, part: Part, seen: HostsSeen) -> Host:
    """A host whose end is only scheduled comes back where machines lack hosts."""
    host = delivery.after_all(host, part, seen.now)
    if not _is_wanted_back(host, part, seen):
        return host
    back = replace(wipes.unproved(host), goal=HostGoal.WIPED, delivered=host.delivered or seen.now)
    return back.now(HostCondition.DIRTY, seen.now, "called back: machines lack hosts")


def _is_wanted_back(host: Host, part: Part, seen: HostsSeen) -> bool:
    """Tell whether a host whose end is only scheduled had better stay.

    The fleet that had it last lacks hosts, or the one that bought it: for both it counts as one.
    """
    lacks = host.fleet in seen.starved or host.buyer in seen.starved
    ending = part.note("stage") == "retiring"
    return lacks and ending and may_come_back(host, seen.now)


def _found(host: Host, part: Part, seen: HostsSeen) -> Host:
    """A host that no tie explains, or that came back: dirty. The sweep is asked about it."""
    del part
    dirty = replace(wipes.unproved(host), goal=None)
    return dirty.now(HostCondition.DIRTY, seen.now, "no machine holds it")


def _aimed(step: HostStep) -> HostStep:
    return evolve(step, goal=step.host.goal)
