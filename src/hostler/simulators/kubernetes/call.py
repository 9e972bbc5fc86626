"""Call: one request, read: whose object, of which kind, with which options."""

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from hostler.ports.http import HttpRequest

from .kinds.kind import Kind
from .state.body import Body, is_mapping
from .state.refusals import About, NoPage, Refusal, bad_request

LARGEST = 3 << 20
_PATH = re.compile(r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))/(?P<more>.+)$")


class Target(Struct, frozen=True):
    """What a path names."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str


def target_of(path: str) -> Target:
    """Return what a path under /api/v1 or /apis/GROUP/VERSION names; NoPage for another."""
    found = _PATH.match(path)
    if found is None:
        raise NoPage
    group, version = found["group"] or "", found["version"] or found["core"]
    parts = found["more"].strip("/").split("/")
    namespace = ""
    below = {"status", "finalize"}
    if parts[0] == "namespaces" and len(parts) > 2 and (group or parts[2] not in below):
        namespace, parts = parts[1], parts[2:]
    if len(parts) > 3 or not all(parts):
        raise NoPage
    plural, name, subresource = (*parts, "", "")[:3]
    return Target(group, version, namespace, plural, name, subresource)


@dataclass(slots=True, eq=False, kw_only=True)
class Call:
    """One request about objects of a kind. `user` is who asks."""

    request: HttpRequest
    kind: Kind
    target: Target
    user: str = ""
    _query: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Read the query; the first of several values holds."""
        for name, value in reversed(self.request.query):
            self._query[name] = value

    @property
    def about(self) -> About:
        """Return what an answer says that this is about."""
        return self.kind.about(self.target.name)

    def text(self, name: str) -> str:
        """Return a value of the query, or nothing."""
        return self._query.get(name, "")

    def flag(self, name: str) -> bool:
        """Return a switch of the query, as Go reads it: there and not false."""
        return self._query.get(name, "0").lower() not in {"false", "0", "f"}

    def number(self, name: str) -> int:
        """Return a number of the query, or 0."""
        text = self.text(name)
        try:
            return int(text or 0)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def dry(self) -> bool:
        """Tell whether nothing may be stored."""
        text = self.text("dryRun")
        if text not in {"", "All"}:
            message = f'dryRun: Unsupported value: "{text}": supported values: "All"'
            raise Refusal(422, "Invalid", f'{self.request.method}Options "" is invalid: {message}')
        return text == "All"

    @property
    def manager(self) -> str:
        """Return who owns what is written: as said, else the first word of the client's name."""
        if named := self.text("fieldManager"):
            return named
        return self.header("User-Agent").split("/")[0] or "unknown"

    def header(self, name: str) -> str:
        """Return a header, or nothing."""
        wanted = name.lower()
        return next((text for key, text in self.request.headers if key.lower() == wanted), "")

    @property
    def content_type(self) -> str:
        """Return the type of the body, without its parameters."""
        return self.header("Content-Type").split(";")[0].strip() or "application/json"

    def decoded(self) -> Any:
        """Return the body, whatever it is; a Refusal where it cannot be read."""
        if len(self.request.body) > LARGEST:
            limit = f"limit is {LARGEST}"
            raise Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
        return decoded(self.request.body, self.content_type)

    def body(self) -> Body:
        """Return the object that was sent."""
        found = self.decoded()
        if not is_mapping(found):
            raise bad_request("the object provided is unrecognized (must be of type an object)")
        return found


def decoded(text: bytes, content_type: str) -> Any:
    """Return what JSON or YAML says; a Refusal where it says nothing."""
    try:
        return msgspec.json.decode(text)  # of what is both, JSON is read far sooner
    except (ValueError, RecursionError) as error:
        if "yaml" not in content_type:
            raise _unreadable(error) from None
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader without dates
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> Refusal:
    return bad_request(f"error decoding the body: {type(error).__name__}")


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: a date is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
