"""Documents: read models as the JSON objects that programs read; keys are a promise. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from hostler.controllers.plan import Plan, Planned
from hostler.domain.model.calls import Call
from hostler.domain.model.commands import Next
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import sentence
from hostler.domain.model.snapshot import Orphan, Request
from hostler.domain.reporting.history import Line
from hostler.domain.reporting.hosts import HostStatus

from .fleets import FleetStatus
from .hosts import HostExplanation, on_release, owner
from .machines import MachineExplanation
from .orphans import OrphanReport, orphan_cost
from .power_states import PowerStatus

Json = dict[str, object]


def fleet(status: FleetStatus) -> Json:
    """Return a fleet and its machines; how many are ready is None where nothing is on record."""
    return {
        "name": status.fleet.name,
        "account": status.fleet.account,
        "size": None if status.past else status.desired,
        "ready": status.ready if status.known else None,
        "in_doubt": status.in_doubt,
        "outdated": len(status.outdated),
        "phases": dict(sorted(status.counts.items())),
        "condition": status.row.condition if status.row else "",
        "paused": status.pause,
        "engine": None if status.past else status.runs,
        "cost": round(status.cost, 6),
        "orphans": len(status.orphans),
        "requests": [request(entry) for entry in status.requests],
        "machines": [machine(entry, status) for entry in status.machines],
    }


def machine(entry: Machine, status: FleetStatus) -> Json:
    """Return one machine of a fleet."""
    return {
        "id": entry.id,
        "serial": entry.serial,
        "phase": entry.phase,
        "goal": entry.goal,
        "since": entry.since,
        "reason": entry.reason,
        "observed": entry.observed,
        "type": entry.offer.type,
        "zone": entry.offer.zone,
        "image": entry.offer.image,
        "address": entry.address,
        "price": entry.billing.price,
        "cost": round(entry.billing.cost(status.at), 6),
        "tries": entry.tries,
        "retry_at": entry.retry_at,
        "error": entry.error,
        "protected": entry.is_protected(status.at),
        "deleting": entry.deletion is not None,
        "stuck": entry.health.stuck,
        "next": status.next_step(entry),
        "host": host_record(status.host(entry)) if entry.host else None,
        "resources": {str(p.slot): p.bound for p in entry.places if p.bound},
    }


def host_record(entry: Host | None) -> Json | None:
    """Return what our records say of a machine's host."""
    if entry is None:
        return None
    return {
        "id": entry.id,
        "name": entry.ownership.name,
        "condition": entry.condition,
        "strikes": entry.health.strikes,
        "wiped": entry.cleaning.wiped,
        "paid_until": entry.purchase.paid_until,
    }


def host(status: HostStatus, now: datetime, power: PowerStatus | None = None) -> Json:
    """Return one host; `power` is how it stands as its power goes, where that is ours to switch."""
    record = status.record
    return {
        "id": status.id,
        "account": status.account,
        "name": status.name,
        "type": status.type,
        "zone": status.zone,
        "state": status.state,
        "status": status.status,
        "recorded": record is not None,
        "machine": status.machine,
        "fleet": status.fleet,
        "pool": status.facts.pool or (record.ownership.pool if record else ""),
        "origin": record.purchase.origin if record else None,
        "strikes": record.health.strikes if record else 0,
        "quarantined_until": status.quarantined(now),
        "wiped": record.cleaning.wiped if record else None,
        "paid_until": status.paid_until,
        "scheduled": status.scheduled,
        "renews": status.facts.renews or (record.purchase.renews if record else False),
        "price": status.price,
        "reason": record.reason if record else "",
        "error": record.error if record else "",
        "hold": record.held(now) if record else None,
        "on": record.power.on if record else None,
        "starts": record.power.starts if record else 0,
        "power_state": power_state(power) if power else None,
    }


def power_state(status: PowerStatus) -> Json:
    """Return how a host stands in the words of the older homelab autoscaler."""
    under_way = status.operation
    timeout = under_way.timeout if under_way else None
    return {
        "state": status.progress,
        "power": status.power,
        "operation": None
        if under_way is None
        else {
            "operation": under_way.kind,
            "owner": under_way.owner,
            "since": under_way.since,
            "until": under_way.until,
            "timeout_seconds": None if timeout is None else timeout.total_seconds(),
        },
        "tries": status.tries,
        "retry_at": status.retry_at,
        "last_failure": status.last_failure,
    }


def request(entry: Request) -> Json:
    """Return a request as it was recorded."""
    return {
        "number": entry.number,
        "kind": entry.kind,
        "fleet": entry.fleet,
        "machine": entry.machine,
        "size": entry.size,
        "host": entry.host,
        "hold": entry.hold,
        "until": entry.until,
        "machines": entry.machines,
        "source": entry.source,
        "actor": entry.actor,
        "at": entry.at,
        "why": entry.why,
    }


