"""Discovery: which versions, groups and kinds the server serves."""

from hostler.ports.http import HttpRequest

from .kinds.registry import Registry
from .state.body import Body
from .state.refusals import NoPage

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64"}
_HEALTH = frozenset({"healthz", "livez", "readyz"})


def page(kinds: Registry, request: HttpRequest) -> Body | None:
    """Return what no kind answers, None for a path of a kind; NoPage for a group that is none."""
    if request.method != "GET":
        return None
    parts = request.path.strip("/").split("/")
    if parts == ["version"]:
        return dict(VERSION)
    if len(parts) == 1 and parts[0] in _HEALTH:
        return {"status": "ok"}
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if parts[0] == "apis" and len(parts) <= 3:
        return _groups(kinds, parts[1:])
    return _found(kinds.resources("", "v1")) if parts == ["api", "v1"] else None


def _groups(kinds: Registry, parts: list[str]) -> Body:
    match parts:
        case [group]:
            return _found(kinds.group(group))
        case [group, version]:
            return _found(kinds.resources(group, version))
        case _:
            return kinds.groups()


def _found(body: Body | None) -> Body:
    if body is None:
        raise NoPage
    return body
