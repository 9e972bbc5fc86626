"""What an API server's refusal or silence means, and whether to try again."""

from datetime import timedelta

from hostler.domain.errors import HostlerError

_OF_ALL = frozenset({0, 429, 503})
"""Codes of a server that answers nobody now: no answer, a limit, and one that is not available."""


class ApiError(HostlerError):
    """The API server did not do what was asked.

    `code` is the HTTP status, 0 where there was none; `reason` the server's own word for it;
    `retry_after` how long it asks to be left alone; `unknown` tells that the call may have had its
    effect, or may have it later; `of_all` that the server answers nobody now, whatever is asked.
    """

    def __init__(
        self,
        text: str = "",
        *,
        code: int = 0,
        reason: str = "",
        retry_after: timedelta | None = None,
        unknown: bool = False,
    ) -> None:
        super().__init__(text)
        self.code, self.reason = code, reason
        self.retry_after, self.unknown = retry_after, unknown
        self.of_all = code in _OF_ALL


class NotFound(ApiError):
    """There is no such object, or its namespace is not there."""


class KindNotServed(NotFound):
    """The server does not know the kind in this version: the definition is not installed."""


class AlreadyExists(ApiError):
    """An object of this name is there already."""


class Conflict(ApiError):
    """Somebody wrote first, or owns a field that was applied: read again, then decide again."""

    retryable = True


class Expired(ApiError):
    """The version or the page asked for is too old for the server: list again from the start."""

    retryable = True


class Forbidden(ApiError):
    """The credentials are good and may not do this; the text has the rule that would let them."""


class Unauthorized(ApiError):
    """The credentials are not accepted, fresh ones neither."""


class Invalid(ApiError):
    """The server refuses what was sent, and would again."""


class TooManyRequests(ApiError):
    """The server, or a budget of disruptions, asks to wait; nothing was done."""

    retryable = True


class Timeout(ApiError):
    """No answer in time, on the way or inside the server."""

    retryable = True


class Unavailable(ApiError):
    """The server cannot be reached, broke off, or is broken for the moment."""

    retryable = True


class Unreadable(ApiError):
    """What answered is no API server, or speaks of something else than was asked for."""

    retryable = True
