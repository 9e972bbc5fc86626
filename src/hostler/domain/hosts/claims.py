"""Claims: which host does each machine take, where machines are tenancies of hosts?

A host is chosen, tied to its machine in the store, and only then is anything asked of it. What is
not free by the newest look, by our records or by a tie is no candidate.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from hostler.domain.ids import AccountName, HostId, MachineId, PartId
from hostler.domain.model.commands import Take
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import AT_HOME, OTHERS, WAITING, Free, Host, HostCondition, host_of
from hostler.domain.model.inventory import View
from hostler.domain.model.machine import LEFT, Fate, Machine, Offer, Place
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, event, move, wait

CLEAN = "clean"
"""The fact that a machine's host was proved clean when it was taken."""

_CLEAN_AS = "clean as "

ADOPTED = "adopted"
"""The fact that a machine's host was named by somebody: it is taken whatever its name is."""

_TAKEABLE = frozenset({HostCondition.FREE, HostCondition.DIRTY})

Fits = Callable[[Offer, Part], str]
"""Says why a host is none for an offer, as the provider sees it; empty where it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Machines with their hosts, and the ties that must be made first."""

    steps: tuple[Step, ...]
    takes: tuple[Take, ...] = ()


def free_hosts(  # noqa: PLR0913, PLR0917 - all that makes a host free
    fleet: Fleet,
    view: View,
    kind: str,
    hosts: Mapping[HostId, Host],
    tied: Iterable[HostId],
    fits: Fits,
    now: datetime,
) -> tuple[Free, ...]:
    """Return the hosts that this fleet's machines may take: the clean ones of each offer first."""
    taken = frozenset(tied)
    found = list[Free]()
    for sighting in view.sightings.values():
        part = sighting.part
        if part.slot.kind != kind or HostId(part.id) in taken:
            continue
        offer = next((o for o in fleet.offers if not fits(o, part)), None)
        record = hosts.get(HostId(part.id))
        if offer is not None and _may_be_taken(record, part, now):
            clean = record is not None and is_clean(record, part)
            found.append(Free(part=part, offer=offer, record=record, clean=clean))
    return tuple(sorted(found, key=_preference))


def is_clean(record: Host, part: Part) -> bool:
    """Tell whether a free host's wipe is proved, and nothing since speaks against it."""
    same = not (record.witness and part.note("witness")) or record.witness == part.note("witness")
    ours = part.name == record.name  # any other name of the pool is somebody else's, or a person's
    return record.condition is HostCondition.FREE and record.wiped is not None and same and ours


def _may_be_taken(record: Host | None, part: Part, now: datetime) -> bool:
    """Tell whether a machine may take a host now, for all that its record says.

    Without a record only a name of the pool says that it may: a name of ours is a slip then, or its
    record is lost, and the ledger tells it.
    """
    if record is None:
        return part.note("stage") == "pool"
    unsure = any(asked.fate is Fate.OPEN for asked in record.asked)
    return record.condition in _TAKEABLE and not unsure and not record.quarantined(now)


def _preference(free: Free) -> tuple[bool, int, bool, str]:
    """Clean before dirty, few strikes before many, what we pay for anyway before the pool."""
    record = free.record
    ours = free.part.note("stage") in WAITING
    return (not free.clean, record.strikes if record else 0, not ours, free.part.id)


def offers(many: int, steps: tuple[Step, ...], seen: Seen) -> tuple[Offer, ...]:
    """Return an offer for each machine that may begin: there is a host for it that no other has."""
    waiting = [s for s in steps if s.machine.phase is Phase.WANTED and s.machine.host is None]
    left = [free.offer for free in seen.free]
    for step in waiting:
        if seen.fleet.renews and step.machine.offer in left:
            left.remove(step.machine.offer)
    return tuple(left[:many])


