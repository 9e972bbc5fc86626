"""Ready: which of a subject's next calls may be made now, and what the others wait for."""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.machine import CallState
from hostler.domain.model.subject import Subject


class Ready(Struct, frozen=True, kw_only=True):
    """Calls that may be made now; or none, with what is waited for and until when if known.

    `named` are all that the provider named, drift that cannot be mended now included; None where it
    was not asked.
    """

    calls: tuple[Call, ...] = ()
    named: tuple[Call, ...] | None = None
    waits: str = ""
    at: datetime | None = None


def is_paused(subject: Subject, now: datetime) -> bool:
    """Tell whether a subject still waits after a refusal, a failure or an outcome nobody knows.

    A wait that began in the future was set before the clock jumped back: it counts for nothing.
    """
    since, until = subject.retry_since, subject.retry_at
    return since is not None and until is not None and since <= now < until


def pausing(subject: Subject, observed_at: datetime | None, now: datetime) -> Ready | None:
    """Return what a subject waits for whatever comes next for it, or None.

    That is the end of a pause, or, after an unknown outcome, an observation begun since:
    `observed_at` is when the newest one began that was complete for it, None where there is none.
    """
    if is_paused(subject, now):
        waits = f"another try: {subject.error}" if subject.error else "another try"
        return Ready(waits=waits, at=subject.retry_at)
    since = subject.unknown_since
    if since is not None and (observed_at is None or observed_at <= since):
        return Ready(waits="an observation: the outcome of the last call is unknown")
    return None


class Observed(Struct, frozen=True):
    """When the newest observation began, if there is one, and how late a kind of call may show."""

    at: datetime | None
    delay_of: Callable[[str], timedelta]


def settling(kind: str) -> str:
    """Return what is waited for while a call of this kind may still have its effect."""
    return f"settling: whether {kind} had its effect"


def ready(
    subject: Subject,
    calls: tuple[Call, ...],
    observed: Observed,
    in_doubt: Callable[[Call], str],
    until: datetime | None = None,
) -> Ready:
    """Return which of these calls may be made now.

    None that was done since the newest observation began, for an older one shows what was before;
    no owner tag that may still come; and none of which `in_doubt` says why not, `until` when.
    """
    fresh = tuple(call for call in calls if not _was_done(subject, call, observed.at))
    if calls and not fresh:
        return Ready(waits="an observation of what was done")
    coming = {call: at for call in fresh if (at := _coming_until(subject, call, observed))}
    doubts = {call: settling(call.kind) for call in coming}
    doubts |= {call: why for call in fresh if (why := in_doubt(call))}
    certain = tuple(call for call in fresh if call not in doubts)
    if fresh and not certain:
        ends = max(filter(None, (until, *coming.values())), default=None)
        return Ready(waits=doubts[fresh[0]], at=ends)
    return Ready(calls=certain)


def _coming_until(subject: Subject, call: Call, observed: Observed) -> datetime | None:
    """Return until when an owner tag that was answered well may still come; None: it came, or not.

    Made once more before that, the second one could come when the host is somebody else's.
    """
    asked = subject.last_call(call) if call.shows is Shows.OWNER_TAG else None
    if asked is None or asked.call_state is not CallState.DONE or asked.closed is None:
        return None
    until = asked.closed + observed.delay_of(call.kind)
    return until if observed.at is None or observed.at <= until else None


def _was_done(subject: Subject, call: Call, observed_at: datetime | None) -> bool:
    """Tell whether a call that shows by itself was answered well since the newest observation."""
    shows = call.shows.is_of_host or call.shows in {Shows.POWER, Shows.REST}
    asked = subject.last_call(call) if shows else None
    if asked is None or asked.call_state is not CallState.DONE or asked.closed is None:
        return False
    return observed_at is None or observed_at <= asked.closed
