"""Free hosts: which may be taken now, which first, and why none can be taken."""

from datetime import datetime

from hostler.domain.ids import HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning, Ownership
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import AT_HOME, OTHERS, WAITING, Free, Host, HostCondition, HostGoal
from hostler.domain.model.inventory import Sighting
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import SWITCHED_OFF, Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot, why_on
from hostler.domain.model.unused import Fits, unfit
from hostler.domain.observation.effects import may_be_sent_until

from . import holds, power

_TAKEABLE = frozenset({HostCondition.FREE, HostCondition.DIRTY})


def free_hosts(account: AccountSnapshot, fleet: Fleet, fits: Fits) -> tuple[Free, ...]:
    """Return the hosts that this fleet's machines may take now, those that are preferred first.

    Among equals the fleet's first offer comes first. Not those that a request names, which says
    what becomes of them, nor those that stay on for their Nodes: a claim may switch them off.
    """
    requested = {request.host for request in account.requests if request.host is not None}
    taken = {*account.bindings, *account.moving_hosts, *requested}
    inventory, capabilities, now = account.inventory, account.capabilities, account.now
    found = list[Free]()
    for sighting in inventory.sightings.values():
        resource = sighting.resource
        id_ = HostId(resource.id)
        if resource.slot.kind != capabilities.host_kind or id_ in taken:
            continue
        if account.why_on(id_) and resource.condition not in SWITCHED_OFF:
            continue
        offer = next((o for o in fleet.offers if not fits(o, resource)), None)
        record = account.hosts.get(HostId(resource.id))
        waits = record is not None and _delay(record, sighting, account)
        if offer is not None and not waits and _may_be_taken(record, resource, capabilities, now):
            clean = record is not None and is_clean(record, resource, capabilities)
            rank = power.rank(record, resource, capabilities.power)
            free = Free(resource=resource, offer=offer, record=record, clean=clean, rank=rank)
            found.append(free)
    places = {offer: place for place, offer in enumerate(fleet.offers)}
    return tuple(
        sorted(found, key=lambda free: (preference(free), places[free.offer], free.resource.id))
    )


def _delay(record: Host, sighting: Sighting, known: AccountSnapshot | Snapshot) -> str:
    """Return why a host cannot be taken yet that could be, in a word; empty where it can."""
    resource, capabilities = sighting.resource, known.capabilities
    if not power.may_start(record, resource, capabilities.power, known.now):
        return "off for too short a time"
    if record.power.cycle is not None:
        return "to be switched off and on"
    if may_be_sent_until(record.power.unanswered, known) is not None:
        return "perhaps about to be switched off"
    unsure = any(asked.call_state is CallState.OPEN for asked in record.asked)
    observed_at = known.inventory.observed_at(sighting)
    if unsure or not _is_settled(record, resource, observed_at, capabilities):
        return "asked just now"
    return ""


def _is_settled(
    record: Host, resource: Resource, observed_at: datetime, capabilities: Capabilities
) -> bool:
    """Tell whether an observation shows what became of all that we asked of a host.

    A name that we gave it may show late, and land late: under a machine's name it would end it.
    """
    delay = capabilities.consistency_delay
    names = (a for a in record.asked if a.shows is Shows.OWNER_TAG and a.aim is not Stage.NONE)
    return power.is_settled(record, observed_at, delay) and all(
        asked.aim is resource.host.stage or observed_at > (asked.closed or asked.at) + delay
        for asked in names
        if asked.call_state is CallState.DONE
    )


def is_clean(record: Host, resource: Resource, capabilities: Capabilities) -> bool:
    """Tell whether a free host is proved clean, and nothing since speaks against it.

    Where anybody may give it a name, any but the one that we left it under speaks against it.
    """
    if capabilities.hosts is not None and capabilities.hosts.ownership is not Ownership.NAMES:
        return record.condition is HostCondition.FREE
    same = (
        not (record.cleaning.witness and resource.host.witness)
        or record.cleaning.witness == resource.host.witness
    )
    ours = (
        resource.name == record.ownership.name
    )  # any other name of the pool is somebody else's, or a person's
    return (
        record.condition is HostCondition.FREE
        and record.cleaning.wiped is not None
        and same
        and ours
    )


def _may_be_taken(
    record: Host | None, resource: Resource, capabilities: Capabilities, now: datetime
) -> bool:
    """Tell whether a machine may take a host, for all that its record says, but for a delay.

    What no claim wipes must be free. Without a record it must be where its owner put it: a name of
    ours is a slip then, or its record is lost, and the orphan report tells it.
    """
    wipes = capabilities.hosts is None or capabilities.hosts.cleaning is Cleaning.WIPE
    if record is None:
        return resource.host.stage is Stage.POOL and (wipes or _is_well(resource))
    if not wipes and (
        record.condition is not HostCondition.FREE or not _is_whole(record, resource)
    ):
        return False
    if _is_somebodys(record, capabilities, now):
        return False
    if _is_about_to_be_wiped(record, resource):
        return False
    return record.condition in _TAKEABLE and not record.quarantined(now)


