"""Errors: what a refusal of the API means to the engine, in one table: by `type`, then by status.

Two generations of bodies are about (reference: the table of error bodies of Instance v1); proxies
answer with HTML or nothing at all. Whatever cannot be read is *unknown* where it may have had an
effect.
"""

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.errors import ProviderError
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.ports.http import NoAnswer, NotSent, Response

LONGEST_AFTER = timedelta(hours=1)
_TEXT = 400


class Problem(Struct, frozen=True, kw_only=True):
    """An answer that is no success, as far as it could be read; `json` tells whether it could."""

    status: int
    type: str = ""
    message: str = ""
    resource: str = ""
    resource_id: str = ""
    precondition: str = ""
    denied: str = ""  # what may not be done, and to what kind of thing: "read server"
    fields: bool = False
    json: bool = False
    after: timedelta | None = None
    request: str = ""

    def __str__(self) -> str:
        """Return the problem in a line, with the request's id for the provider's support."""
        words = [str(self.status), self.type, self.message, self.precondition]
        if self.resource:
            words.append(f"({self.resource} {self.resource_id})".replace(" )", ")"))
        if self.request:
            words.append(f"[request {self.request}]")
        return " ".join(word for word in words if word)[:_TEXT]

    @property
    def missing(self) -> bool:
        """Whether the API itself, and no proxy, says that something is not there."""
        return self.type in {"not_found", "unknown_resource"} or (
            self.status == 404 and self.json and not self.type
        )


class Failed(ProviderError):
    """The API answered with something else than success."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Garbled(ProviderError):
    """The API answered with success, and with a body that cannot be read."""


Trouble = Failed | Garbled | NotSent | NoAnswer
"""Everything that asking the API may raise."""
TROUBLE = (Failed, Garbled, NotSent, NoAnswer)


class _Detail(msgspec.Struct, frozen=True):
    action: str | None = None
    argument_name: str | None = None
    reason: str | None = None
    help_message: str | None = None
    resource: str | None = None
    quota: int | float | None = None
    current: int | float | None = None


_BODY = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STRING = msgspec.json.Decoder(str)
_NUMBER = msgspec.json.Decoder(float)
_DETAILS = msgspec.json.Decoder(list[_Detail])


def read_problem(response: Response) -> Problem:
    """Return what an answer that is no success says. Never raises, whatever the body is."""
    request = response.header("X-Request-Id") or ""
    plain = Problem(status=response.status, request=request[:64], after=_retry_after(response))
    try:
        body = _BODY.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return replace(plain, message="" if response.body else "(empty answer)")
    return replace(
        plain,
        type=_text(body, "type")[:60],
        message=_message(body),
        resource=_text(body, "resource")[:60],
        resource_id=_text(body, "resource_id")[:60],
        precondition=_text(body, "precondition")[:60],
        denied=_denied(body)[:60],
        fields="fields" in body,
        json=True,
        after=plain.after or _reset_seconds(body),
    )


def _text(body: dict[str, msgspec.Raw], key: str) -> str:
    try:
        return _STRING.decode(body[key])
    except (KeyError, msgspec.DecodeError):
        return ""


def _message(body: dict[str, msgspec.Raw]) -> str:
    words = [_text(body, "message"), _text(body, "help_message"), *map(_detail, _details(body))]
    if "fields" in body:
        words.append(bytes(body["fields"]).decode(errors="replace"))
    if state := _text(body, "current_state"):
        words.append(f"(state: {state})")
    return "; ".join(word for word in words if word)[:_TEXT]


def _denied(body: dict[str, msgspec.Raw]) -> str:
    details = (one for one in _details(body) if one.action and one.resource)
    denials = (f"{one.action} {one.resource}" for one in details)
    return next(denials, "")


def _details(body: dict[str, msgspec.Raw]) -> list[_Detail]:
    try:
        return _DETAILS.decode(body["details"])[:5]
    except (KeyError, msgspec.DecodeError):
        return []


def _detail(detail: _Detail) -> str:
    words = (detail.argument_name, detail.reason, detail.help_message, detail.resource)
    text = " ".join(word for word in words if word)
    if detail.quota is not None:
        text += f" {detail.current} of {detail.quota}"
    return text


def _retry_after(response: Response) -> timedelta | None:
    """Return what the header asks for: seconds, or a date measured from the answer's own date."""
    value = response.header("Retry-After")
    if value is None:
        return None
    try:
        return _bounded(float(value))
    except ValueError:
        pass
    until, date = _date(value), _date(response.header("Date") or "")
    return _bounded((until - date).total_seconds()) if until and date else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return date if date.tzinfo else None


def _reset_seconds(body: dict[str, msgspec.Raw]) -> timedelta | None:
    try:
        return _bounded(_NUMBER.decode(body["reset_seconds"]))
    except (KeyError, msgspec.DecodeError):
        return None


