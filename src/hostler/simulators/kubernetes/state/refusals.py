"""Refusals: every answer that is no success, as a Status with the server's own code and reason."""

from collections.abc import Sequence

from msgspec import Struct

from .body import Body


class Cause(Struct, frozen=True):
    """One field that is wrong; `reason` is one of FieldValueRequired, FieldValueInvalid, …."""

    field: str
    reason: str
    message: str


class Refusal(Exception):
    """An answer of failure; `name` and `kind` say what it is about."""

    def __init__(self, code: int, reason: str, message: str, details: Body | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details = details or {}

    def status(self) -> Body:
        """Return the Status object."""
        body: Body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = self.details
        return {**body, "code": self.code}


class NoPage(Exception):
    """A path that nothing serves: the plain text `404 page not found`."""


class About(Struct, frozen=True):
    """What an answer is about: the kind's group, plural and own name, and an object's name."""

    group: str
    plural: str
    kind: str
    name: str

    @property
    def resource(self) -> str:
        """Return the plural with its group, as messages have it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def details(self, **more: object) -> Body:
        """Return the details of a Status."""
        pairs = (("name", self.name), ("group", self.group), ("kind", self.plural))
        return {**{name: value for name, value in pairs if value}, **more}


def not_found(about: About) -> Refusal:
    """Return that there is no such object."""
    text = f'{about.resource} "{about.name}" not found'
    return Refusal(404, "NotFound", text, about.details())


def already_exists(about: About) -> Refusal:
    """Return that another object has the name."""
    text = f'{about.resource} "{about.name}" already exists'
    return Refusal(409, "AlreadyExists", text, about.details())


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(about: About, why: str = STALE) -> Refusal:
    """Return that an operation was meant for another version, or another object."""
    text = f'Operation cannot be fulfilled on {about.resource} "{about.name}": {why}'
    return Refusal(409, "Conflict", text, about.details())


def invalid(about: About, causes: Sequence[Cause]) -> Refusal:
    """Return which fields of an object are wrong."""
    kind = f"{about.kind}.{about.group}" if about.group else about.kind
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = about.details(
        kind=about.kind,
        causes=[
            {"reason": cause.reason, "message": cause.message, "field": cause.field}
            for cause in causes
        ],
    )
    return Refusal(422, "Invalid", f'{kind} "{about.name}" is invalid: {listed}', details)


def bad_request(message: str) -> Refusal:
    """Return that a request cannot be understood."""
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    """Return that nobody knows who asks."""
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(about: About, why: str, details: Body | None = None) -> Refusal:
    """Return that something is not allowed."""
    name = f' "{about.name}"' if about.name else ""
    text = f"{about.resource}{name} is forbidden: {why}"
    return Refusal(403, "Forbidden", text, {**about.details(), **(details or {})})


def not_allowed() -> Refusal:
    """Return that a kind has no such verb."""
    text = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", text)


def unsupported(about: About, accepted: Sequence[str]) -> Refusal:
    """Return that a body is of a type that is not read here."""
    text = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)}"
    )
    return Refusal(415, "UnsupportedMediaType", text, about.details())


def expired(message: str) -> Refusal:
    """Return that a version is too old to go on from."""
    return Refusal(410, "Expired", message)


def too_old(version: int, oldest: int) -> Refusal:
    """Return that a watch begins before what is remembered."""
    return expired(f"too old resource version: {version} ({oldest})")


def too_many(message: str, details: Body) -> Refusal:
    """Return that something is refused for now."""
    return Refusal(429, "TooManyRequests", message, details)


def internal(message: str) -> Refusal:
    """Return a fault of the server itself."""
    return Refusal(500, "InternalError", f"Internal error occurred: {message}")
