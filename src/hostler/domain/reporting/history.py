"""History: what happened to a machine or a fleet, told from its events, a sentence for each."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from hostler.domain.ids import CycleId, HostId, MachineId
from hostler.domain.model.commands import Event
from hostler.domain.model.phases import host_sentence, sentence


class Line(Struct, frozen=True, kw_only=True):
    """One line of a history: when, of whom (neither: the fleet), what, and in which cycle."""

    at: datetime
    machine: MachineId | None
    host: HostId | None
    kind: str
    text: str
    cycle: CycleId


def tell(event: Event) -> Line:
    """Return the event as a line; a kind that is not known here is told as it stands."""
    teller = _TELLERS.get(event.kind, _plainly)
    return Line(
        at=event.at,
        machine=event.machine,
        host=event.host,
        kind=event.kind,
        text=teller(event),
        cycle=event.cycle,
    )


def _made(event: Event) -> str:
    return f"recorded as pending: {sentence(event.reason)} ({event.detail})"


def _moved(event: Event) -> str:
    way, _, detail = event.detail.partition(": ")
    before, _, after = way.partition(">")
    text = sentence(event.reason)
    more = f" ({detail})" if detail and detail != text else ""
    return f"{before} → {after}: {text}{more}"


def _asked(event: Event) -> str:
    return f"about to ask the provider: {event.detail or event.reason}"


def _done(event: Event) -> str:
    return f"done: {event.detail or event.reason}"


def _removed(event: Event) -> str:
    return f"removed: {event.detail or event.reason}"


def _refused(event: Event) -> str:
    return f"the provider refused {event.reason}: {event.detail}".removesuffix(": ")


def _unknown(event: Event) -> str:
    return f"nobody can say whether {event.reason} had its effect: {event.detail}"


def _barred(event: Event) -> str:
    return f"our own gate refused ({event.reason}): {event.detail}"


def _condition(event: Event) -> str:
    return f"the fleet: {event.reason}"


def _request(event: Event) -> str:
    return f"asked: {event.reason} ({event.detail})".removesuffix(" ()")


def _request_refused(event: Event) -> str:
    return f"what was asked cannot be: {event.detail}"


def _host(event: Event) -> str:
    return event.detail or sentence(event.reason)


def _host_moved(event: Event) -> str:
    way, _, why = event.detail.partition(": ")
    before, _, after = way.partition(">")
    stands = f"{before} → {after}" if before != after else f"is {after}"
    goal = f", to be {event.reason}" if event.reason else ""
    return f"the host: {stands}{goal}: {host_sentence(why)}".removesuffix(": ")


def _host_lost(event: Event) -> str:
    return f"{sentence(event.reason)} ({event.detail})"


def _probe_failed(event: Event) -> str:
    return f"not ready yet: its readiness probe ({event.reason}) failed: {event.detail}"


def _renamed(event: Event) -> str:
    before, _, after = event.detail.partition(" > ")
    return f"now a machine of fleet {after}, no longer of {before}" if after else event.detail


def _drift(event: Event) -> str:
    return f"no longer as recorded: {event.reason} ({event.detail})"


def _drift_over(event: Event) -> str:
    return f"as recorded again; it was so that {event.reason}"


def _alarm(event: Event) -> str:
    return f"alarm: {event.detail or sentence(event.reason)}"


def _plainly(event: Event) -> str:
    words = (event.kind.replace("_", " "), event.reason, event.detail)
    return ": ".join(word for word in words if word)


_TELLERS: dict[str, Callable[[Event], str]] = {
    "made": _made,
    "moved": _moved,
    "asked": _asked,
    "done": _done,
    "resource_removed": _removed,
    "refused": _refused,
    "unknown": _unknown,
    "barred": _barred,
    "condition": _condition,
    "request": _request,
    "request_refused": _request_refused,
    "host": _host,
    "host_lost": _host_lost,
    "host_taken": _host_lost,
    "release_skipped": _host_lost,
    "alarm": _alarm,
    "renamed": _renamed,
    "drift": _drift,
    "drift_over": _drift_over,
    "probe_failed": _probe_failed,
    "host_moved": _host_moved,
}