def _bounded(seconds: float) -> timedelta | None:
    """Return a pause that can be believed, or None for one that cannot."""
    if not 0 <= seconds < float("inf"):
        return None
    return min(timedelta(seconds=min(seconds, 1e6)), LONGEST_AFTER)


BY_TYPE: dict[str, Refusal] = {
    "invalid_arguments": Refusal.INVALID,
    "quotas_exceeded": Refusal.QUOTA,
    "quota_exceeded": Refusal.QUOTA,
    "not_found": Refusal.WRONG_STATE,
    "unknown_resource": Refusal.WRONG_STATE,
    "transient_state": Refusal.BUSY,
    "conflict": Refusal.BUSY,
    "already_exists": Refusal.WRONG_STATE,
    "locked": Refusal.BUSY,
    "resource_locked": Refusal.BUSY,
    "precondition_failed": Refusal.WRONG_STATE,
    "permissions_denied": Refusal.DENIED,
    "denied_authentication": Refusal.DENIED,
    "out_of_stock": Refusal.STOCK,
    "expired": Refusal.WRONG_STATE,
    "resource_expired": Refusal.WRONG_STATE,
    "too_many_requests": Refusal.RATE,
}
"""What each `type` means, whatever the status."""

BY_STATUS: dict[int, Refusal] = {
    401: Refusal.BUSY,
    403: Refusal.BUSY,
    404: Refusal.WRONG_STATE,
    409: Refusal.BUSY,
    410: Refusal.WRONG_STATE,
    412: Refusal.WRONG_STATE,
    423: Refusal.BUSY,
    429: Refusal.RATE,
}
"""What a status means without a known `type`. A 403 may be a rate limit in disguise: *busy*."""


_UNAVAILABLE = "when volume is not available"
"""Recorded: Block Storage calls the state of a volume on its way an invalid argument."""


def refusal_of(problem: Problem) -> Refusal | None:
    """Return the class of a refusal, or None where nobody can say whether it had an effect."""
    if problem.type == "invalid_request_error":
        return _legacy(problem)
    if problem.type == "invalid_arguments" and _UNAVAILABLE in problem.message:
        return Refusal.BUSY
    if problem.precondition == "attribute_must_be_set":
        return Refusal.INVALID
    known = BY_TYPE.get(problem.type) or BY_STATUS.get(problem.status)
    if known is not None:
        return Refusal.DENIED if problem.status == 401 and problem.json else known
    return Refusal.INVALID if problem.json and 400 <= problem.status < 500 else None


def _legacy(problem: Problem) -> Refusal | None:
    """The elder generation says everything with one type: its words must be read."""
    if "quota exceeded" in problem.message.lower():
        return Refusal.QUOTA
    if problem.status >= 500:
        return None
    if not problem.fields and "should be" in problem.message:
        return Refusal.WRONG_STATE
    return Refusal.INVALID


def outcome_of(trouble: Trouble, call: Call) -> Outcome:
    """Return what asking for `call` came to, in the engine's words."""
    match trouble:
        case NotSent():
            return Refused(why=Refusal.NOT_SENT, text=str(trouble) or "not sent")
        case NoAnswer():
            return Unknown(text=str(trouble) or "no answer")
        case Garbled():
            return Unknown(text=str(trouble))
        case Failed():
            return _outcome(trouble.problem, call)


def unread(trouble: Trouble, what: str) -> Refused:
    """Return why something could not be read that a call needs first: nothing was changed."""
    why, after = Refusal.BUSY, None
    if isinstance(trouble, NotSent):
        why = Refusal.NOT_SENT
    elif isinstance(trouble, Failed):
        why = refusal_of(trouble.problem) or Refusal.BUSY
        after = trouble.problem.after
    return Refused(why=why, text=f"{what}: {trouble}", after=after)


def _outcome(problem: Problem, call: Call) -> Outcome:
    if call.effect is Effect.DESTROY and call.target and is_missing(problem, call.target):
        return Done(absent=(call.target,), missing=True)
    why = refusal_of(problem)
    if why is None:
        return Unknown(text=str(problem))
    if problem.missing and "image" in problem.resource.lower():
        why = Refusal.INVALID
    after = problem.after if why in {Refusal.RATE, Refusal.BUSY} else None
    return Refused(why=why, text=str(problem), after=after)


def is_missing(problem: Problem, target: str) -> bool:
    """Tell whether the API says that this very thing, and no other, is not there.

    Every 404 that was recorded names what is not there, by its id; older ones did in their text.
    One that names nothing comes from a gateway, or says that there is no such route.
    """
    if problem.resource_id:
        return problem.missing and problem.resource_id.split("/")[0] == target
    return problem.type == "unknown_resource" and bool(target) and target in problem.message
