"""Faults: what an API server's refusal or silence is for whoever saves or reads."""

from hostler.domain.errors import StoreBusy, StoreError
from hostler.kubernetes.errors import ApiError, Conflict, Timeout, TooManyRequests, Unavailable


def is_passing(error: ApiError) -> bool:
    """Tell whether the same call may succeed in a moment."""
    transient = isinstance(error, Timeout | Unavailable | TooManyRequests | Conflict)
    return transient or error.unknown


def as_store_error(journal: str, error: ApiError) -> StoreError:
    """Return the error for the store's caller."""
    kind = StoreBusy if is_passing(error) else StoreError
    return kind(f"{journal}: {error}")
