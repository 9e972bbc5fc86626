"""Status: how a fleet, a provider and a host stand, as it is written on their objects. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import cast

from msgspec import Struct

from hostler.frontends.kubernetes.definitions.custom import within
from hostler.frontends.kubernetes.objects.assembly import Verdict
from hostler.frontends.kubernetes.objects.models import Fields
from hostler.queries.fleets import FleetStatus

ACCEPTED, READY, PAUSED = "Accepted", "Ready", "Paused"
_STAYS = "; what was in force before stays in force"
_UNPROTECT = "set it to false, and the fleet ends; or spec.deletionPolicy to leave, and it stays"
_AFRESH = "take its finalizer off, write it again without that, and delete that one"
FLEET_LABEL = "hostler.dev/fleet"


class Condition(Struct, frozen=True, kw_only=True):
    """One condition, before it is known since when it holds."""

    type: str
    holds: bool | None
    reason: str
    message: str = ""

    @property
    def status(self) -> str:
        """Return it in Kubernetes' word."""
        return "Unknown" if self.holds is None else str(self.holds)


def accepted(verdict: Verdict | None) -> Condition:
    """Return whether the newest spec is in force."""
    if verdict is None:
        return Condition(type=ACCEPTED, holds=None, reason="NotRead", message="not read yet")
    message = verdict.message + (_STAYS if verdict.older else "")
    return Condition(
        type=ACCEPTED, holds=verdict.accepted, reason=str(verdict.reason), message=message
    )


def fleet_fields(status: FleetStatus | None, machines: int = 0) -> dict[str, object]:
    """Return the numbers of a fleet, without conditions.

    Where it is not known how it stands, `machines` is how many the records have of it.
    """
    if status is None:
        return {"size": 0, "machines": machines, "ready": 0, "orphans": 0}
    return {
        "size": status.desired,
        "machines": len(status.machines),
        "ready": status.ready,
        "orphans": len(status.orphans),
        "selector": f"{FLEET_LABEL}={status.fleet.name}",
        **({"phases": dict(sorted(status.counts.items()))} if status.machines else {}),
    }


def fleet_conditions(
    status: FleetStatus | None, verdict: Verdict | None, *, ends: bool, unread: str = ""
) -> tuple[Condition, ...]:
    """Return what holds of a fleet; `unread` says why nobody can look after it, where that is so.

    Its `status` is not known then. One that `ends` is no longer read.
    """
    spec = _deleted() if ends and verdict is None else accepted(verdict)
    return spec, _ready(status, ends=ends, unread=unread), _paused(status)


def _deleted() -> Condition:
    message = "its object was deleted: what it says is not in force any more"
    return Condition(type=ACCEPTED, holds=None, reason="Deleting", message=message)


def _ready(status: FleetStatus | None, *, ends: bool, unread: str) -> Condition:
    if ends:
        stands = f"nobody looks after it, for {unread}" if unread else _left(status)
        message = f"its object was deleted; {stands}"
        return Condition(type=READY, holds=False, reason="Deleting", message=message)
    if status is None or status.row is None:
        alone = f", and nobody looks after its machines, for {unread}" if unread else ""
        message = f"no engine has it{alone}"
        return Condition(type=READY, holds=False, reason="NotInForce", message=message)
    message = f"{status.ready} of {_counted(status.desired, 'machine')} ready"
    if why := status.row.condition:
        message = f"{message}; {why}"
    enough = status.ready >= status.desired
    return Condition(
        type=READY, holds=enough, reason="Ready" if enough else "Waiting", message=message
    )


def _left(status: FleetStatus | None) -> str:
    """Return how many machines a deleted fleet has, what keeps them, and what ends that."""
    machines = status.machines if status is not None else ()
    left = f"{_counted(len(machines), 'machine')} left"
    if status is not None and status.fleet.protected and not status.fleet.removed:
        return f"{left}, kept by spec.protected: {_UNPROTECT}"
    if status is None or not machines:
        return left
    if pause := status.paused:
        return f"{left}, {pause}: none ends before; set spec.paused to false, or hostler resume it"
    if status.fleet.protected:
        return f"{left}, kept by spec.protected, which was true when it was deleted: {_AFRESH}"
    held = [machine for machine in machines if machine.is_protected(status.at)]
    return f"{left}; {held[0].id}: {status.next_step(held[0])}" if held else left


def _paused(status: FleetStatus | None) -> Condition:
    pause = status.paused if status is not None else ""
    return Condition(
        type=PAUSED, holds=bool(pause), reason="Paused" if pause else "NotPaused", message=pause
    )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def document(
    fields: Fields,
    conditions: Iterable[Condition],
    generation: int,
    before: Fields | None,
    now: datetime,
) -> dict[str, object]:
    """Return a whole status; a condition whose status is the same holds since when it did."""
    since = {str(one.get("type")): one for one in written_conditions(before)}
    return {
        **fields,
        "observedGeneration": generation,
        "conditions": [_written(one, generation, since.get(one.type), now) for one in conditions],
    }


def _written(
    one: Condition, generation: int, before: Fields | None, now: datetime
) -> dict[str, object]:
    same = before is not None and before.get("status") == one.status
    at = before.get("lastTransitionTime") if same and before is not None else None
    return {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": within(one.message),
        "lastTransitionTime": at or f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "observedGeneration": generation,
    }


def written_conditions(status: Fields | None) -> tuple[Fields, ...]:
    """Return the conditions that a status has."""
    found: object = (status or {}).get("conditions")
    entries = cast("list[object]", found) if isinstance(found, list) else []
    return tuple(cast("Fields", entry) for entry in entries if isinstance(entry, Mapping))


def differs(document: Fields, before: Fields | None) -> bool:
    """Tell whether a status is to be written; others' conditions beside ours are no difference.

    Nor is a field without content: that is what may be left of one whose parts we own no longer.
    """
    if before is None:
        return True
    ours = {one["type"]: one for one in written_conditions(document)}
    there = {one.get("type"): one for one in written_conditions(before)}
    rest, stood = (
        {key: value for key, value in one.items() if key != "conditions" and value != {}}
        for one in (document, before)
    )
    return rest != stood or any(there.get(kind) != one for kind, one in ours.items())
