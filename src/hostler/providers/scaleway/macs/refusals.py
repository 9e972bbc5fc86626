"""Refusals: what it means that a host could not be read before something is done to it."""

from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused
from hostler.providers.scaleway.common.errors import (
    TROUBLE,
    Failed,
    Problem,
    is_missing,
    unread,
)

FORBIDDEN = 403


def unread_host(trouble: Exception, call: Call, host: str) -> Outcome:
    """Return what it means that the host could not be read first: gone, or not now.

    A host that was deleted is recorded to answer 403, as a rate limit in disguise does: neither is
    a matter of permissions as long as the host is observed, and only an observation can tell.
    """
    if isinstance(trouble, Failed) and names(trouble.problem, host):
        return Done(absent=(call.target,), missing=True) if call.target else _vanished(host)
    if isinstance(trouble, Failed) and trouble.problem.status == FORBIDDEN:
        return Refused(why=Refusal.BUSY, text=f"host {host}: {trouble}, or it is deleted")
    if isinstance(trouble, TROUBLE):
        return unread(trouble, f"host {host}")
    raise trouble


def names(problem: Problem, host: str) -> bool:
    """Tell whether it is this very host that is said not to be there; silence names nothing."""
    return bool(problem.resource_id) and is_missing(problem, host)


def _vanished(host: str) -> Refused:
    return Refused(why=Refusal.WRONG_STATE, text=f"host {host} is not there any more")