def _is_somebodys(record: Host, capabilities: Capabilities, now: datetime) -> bool:
    """Tell whether a person wants a host so that it bars machines, or had it until just now."""
    return record.is_barred(now) or holds.was_had(record, now, capabilities)


def _is_about_to_be_wiped(record: Host, resource: Resource) -> bool:
    """Tell whether a host is dirty and is to be clean: it is wiped at once, by who keeps it.

    That is decided of each that waits under our own name, and stays so while its wipe is refused.
    """
    if record.condition is not HostCondition.DIRTY:
        return False
    waits = record.goal is None and resource.host.stage in WAITING
    return waits or record.goal is HostGoal.CLEAN


def _is_whole(record: Host, resource: Resource) -> bool:
    """Tell whether a host is where machines take it from, shows its own key, and is not ill."""
    known = record.bootstrap.host_key
    own = known is None or resource.host.host_key in {"", known.key}
    return own and _is_well(resource) and resource.host.stage is Stage.POOL


def _is_well(resource: Resource) -> bool:
    return resource.condition not in {Condition.FAILED, Condition.UNKNOWN, Condition.LOCKED}


def preference(free: Free) -> tuple[bool, int, bool, tuple[float, ...]]:
    """Clean before dirty, few strikes before many, what we pay for anyway before the pool.

    Among hosts that are alike in this, the order that their provider prefers.
    """
    record = free.record
    ours = free.resource.host.stage in WAITING
    return not free.clean, record.health.strikes if record else 0, not ours, free.rank


_OUTSIDE = {"pool": "in the pool", "other": "outside the pool", "unnamed": "without a name"}


def _stands(resource: Resource, record: Host | None, now: datetime, stays_on: str = "") -> str:
    """Return how a host stands, in a word: by its record, or by its name where that says more.

    `stays_on` is why it stays on for its Node, if it does.
    """
    if record is not None and record.is_barred(now):
        return str(record.held_as(now))
    stage = resource.host.stage
    aside = stage in OTHERS and record is not None and record.goal is None
    idle = record is None or (record.goal is None and record.condition in _TAKEABLE)
    if idle and stays_on:
        return "left on for its Node"
    if idle and stage in AT_HOME and unfit(resource):
        return "unfit"
    if record is None or (aside and record.condition is HostCondition.DIRTY):
        return _OUTSIDE.get(stage, stage)
    if record.condition is HostCondition.FREE and stage is Stage.NONE:
        return resource.status
    ill = record.condition is HostCondition.COMING and unfit(resource)
    return f"{record.condition} unfit" if ill else str(record.condition)


def _waits(machine: Machine) -> bool:
    """Tell whether a machine that was made is to take a host: it waits for its turn, or for one."""
    without = machine.host is None and machine.deletion is None
    return without and machine.phase in {Phase.PENDING, Phase.STARTING}


def none_free(snapshot: Snapshot, beginning: int = 0) -> str:
    """Return why no host can be taken, in a sentence that begins with its reason's name.

    `beginning` machines are made in the same decision, and take one each.
    """
    counts, reasons = dict[str, int](), dict[str, None]()
    requested = {request.host for request in snapshot.requests}
    for sighting in snapshot.inventory.sightings.values():
        resource = sighting.resource
        if resource.slot.kind == snapshot.capabilities.host_kind:
            id_ = HostId(resource.id)
            off = resource.condition in SWITCHED_OFF
            stays_on = "" if off else why_on(snapshot.guarded, id_)
            record = snapshot.hosts.get(id_)
            word = _stands(resource, record, snapshot.now, stays_on)
            if record is not None and word == HostCondition.FREE:
                word = _delay(record, sighting, snapshot) or word
                word = "named in a request" if id_ in requested else word
            reasons |= {stays_on: None} if stays_on else {}
            counts[word] = counts.get(word, 0) + 1
    waiting = beginning + sum(map(_waits, snapshot.machines))
    if taken := min(counts.get(HostCondition.FREE, 0), waiting):
        counts |= {"free for machines that wait": taken}
        counts[HostCondition.FREE] -= taken
    counts = {word: number for word, number in counts.items() if number}
    summary = (
        ", ".join(f"{number} {word}" for word, number in sorted(counts.items())) or "none at all"
    )
    wanted = ", ".join(str(offer) for offer in snapshot.fleet.offers)
    why = f": {', '.join(reasons)}" if reasons else ""
    return f"{Reason.NO_AVAILABLE_HOST}: no host fits {wanted} (hosts: {summary}){why}"