def orphan_report(report: OrphanReport, now: datetime) -> Json:
    """Return orphans, what they cost together, and what could not be observed."""
    return {
        "at": now,
        "observed": report.observed,
        "incomplete": report.incomplete,
        "orphans": [orphan(entry, now) for entry in report.orphans],
        "price": report.price,
        "cost": report.cost(now),
    }


def orphan(entry: Orphan, now: datetime) -> Json:
    """Return one orphan."""
    return {
        "resource": entry.resource,
        "kind": entry.kind,
        "zone": entry.zone,
        "fleet": entry.fleet,
        "class": entry.cls,
        "first_seen": entry.first,
        "last_seen": entry.last,
        "missing_since": entry.missing,
        "created": entry.created,
        "age_seconds": round((now - (entry.created or entry.first)).total_seconds()),
        "sightings": entry.sightings,
        "owner": entry.owner,
        "price": entry.price,
        "cost": round(orphan_cost(entry, now), 6),
        "blocked": entry.blocked,
    }


def event(line: Line) -> Json:
    """Return one event of a history, as a sentence."""
    return {
        "at": line.at,
        "machine": line.machine,
        "host": line.host,
        "kind": line.kind,
        "text": line.text,
        "cycle": line.cycle,
    }


# ---------------------------------------------------------------- plans and explanations


def call(entry: Call) -> Json:
    """Return one call of a plan."""
    return {
        "kind": entry.kind,
        "slot": str(entry.slot),
        "zone": entry.zone,
        "effect": entry.effect,
        "target": entry.target,
        "attempt": entry.attempt,
        "args": dict(entry.args),
    }


def calls(entries: Iterable[Call]) -> list[Json]:
    """Return calls in the order in which they would be made."""
    return [call(entry) for entry in entries]


def plan(made: Plan) -> Json:
    """Return what one cycle of a fleet would do now."""
    return {
        "fleet": made.snapshot.fleet.name,
        "condition": made.decision.condition,
        "calls": sum(len(entry.calls) for entry in made.machines),
        "machines": [
            {
                "machine": entry.subject,
                "offer": entry.name,
                "phase": entry.stands,
                "reason": entry.reason,
                "waiting_for": entry.ready.waits,
                "waiting_until": entry.ready.at,
                "calls": calls(entry.calls),
            }
            for entry in made.machines
        ],
        "incomplete": [
            {"zone": zone, "kind": kind, "error": observed.error}
            for (zone, kind), observed in sorted(made.snapshot.inventory.failed.items())
        ],
    }


def host_plan(entry: Planned) -> Json:
    """Return what would be done now to one host."""
    return {
        "host": entry.subject,
        "name": entry.name,
        "goal": entry.stands,
        "reason": entry.reason,
        "waiting_for": entry.ready.waits,
        "waiting_until": entry.ready.at,
        "calls": calls(entry.calls),
    }


def next_step(step: Next) -> Json:
    """Return what happens next to a machine or host."""
    return {"kind": step.kind, "detail": step.detail, "at": step.at}


def machine_explanation(explained: MachineExplanation, power: PowerStatus | None = None) -> Json:
    """Return why a machine stands as it does; `power` is its host's, as `host` has it."""
    entry = explained.machine
    return {
        "machine": entry.id,
        "fleet": entry.fleet,
        "phase": entry.phase,
        "since": entry.since,
        "deadline": explained.deadline,
        "observed": entry.observed,
        "reason": explained.reason,
        "because": sentence(explained.reason),
        "blocker": explained.blocker,
        "deletion": explained.deletion,
        "alarm": explained.alarm,
        "outdated": explained.outdated,
        "next": next_step(explained.next),
        "error": entry.error,
        "host": host(explained.host, explained.at, power) if explained.host else None,
        "condition": explained.condition,
        "moves": dict(explained.moves),
    }


def host_explanation(
    explained: HostExplanation, now: datetime, power: PowerStatus | None = None
) -> Mapping[str, object]:
    """Return why a host stands as it does; `power` is how it stands, as `host` has it."""
    planned = explained.planned
    return {
        "host": host(explained.host, now, power),
        "owner": owner(explained.host),
        "on_release": on_release(explained.host),
        "paid_for": explained.stays,
        "next": next_step(explained.next(now)),
        "calls": calls(planned.calls) if planned else [],
        "waiting_for": planned.ready.waits if planned else "",
        "waiting_until": planned.ready.at if planned else None,
        "fits": dict(explained.fits),
    }
