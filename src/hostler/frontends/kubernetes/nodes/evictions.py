"""Evictions: what the server's answer to one means, and what to do about the Pod next. Pure."""

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from hostler.kubernetes.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unavailable,
)

AGAIN = timedelta(seconds=5)
"""How long after a refusal the same Pod's eviction is asked for again, as kubectl has it."""

_BUDGET = "disruption budget"
_MANY = "more than one PodDisruptionBudget"
_NAMESPACE = "being terminated"


class Answered(StrEnum):
    """What the server said of one eviction.

    `accepted`: the Pod ends; `gone`: it is there no more, or another one has its name; `budget`: a
    disruption budget forbids it for now; `later`: the server asks to wait, or nobody knows;
    `ending`: its namespace ends, and its Pods with it; `wrong`: a person has to mend something.
    """

    ACCEPTED = "accepted"
    GONE = "gone"
    BUDGET = "budget"
    LATER = "later"
    ENDING = "ending"
    WRONG = "wrong"


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of an eviction, what to say of it, and when it may be asked for again."""

    answered: Answered
    text: str = ""
    after: timedelta = AGAIN


ACCEPTED = Outcome(answered=Answered.ACCEPTED, text="it is ending")


def outcome_of(error: ApiError) -> Outcome:
    """Return what an answer that is no success means for a Pod."""
    text = " ".join(str(error).split())
    after = error.retry_after or AGAIN
    if isinstance(error, NotFound | Conflict):
        return Outcome(answered=Answered.GONE, text="it is there no more")
    if isinstance(error, TooManyRequests):
        budget = _BUDGET in text.lower()
        answered = Answered.BUDGET if budget else Answered.LATER
        return Outcome(answered=answered, text=text, after=after)
    if isinstance(error, Forbidden):
        ending = _NAMESPACE in text
        return Outcome(answered=Answered.ENDING if ending else Answered.WRONG, text=text)
    if isinstance(error, Unavailable) and _MANY in text:
        return Outcome(answered=Answered.WRONG, text=text)
    return Outcome(
        answered=Answered.LATER if error.retryable else Answered.WRONG, text=text, after=after
    )
