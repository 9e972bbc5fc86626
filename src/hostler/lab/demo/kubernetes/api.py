"""Api: objects of a cluster as JSON, each call as a person's kubectl makes it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec
from msgspec import Struct

from hostler.domain.errors import HostlerError
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.session import Answer, Call, Session
from hostler.ports.clock import Clock

Raw = dict[str, Any]
"""An object, as the server has it."""

DEADLINE = timedelta(seconds=30)
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_GONE, _TOO_MANY, _SERVER = 404, 429, 500
_EVICTION = "eviction"
_TRIES, _PAUSE = 60, timedelta(milliseconds=500)


class Refused(HostlerError):
    """The server refused a call; the text has its reason."""


class Sort(Struct, frozen=True):
    """A sort of objects; `group` is empty for those of Kubernetes itself."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What objects have as their `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """Return where one object is, or all of a namespace."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if self.namespaced else ""
        parts = "".join(f"/{quote(part)}" for part in (name, subresource) if part)
        return f"{root}{inside}/{self.plural}{parts}"


class Api:
    """Reads and writes objects of one namespace, and those that are in none."""

    def __init__(self, session: Session, namespace: str, clock: Clock) -> None:
        """Speak through a session, which somebody else closes."""
        self._session, self.namespace, self._clock = session, namespace, clock

    async def list(self, sort: Sort) -> list[Raw]:
        """Return all objects of a sort, by their names; none where there is no such sort."""
        answer = await self._send("GET", sort.path(self.namespace))
        if answer.status == _GONE:
            return []
        items = cast("list[Raw] | None", _body(answer, sort.plural).get("items"))
        return sorted(items or [], key=name_of)

    async def get(self, sort: Sort, name: str) -> Raw | None:
        """Return one object; None where it is not there."""
        answer = await self._send("GET", sort.path(self.namespace, name))
        return None if answer.status == _GONE else _body(answer, f"{sort.plural} {name}")

    async def apply(self, sort: Sort, name: str, **content: Any) -> Raw:
        """Make an object, or change it to have this content beside its name."""
        metadata = {**content.pop("metadata", {}), "name": name}
        if sort.namespaced:
            metadata["namespace"] = self.namespace
        head = {"apiVersion": sort.api_version, "kind": sort.kind, "metadata": metadata}
        query = (("fieldManager", "hostler-demo"), ("force", "true"))
        path = sort.path(self.namespace, name)
        answer = await self._send("PATCH", path, {**head, **content}, _APPLY, query)
        return _body(answer, f"{sort.plural} {name}")

    async def merge(
        self, sort: Sort, name: str, body: Mapping[str, Any], subresource: str = ""
    ) -> Raw | None:
        """Merge something into an object; None where it is not there."""
        path = sort.path(self.namespace, name, subresource)
        answer = await self._send("PATCH", path, body, _MERGE)
        return None if answer.status == _GONE else _body(answer, f"{sort.plural} {name}")

    async def delete(self, sort: Sort, name: str, *, now: bool = False) -> None:
        """Ask for the end of an object, if it is there; `now` leaves it no grace."""
        body = {"gracePeriodSeconds": 0} if now else None
        answer = await self._send("DELETE", sort.path(self.namespace, name), body)
        if answer.status != _GONE:
            _body(answer, f"{sort.plural} {name}")

    async def evict(self, sort: Sort, name: str) -> bool:
        """Ask a Pod to go by the Eviction API; tell whether its disruption budgets let it."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.namespace},
        }
        path = sort.path(self.namespace, name, _EVICTION)
        answer = await self._send("POST", path, body)
        if answer.status == _TOO_MANY:
            return False
        if answer.status != _GONE:
            _body(answer, f"eviction of {name}")
        return True

    async def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
        query: tuple[tuple[str, str], ...] = (),
    ) -> Answer:
        """Send a call; again for a while where a server, or a webhook of it, is not ready yet."""
        content = b"" if body is None else msgspec.json.encode(body)
        call = Call(method=method, path=path, query=query, body=content, content_type=kind)
        answer = await self._session.send(call, DEADLINE)
        for _ in range(_TRIES):
            if not _is_passing(answer) or path.endswith(f"/{_EVICTION}"):
                break
            await self._clock.sleep(_PAUSE)
            answer = await self._session.send(call, DEADLINE)
        return answer


@asynccontextmanager
async def connected(kubeconfig: Path, namespace: str, clock: Clock) -> AsyncGenerator[Api]:
    """Speak to the cluster of a kubeconfig until the block is left."""
    environment = {"KUBECONFIG": str(kubeconfig)}
    place = Place(environment=environment, home=kubeconfig.parent)
    session = Session(from_kubeconfig(place, clock))
    try:
        yield Api(session, namespace, clock)
    finally:
        await session.close()


def name_of(item: Raw) -> str:
    """Return the name of an object."""
    return str(item["metadata"]["name"])


def is_going(item: Raw) -> bool:
    """Tell whether the end of an object was asked for."""
    return bool(item["metadata"].get("deletionTimestamp"))


def condition_of(item: Raw, kind: str) -> Raw:
    """Return a condition of an object, empty where it has none of this type."""
    found: list[Raw] = item.get("status", {}).get("conditions") or []
    return next((one for one in found if one["type"] == kind), Raw())


def is_true(item: Raw, kind: str) -> bool:
    """Tell whether a condition of an object holds."""
    return condition_of(item, kind).get("status") == "True"


def _is_passing(answer: Answer) -> bool:
    return answer.status == _TOO_MANY or answer.status >= _SERVER


def _body(answer: Answer, what: str) -> Raw:
    try:
        body = msgspec.json.decode(answer.body or b"{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        body = {"message": answer.body.decode(errors="replace")}
    if answer.status >= 300:
        raise Refused(f"{what}: {answer.status}: {body.get('message', '')}")
    return body
