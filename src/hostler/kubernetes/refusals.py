"""Refusals: what an answer that is no success means, as the one error that fits it."""

from datetime import timedelta

import msgspec
from msgspec import Struct

from .errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KindNotServed,
    NotFound,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreadable,
)
from .objects import HasMetadata, Key
from .resources import Resource

LONGEST_MESSAGE = 4096
"""How much of a server's message is told: it goes into logs, records and conditions."""

LONGEST_PAUSE = timedelta(minutes=5)
"""The longest that a server may ask to be left alone."""


class Cause(msgspec.Struct, frozen=True):
    """One reason more, such as the budget that forbids an eviction."""

    message: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """What a Status is about; `name` is empty where the kind itself is unknown."""

    name: str = ""
    kind: str = ""
    retry_after_seconds: int = 0
    causes: tuple[Cause, ...] | None = None


class Status(msgspec.Struct, frozen=True):
    """The server's own account of a refusal (`kind: Status`)."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


class Action(Struct, frozen=True, kw_only=True):
    """What was tried, in the words of Kubernetes' access rules."""

    verb: str
    resource: Resource[HasMetadata]
    key: Key
    subresource: str = ""

    @property
    def target(self) -> str:
        """Return the resource as a rule names it."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural

    def __str__(self) -> str:
        """Return it as a person says it."""
        group = f".{self.resource.group}" if self.resource.group else ""
        name = f" {self.key}" if self.key.name else ""
        place = f" in {self.key.namespace}" if self.key.namespace and not self.key.name else ""
        return f"{self.verb} {self.target}{group}{name}{place}"

    def rule(self) -> str:
        """Return the Role, or ClusterRole, that would let it pass."""
        namespace = self.key.namespace
        within = f"\n  namespace: {namespace}" if namespace else ""
        return (
            "apiVersion: rbac.authorization.k8s.io/v1\n"
            f"kind: {'Role' if namespace else 'ClusterRole'}\n"
            f"metadata:\n  name: hostler{within}\n"
            "rules:\n"
            f'- apiGroups: ["{self.resource.group}"]\n'
            f'  resources: ["{self.target}"]\n'
            f'  verbs: ["{self.verb}"]\n'
        )


_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "BadRequest": Invalid,
    "Conflict": Conflict,
    "Expired": Expired,
    "Forbidden": Forbidden,
    "Gone": Expired,
    "InternalError": Unavailable,
    "Invalid": Invalid,
    "NotFound": NotFound,
    "ServerTimeout": Timeout,
    "ServiceUnavailable": Unavailable,
    "Timeout": Timeout,
    "TooManyRequests": TooManyRequests,
    "Unauthorized": Unauthorized,
}

_BY_CODE: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: Timeout,
    409: Conflict,
    410: Expired,
    429: TooManyRequests,
    504: Timeout,
}

_DONE_NOTHING = frozenset({"ServerTimeout"})


def read_status(body: bytes) -> Status | None:
    """Return the Status in a body, or None where it is something else."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def error_of(action: Action, code: int, body: bytes, retry_after: str = "") -> ApiError:
    """Return the error that an answer is; never one that shows a body which is no Status."""
    status = read_status(body)
    if code == 404 and (body.strip() == b"404 page not found" or _no_kind(status)):
        return KindNotServed(f"{action}: the server does not serve it", code=code)
    if status is None:
        return _without_status(action, code, retry_after)
    return error_of_status(action, status, code, retry_after)


def error_of_status(
    action: Action, status: Status, code: int = 0, retry_after: str = ""
) -> ApiError:
    """Return the error that a Status is, of an answer or of a watch's ERROR event."""
    code = status.code or code
    kind = _BY_REASON.get(status.reason) or _of_code(code)
    text = f"{action}: {_message(status) or status.reason or code}"
    if kind is Forbidden:
        text += f"\nThis rule would allow it:\n{action.rule()}"
    details = status.details or Details()
    if kind is TooManyRequests:  # the message of others has their causes in it
        text += "".join(f" {cause.message}" for cause in details.causes or ())
    return kind(
        text,
        code=code,
        reason=status.reason,
        retry_after=_pause(retry_after or str(details.retry_after_seconds or "")),
        unknown=code >= 500 and status.reason not in _DONE_NOTHING,
    )


def _message(status: Status) -> str:
    """Return what the server says, in one line; it may quote a whole object."""
    words = " ".join(status.message.split())
    return words if len(words) <= LONGEST_MESSAGE else f"{words[:LONGEST_MESSAGE]} …"


def _no_kind(status: Status | None) -> bool:
    return status is not None and not (status.details and status.details.name)


def _without_status(action: Action, code: int, retry_after: str) -> ApiError:
    pause = _pause(retry_after)
    if code == 429 or code >= 500:
        kind = _of_code(code)
        text = f"{action}: HTTP {code}, without a word of the API server"
        return kind(text, code=code, retry_after=pause, unknown=code >= 500)
    if code in {401, 403}:
        return _BY_CODE[code](f"{action}: HTTP {code}, by something before the API server")
    return Unreadable(f"{action}: HTTP {code}, not from an API server", code=code)


def _of_code(code: int) -> type[ApiError]:
    known = _BY_CODE.get(code)
    return known or (Unavailable if code >= 500 or code == 0 else Invalid)


def _pause(text: str) -> timedelta | None:
    """Return how long a server asks to be left alone; dates, which are not used here, are none."""
    if not text.isascii() or not text.isdigit():
        return None
    return min(timedelta(seconds=min(int(text[:9]), 1_000_000)), LONGEST_PAUSE)
