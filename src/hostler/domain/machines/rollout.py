"""Rollout: is a setup script at fault, or are the hosts on which it fails?

A script that fails on several hosts and worked on none is held to be at fault itself, and so is one
that suddenly fails on a wave of them. Then no host is blamed, what was blamed is taken back, and
nothing more is claimed for it, until it works somewhere or is changed.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.commands import Event, SaveHost
from hostler.domain.model.fleet import FleetRow, ProbeKind
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.remediation import LADDER, Trouble, settled
from hostler.domain.policy.revisions import ROLLS, Lapse, Revision, Tried

WAVE = timedelta(hours=1)
"""In which time failures on different hosts count as one wave."""

_NAMED = 3
"""How many hosts are named of those on which one command failed."""


def is_prepared_by_ssh(snapshot: Snapshot) -> bool:
    """Tell whether this fleet's hosts are logged in to before they are ready."""
    return bool(snapshot.capabilities.hosts) and snapshot.fleet.probe.kind is ProbeKind.SSH


def with_revision(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with what it teaches of the fleet's setup script."""
    known = reviewed(snapshot.row, snapshot)
    if not known.digest:
        return snapshot
    return replace(snapshot, revision=known, canaries=canaries(known, snapshot))


def reviewed(row: FleetRow, snapshot: Snapshot) -> Revision:
    """Return what is known of the list in force, with what the records of hosts tell by now."""
    wanted = digest_of(snapshot.fleet.probe.commands) if is_prepared_by_ssh(snapshot) else ""
    if not wanted:
        return Revision()
    known = row.revision
    if known.digest != wanted:
        known = Revision(digest=wanted, since=snapshot.now)
    return _judged(_learnt(known, snapshot), row, snapshot)


def _learnt(known: Revision, snapshot: Snapshot) -> Revision:
    hosts = [host for host in snapshot.hosts.values() if host.fleet == snapshot.fleet.name]
    if known.worked is None and any(host.bootstrap.applied == known.digest for host in hosts):
        known = replace(known, worked=known.since)
    for host in hosts:
        tried = host.bootstrap.tried
        if (
            tried.digest == known.digest
            and tried.fleet == snapshot.fleet.name
            and tried.at is not None
        ):
            known = _folded(known, host, tried, tried.at)
    return known


def _folded(known: Revision, host: Host, tried: Tried, at: datetime) -> Revision:
    """Take in what came of the newest try at one host; taking it in twice changes nothing."""
    if known.retry is not None and at <= known.retry:
        return known
    others = tuple(lapse for lapse in known.failed if lapse.host != host.id)
    if not tried.number:
        return replace(known, worked=max(at, known.worked or at), failed=others)
    lapse = Lapse(host=host.id, at=at, number=tried.number, of=tried.of, ended=tried.ended)
    if lapse in known.failed:
        return known
    if known.worked is not None:
        others = tuple(other for other in others if at - other.at < WAVE)
    return replace(known, failed=(*others, lapse))


def _judged(known: Revision, row: FleetRow, snapshot: Snapshot) -> Revision:
    if known.broken is not None:
        healed = known.worked is not None and known.worked > known.broken
        return replace(known, broken=None, cleared=snapshot.now, failed=()) if healed else known
    if known.worked is None:
        broken = len(known.failed) >= snapshot.fleet.probe.broken_on
    else:
        recent = sum(snapshot.now - lapse.at < WAVE for lapse in known.failed)
        broken = recent > max(2, row.desired(snapshot.fleet) * 0.2)
    return replace(known, broken=snapshot.now) if broken else known


def condition(known: Revision) -> str:
    """Return why nothing is claimed for this list, or an empty string where it is not at fault."""
    if known.broken is None:
        return ""
    kinds = dict.fromkeys((lapse.number, lapse.of, lapse.ended) for lapse in known.failed)
    causes = "; ".join(_cause(known, *kind) for kind in sorted(kinds))
    once = "it worked on none" if known.worked is None else "it had worked before"
    return (
        f"{Reason.BOOTSTRAP_FAILED}: the setup script is at fault, not the hosts: "
        f"{causes}; {once}: "
        "correct `commands` and start the engine with them; until then no host is claimed for it"
    )


def _cause(known: Revision, number: int, of: int, ended: str) -> str:
    kind = (number, of, ended)
    lapses = (lapse for lapse in known.failed if (lapse.number, lapse.of, lapse.ended) == kind)
    hosts = sorted(lapse.host for lapse in lapses)
    more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
    return f"command {number} of {of} failed ({ended}) on {', '.join(hosts[:_NAMED])}{more}"


def trouble_of(host: Host, known: Revision) -> Trouble:
    """Return a host's trouble; failures of another list, or from before it healed, are none."""
    tried = host.bootstrap.tried
    if not host.health.trouble.listed:
        return host.health.trouble
    before = known.retry is not None and tried.at is not None and tried.at <= known.retry
    return (
        settled(host.health.trouble)
        if before or tried.digest != known.digest
        else host.health.trouble
    )


def keeps(host: Host, known: Revision) -> bool:
    """Tell whether a host is kept as it is, because what failed on it is the list's fault."""
    return known.broken is not None and trouble_of(host, known).listed


def is_suspect(host: Host, known: Revision) -> bool:
    """Tell whether the last failure at a host may be the list's, whose fault is not known yet."""
    healthy = host.health.trouble.diagnosis is None or not host.health.trouble.diagnosis.startswith(
        "unhealthy"
    )
    return host.health.trouble.listed and healthy and host.bootstrap.tried.digest == known.digest


class Pardon(Struct, frozen=True, kw_only=True):
    """A host whose strikes are taken back, with the event of it."""

    keep: SaveHost
    event: Event


def pardons(known: Revision, snapshot: Snapshot) -> Iterator[Pardon]:
    """Yield each host that was struck because of a list which is at fault, without those strikes.

    A quarantine that came of them alone ends with them. Hosts in flight have their turn later.
    """
    if known.broken is None:
        return
    for host in snapshot.hosts.values():
        many = host.health.struck.count(known.digest)
        if many and host.fleet == snapshot.fleet.name and host.id not in snapshot.moving_hosts:
            yield _pardon(host, many, known, snapshot)


def _pardon(host: Host, many: int, known: Revision, snapshot: Snapshot) -> Pardon:
    strikes = max(0, host.health.strikes - many)
    others = tuple(digest for digest in host.health.struck if digest != known.digest)
    out = host.health.quarantined_until
    if out is not None and strikes < LADDER.strikes:
        out = min(out, snapshot.now)
    word = "a strike" if many == 1 else f"{many} strikes"
    notice = Event(
        kind="strikes_taken_back",
        at=snapshot.now,
        fleet=snapshot.fleet.name,
        cycle=snapshot.cycle,
        reason=str(Reason.BOOTSTRAP_FAILED),
        detail=f"host {host.id}: {word} that the list was to blame for",
    )
    cleared = host.with_health(strikes=strikes, struck=others, quarantined_until=out)
    return Pardon(keep=SaveHost(host=cleared), event=notice)


def canaries(known: Revision, snapshot: Snapshot) -> frozenset[MachineId] | None:
    """Return the machines in use that a changed list is brought to now; None: to all of them.

    It is brought to one, until it worked somewhere. When that one's tries are used up another one
    tells whose fault it is. Where the list is at fault only those go on that tried it.
    """
    if known.worked is not None and known.broken is None:
        return None
    carriers = [m for m in snapshot.machines if _lacks(m, known, snapshot)]
    tried = [m for m in carriers if snapshot.hosts[m.host].bootstrap.drift.digest == known.digest]  # pyright: ignore[reportArgumentType] - _lacks() looked for the host
    waits = [m for m in carriers if m not in tried and not m.is_protected(snapshot.now)]
    stuck = all(_is_used_up(m, snapshot) for m in tried)
    first = waits[:1] if stuck and known.broken is None else []
    return frozenset(machine.id for machine in (*tried, *first))


def _lacks(machine: Machine, known: Revision, snapshot: Snapshot) -> bool:
    """Tell whether a machine in use has a host that does not carry the list in force."""
    if machine.phase is not Phase.READY or machine.deletion is not None or machine.host is None:
        return False
    host = snapshot.hosts.get(machine.host)
    return host is not None and host.bootstrap.applied != known.digest


def _is_used_up(machine: Machine, snapshot: Snapshot) -> bool:
    host = snapshot.hosts[machine.host] if machine.host else None
    return host is not None and host.bootstrap.drift.failures >= ROLLS.attempts
