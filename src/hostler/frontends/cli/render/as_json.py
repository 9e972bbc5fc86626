"""As JSON: records as the objects that programs read; keys are a promise. Pure."""

from datetime import datetime

from hostler.domain.model.calls import Call
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine, cost
from hostler.domain.model.snapshot import Orphan, Request
from hostler.domain.reporting.history import Line
from hostler.frontends.cli.views.fleet_status import Standing, outlook

Json = dict[str, object]


def standing(seen: Standing) -> Json:
    """Return a fleet and its machines."""
    return {
        "name": seen.fleet.name,
        "account": seen.fleet.account,
        "size": None if seen.past else seen.desired,
        "ready": seen.ready,
        "phases": dict(sorted(seen.counts.items())),
        "condition": seen.row.condition if seen.row else "",
        "paused": seen.pause,
        "engine": None if seen.past else seen.runs,
        "cost": round(seen.cost, 6),
        "orphans": len(seen.orphans),
        "requests": [request(entry) for entry in seen.requests],
        "machines": [machine(entry, seen) for entry in seen.machines],
    }


def machine(entry: Machine, seen: Standing) -> Json:
    """Return one machine."""
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
        "price": entry.price,
        "cost": round(cost(entry, seen.at), 6),
        "tries": entry.tries,
        "retry_at": entry.retry_at,
        "error": entry.error,
        "protected": entry.is_protected(seen.at),
        "deleting": entry.deletion is not None,
        "stuck": entry.stuck,
        "next": outlook(entry, seen.fleet, seen.at, seen.kept_until(entry)),
        "host": host(seen.host(entry)) if entry.host else None,
        "resources": {str(p.slot): p.bound for p in entry.places if p.bound},
    }


def host(entry: Host | None) -> Json | None:
    """Return what our records say of a machine's host."""
    if entry is None:
        return None
    return {
        "id": entry.id,
        "name": entry.name,
        "condition": entry.condition,
        "strikes": entry.strikes,
        "wiped": entry.wiped,
        "paid_until": entry.paid_until,
    }


def request(entry: Request) -> Json:
    """Return a wish that nobody took yet."""
    return {
        "number": entry.number,
        "kind": entry.kind,
        "fleet": entry.fleet,
        "machine": entry.machine,
        "size": entry.size,
        "host": entry.host,
        "machines": entry.machines,
        "actor": entry.actor,
        "at": entry.at,
        "why": entry.why,
    }


def orphan(entry: Orphan, now: datetime) -> Json:
    """Return one suspect."""
    return {
        "resource": entry.resource,
        "kind": entry.kind,
        "zone": entry.zone,
        "fleet": entry.fleet,
        "class": entry.cls,
        "first": entry.first,
        "last": entry.last,
        "created": entry.created,
        "age_seconds": round((now - (entry.created or entry.first)).total_seconds()),
        "sightings": entry.sightings,
        "owner": entry.owner,
        "price": entry.price,
        "cost": round(cost_of(entry, now), 6),
        "blocked": entry.blocked,
    }


def cost_of(entry: Orphan, now: datetime) -> float:
    """Return what a suspect has cost up to now: the ledger is written when something changes."""
    hours = (now - (entry.created or entry.first)).total_seconds() / 3600
    return max(entry.cost, entry.price * hours)


def line(entry: Line) -> Json:
    """Return one line of a story."""
    return {
        "at": entry.at,
        "machine": entry.machine,
        "host": entry.host,
        "kind": entry.kind,
        "text": entry.text,
        "cycle": entry.cycle,
    }


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