def assign(steps: tuple[Step, ...], account: AccountName, seen: Seen) -> Assigned:
    """Give a host to each machine that waits for one, while there are any that fit."""
    if not seen.traits.hosts:
        return Assigned(steps=steps)
    left, takes, given = list(seen.free), list[Take](), list[Step]()
    for step in steps:
        if (again := _untied(step, account, seen)) is not None:
            takes.append(again)
        if not _waits(step, seen):
            given.append(step)
            continue
        tied = seen.ties.get(step.machine.id)
        free = None if tied or seen.revision.broken else _choose(step.machine, left)
        if tied is not None:
            given.append(_begun(step, tied, seen))
        elif free is not None:
            left.remove(free)
            takes.append(
                Take(host=taken(free, step.machine, account, seen), machine=step.machine.id)
            )
            given.append(_begun(step, free.id, seen, free.part.name if free.clean else ""))
        elif seen.revision.broken:
            given.append(wait(step, "wait", "a list of commands that is not at fault"))
        else:
            given.append(wait(step, "wait", "a free host of its pool"))
    return Assigned(steps=tuple(given), takes=tuple(takes))


def _untied(step: Step, account: AccountName, seen: Seen) -> Take | None:
    """Return the tie of a machine that was adopted together with its host, while it has none."""
    machine = step.machine
    if machine.host is None or machine.id in seen.ties or machine.id in seen.moving:
        return None
    part = seen.view.part(PartId(machine.host))
    if part is None or machine.phase is Phase.GONE:
        return None
    record = seen.hosts.get(machine.host)
    free = Free(part=part, offer=machine.offer, record=record)
    return Take(host=taken(free, machine, account, seen), machine=machine.id)


def _waits(step: Step, seen: Seen) -> bool:
    machine = step.machine
    if machine.host is not None or machine.ending is not None or machine.id in seen.moving:
        return False
    if step.before.host is not None:  # it has just let go of one: that tie is loosened first
        return False
    begins = machine.phase is Phase.WANTED and seen.fleet.renews and not step.blocker
    return begins or machine.phase is Phase.STARTING


def _choose(machine: Machine, left: list[Free]) -> Free | None:
    """Return the best host for a machine; among equals each machine looks elsewhere first.

    So two installations that share a pool seldom reach for the same host.
    """
    fitting = [free for free in left if free.offer == machine.offer]
    if not fitting:
        return None
    best = _preference(fitting[0])[:3]
    equals = [free for free in fitting if _preference(free)[:3] == best]
    return min(equals, key=lambda free: _spread(machine.id, free.id))


def _spread(machine: MachineId, host: HostId) -> bytes:
    return hashlib.sha256(f"{machine} {host}".encode()).digest()


def _begun(step: Step, host: HostId, seen: Seen, clean_as: str = "") -> Step:
    machine = _unproved(replace(step.machine, host=host))
    if clean_as:
        machine = machine.with_fact(CLEAN, seen.now).with_fact(f"{_CLEAN_AS}{clean_as}", seen.now)
    told = event("host", machine, seen, str(Reason.ADMITTED), f"takes host {host}")
    begun = replace(step, machine=machine, events=(*step.events, told))
    if machine.phase is Phase.WANTED:
        return move(begun, Phase.STARTING, Reason.ADMITTED, seen)
    return begun


def clean_name(machine: Machine) -> str:
    """Return the name under which the machine's host is clean: only so is it claimed unwiped.

    Empty where it was not proved clean, or where somebody named it to be taken as it is.
    """
    names = (fact.name for fact in machine.facts)
    return next((name[len(_CLEAN_AS) :] for name in names if name.startswith(_CLEAN_AS)), "")


def _unproved(machine: Machine) -> Machine:
    """Return the machine without what was known of its host's disk."""
    kept = (f for f in machine.facts if f.name != CLEAN and not f.name.startswith(_CLEAN_AS))
    return replace(machine, facts=tuple(kept))


def doubted(step: Step, seen: Seen) -> Step:
    """Take back that the host is clean where it is called otherwise before it is claimed.

    Somebody gave it that name, and may have used it: it is wiped first, as any other.
    """
    name, machine = clean_name(step.machine), step.machine
    part = seen.view.part(PartId(machine.host or ""))
    if not name or machine.places or part is None or part.name == name:
        return step
    told = event("host", machine, seen, str(Reason.HOST_USED), f"it is called {part.name!r} now")
    return replace(step, machine=_unproved(machine), events=(*step.events, told))


