"""Pooling: hosts that somebody puts into a pool, makes a machine of, or gives up, by naming them.

What is put into the pool keeps its disk until it is claimed, and is wiped before that: anybody may
have used it. What is adopted goes on as it is where its disk is to be kept.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from hostler.domain.ids import AccountName, HostId, MachineId, PartId, machine_id
from hostler.domain.model.commands import KeepHost
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import (
    OTHERS,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
)
from hostler.domain.model.machine import Fate, Machine, Offer, Origin
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen, Wish, WishKind

from .claims import ADOPTED, CLEAN


def pooled(account: AccountName, seen: Seen) -> Iterator[KeepHost]:
    """Yield the record of each host that is wished into the pool; one that is in use stays out."""
    tied = frozenset(seen.ties.values())
    for wish in seen.wishes:
        part = _named(wish, WishKind.POOL_ADD, seen)
        if part is None or wish.host is None or wish.host in tied or _is_foreign(part):
            continue
        record = seen.hosts.get(wish.host) or Host(id=wish.host, account=account, zone=part.zone)
        dirty = replace(
            record,
            fleet=seen.fleet.name,
            goal=HostGoal.POOLED,
            pool=seen.pool,
            type=part.note("type"),
            name=part.name,
            policy=ReleasePolicy.KEEP if record.origin is HostOrigin.ORDERED else None,
            quarantined_until=None,
            scheduled=None,
            wiped=None,
            wiping=None,
        )
        yield KeepHost(host=dirty.now(HostCondition.DIRTY, seen.now, f"put in by {wish.actor}"))


def given_up(account: AccountName, seen: Seen) -> Iterator[KeepHost]:
    """Yield the record of each host that is wished to be given up, and that nobody has."""
    tied = frozenset(seen.ties.values())
    for wish in seen.wishes:
        part = _named(wish, WishKind.RETIRE, seen)
        if part is None or wish.host is None or wish.host in tied or part.note("stage") in OTHERS:
            continue
        record = seen.hosts.get(wish.host) or Host(id=wish.host, account=account, zone=part.zone)
        retired = replace(
            record,
            fleet=record.fleet or seen.fleet.name,
            machine=record.machine or _nobody(wish.host),
            goal=HostGoal.RETIRED,
            policy=ReleasePolicy.TERMINATE,
            type=part.note("type"),
            name=part.name,
            quarantined_until=None,
            asked=tuple(asked for asked in record.asked if asked.fate is Fate.OPEN),
        )
        why = f"given up by {wish.actor}: {wish.why}"
        yield KeepHost(host=retired.now(HostCondition.RETIRING, seen.now, why))


def taken_over(parts: Iterable[Part], seen: Seen) -> Iterator[KeepHost]:
    """Yield a record for each host that another installation kept and that is adopted: wiped anew.

    What was being given up goes on to its end. A host that a machine of ours has stays as it is,
    whatever it is called.
    """
    tied = frozenset(seen.ties.values())
    for part in parts:
        if part.slot.kind != seen.traits.hosts or part.mark is None or HostId(part.id) in tied:
            continue
        retires = part.note("named") == "retiring"
        known = seen.hosts.get(HostId(part.id))
        record = known or Host(id=HostId(part.id), account=seen.fleet.account, zone=part.zone)
        host = replace(
            record,
            fleet=seen.fleet.name,
            machine=part.mark.machine,
            adopted=True,
            goal=HostGoal.RETIRED if retires else HostGoal.WIPED,
            pool=part.note("pool") or seen.pool,
            type=part.note("type"),
            image=seen.fleet.offers[0].image,
            name=part.name,
            wiped=None,
            wiping=None,
        )
        condition = HostCondition.RETIRING if retires else HostCondition.DIRTY
        yield KeepHost(host=host.now(condition, seen.now, str(Reason.ADOPTED)))


def adopted(seen: Seen, serial: int) -> Iterator[Machine]:
    """Yield a machine for each host that is wished to be one; they begin with their hosts."""
    tied = frozenset(seen.ties.values())
    known = {machine.id for machine in seen.machines}
    for wish in seen.wishes:
        part = _named(wish, WishKind.POOL_ADOPT, seen)
        if part is None or wish.host in tied or _is_foreign(part) or not wish.machines:
            continue
        if wish.machines[0] in known:
            continue
        serial += 1
        yield _machine(wish, part, serial, seen)


def joining(seen: Seen) -> int:
    """Return how many machines come with hosts in this turn: no others are made in their place."""
    return sum(1 for _ in adopted(seen, 0))


def with_room(row: FleetRow, machines: Iterable[Machine], seen: Seen) -> FleetRow:
    """Return the row with a size that has room for those that come, or one would be shed for them.

    What is shed is wiped, and it would be the youngest. A fleet that lacks machines grows less.
    """
    many = joining(seen)
    wanted = sum(m.wanted and m.goal is not Goal.RESTING for m in machines) if many else 0
    return replace(row, size=max(row.wished(seen.fleet), wanted + many)) if many else row


def _machine(wish: Wish, part: Part, serial: int, seen: Seen) -> Machine:
    image = seen.fleet.offers[0].image
    machine = Machine(
        id=wish.machines[0],
        fleet=seen.fleet.name,
        serial=serial,
        created=seen.now,
        since=seen.now,
        phase=Phase.STARTING,
        offer=Offer(type=part.note("type"), zone=part.zone, image=image),
        reason=str(Reason.ADOPTED),
        template=seen.fleet.template,
        origin=Origin.ADOPTED,
        host=wish.host,
    ).with_fact(ADOPTED, seen.now)
    return machine.with_fact(CLEAN, seen.now) if wish.keep else machine


def _named(wish: Wish, kind: WishKind, seen: Seen) -> Part | None:
    """Return the host that a wish of this kind names, if looks show it."""
    if wish.kind is not kind or wish.host is None:
        return None
    return seen.view.part(PartId(wish.host))


def _nobody(host: HostId) -> MachineId:
    """Return an id for the name of a host that never had a machine: no machine has it."""
    return machine_id(int.from_bytes(hashlib.sha256(host.encode()).digest()[:7], "big"))


def _is_foreign(part: Part) -> bool:
    """Tell whether another installation has it: that is not ours to take, whoever asks."""
    return part.note("stage") == "foreign"
