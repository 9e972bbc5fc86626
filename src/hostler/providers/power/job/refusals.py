"""Refusals: what an API server's answer means for a machine's power."""

from hostler.domain.model.calls import Refusal, Refused, Unknown
from hostler.kubernetes.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from hostler.providers.power.switch import Failed

_WHYS: tuple[tuple[type[ApiError], Refusal], ...] = (
    (Unauthorized, Refusal.DENIED),
    (Forbidden, Refusal.INVALID),
    (Invalid, Refusal.INVALID),
    (NotFound, Refusal.INVALID),
    (Conflict, Refusal.BUSY),
    (TooManyRequests, Refusal.RATE),
    (Unavailable, Refusal.NOT_SENT),
)


def failed_of(error: ApiError) -> Failed:
    """Return what a call came to that the API server refused, or did not answer.

    A permission that is missing is no wrong credential: it is asked for again, and the text has
    the rule that would grant it.
    """
    text = " ".join(str(error).split())
    why = next((why for kind, why in _WHYS if isinstance(error, kind)), None)
    if why is None or error.unknown:
        return Failed(Unknown(text=text))
    return Failed(Refused(why=why, text=text, after=error.retry_after))