def taken(free: Free, machine: Machine, account: AccountName, seen: Seen) -> Host:
    """Return a host's record from the moment on that a machine takes it: dirty until proved."""
    part = free.part
    record = free.record or Host(id=free.id, account=account, zone=part.zone)
    held = record.now(HostCondition.HELD, seen.now, str(Reason.ADMITTED))
    return replace(
        held,
        machine=machine.id,
        fleet=machine.fleet,
        goal=None,
        type=part.note("type"),
        image=free.offer.image,
        pool=part.note("pool") or record.pool,
        name=part.name,
        wiped=None,
        wiping=None,
        price=part.price,
    )


def lets_go(step: Step, seen: Seen) -> Step:
    """Take another host where the chosen one became somebody else's before it was claimed."""
    machine = step.machine
    if machine.host is None or machine.phase is not Phase.STARTING or machine.was_ready is not None:
        return step
    if any(asked.fate is Fate.OPEN for asked in machine.asked) or _has_it(step, seen):
        return step
    told = event("host_lost", machine, seen, str(Reason.HOST_LOST), f"host {machine.host}")
    freed = replace(
        machine,
        host=None,
        places=tuple(_left(place) for place in machine.places),
        asked=(),
        doubt=None,
        again=None,
        error="",
    )
    freed = _unproved(freed).without_fact(ADOPTED).with_fact(f"{LEFT} {machine.host}", seen.now)
    return replace(step, machine=freed, parts=(), events=(*step.events, told))


def _left(place: Place) -> Place:
    """Return a slot whose ids count no more; a look that shows one brings it back."""
    known = tuple(replace(entry, gone=True) for entry in place.known)
    return replace(place, bound=None, known=known)


def _has_it(step: Step, seen: Seen) -> bool:
    """Tell whether the host is, or may still become, this machine's.

    What a mark of ours was answered to may be seen as late as settle, over whatever name it has
    until then.
    """
    machine = step.machine
    parts = (part for part in step.parts if host_of(part.id) == machine.host)
    if any(part.mark is not None or part.status == "promised" for part in parts):
        return True
    sighting = seen.view.sightings.get(PartId(machine.host or ""))
    looked = seen.view.covered(machine.offer.zone, seen.traits.main.kind, machine.id)
    newest = max((asked.closed or asked.at for asked in machine.asked), default=machine.since)
    if sighting is None:
        return _may_show(machine) or looked is None or looked <= newest + seen.traits.settle
    if seen.view.shown(sighting) <= newest or sighting.part.note("holder") == machine.id:
        return True
    marks = (a.closed or a.at for a in machine.asked if a.aim and a.fate is Fate.DONE)
    shown = seen.view.shown(sighting)
    if any(shown <= marked + seen.traits.settle for marked in marks):
        return True
    stage = sighting.part.note("stage")
    named = machine.fact(ADOPTED) is not None and stage != "foreign"
    return not machine.places and (named or stage in AT_HOME)


def _may_show(machine: Machine) -> bool:
    """Tell whether looks lack a host that they showed once: only a proof says that it is gone."""
    shown = [k for place in machine.places for k in place.known if host_of(k.id) == machine.host]
    return any(not known.gone for known in shown)


_OUTSIDE = {"pool": "in the pool", "other": "outside the pool", "unnamed": "without a name"}


def _stands(part: Part, record: Host | None) -> str:
    """Return how a host stands, in a word: by its record, or by its name where that says more."""
    stage = part.note("stage")
    aside = stage in OTHERS and record is not None and record.goal is None
    if record is None or (aside and record.condition is HostCondition.DIRTY):
        return _OUTSIDE.get(stage, stage)
    return str(record.condition)


def none_free(seen: Seen) -> str:
    """Return why no host can be taken, in a sentence that begins with its reason's name."""
    counts = dict[str, int]()
    for sighting in seen.view.sightings.values():
        part = sighting.part
        if part.slot.kind == seen.traits.hosts:
            word = _stands(part, seen.hosts.get(HostId(part.id)))
            counts[word] = counts.get(word, 0) + 1
    told = ", ".join(f"{number} {word}" for word, number in sorted(counts.items())) or "none at all"
    wanted = ", ".join(str(offer) for offer in seen.fleet.offers)
    return f"{Reason.NO_AVAILABLE_HOST}: no host fits {wanted} (hosts: {told})"
