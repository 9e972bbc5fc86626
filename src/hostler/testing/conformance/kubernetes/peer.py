"""Peer: an API server as the checks reach it, without anything that would hide its answers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct, field

Body = dict[str, Any]
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
GROUP = "conformance.hostler.dev"
PATIENCE = 10.0
_NUMBERS = count()
_OF_EVERY_NAMESPACE = "kube-root-ca.crt"  # made by the controllers, soon after the namespace


class Answer(Struct, frozen=True):
    """One answer: its status, its JSON, and its text."""

    status: int
    body: Body = field(default_factory=dict[str, Any])
    text: str = ""

    @property
    def reason(self) -> str:
        """Return the reason of a Status."""
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        """Return the message of a Status."""
        return str(self.body.get("message", ""))

    @property
    def metadata(self) -> Body:
        """Return the metadata of an object."""
        found: Body = self.body["metadata"]
        return found

    @property
    def version(self) -> str:
        """Return the version of an object, or of a list."""
        return str(self.metadata["resourceVersion"])

    @property
    def causes(self) -> list[tuple[str, str]]:
        """Return which fields are wrong, and why, in one word."""
        details: Body = self.body.get("details", {})
        return [(str(one.get("field")), str(one.get("reason"))) for one in details["causes"]]


class Peer(Struct, frozen=True):
    """A server, and the namespace that belongs to one check alone."""

    session: aiohttp.ClientSession
    url: str
    token: str
    namespace: str

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        **query: str,
    ) -> Answer:
        """Send a request and return its answer."""
        async with self.session.request(
            method,
            self.url + path,
            params=query,
            data=None if body is None else msgspec.json.encode(body),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": kind,
                "User-Agent": "conformance/1",
            },
            allow_redirects=False,
        ) as response:
            text = await response.text()
            return Answer(response.status, _object(text), text)

    def path(self, plural: str, name: str = "", below: str = "", group: str = "") -> str:
        """Return a path within the namespace of the check."""
        root = f"/apis/{group}/v1" if group else "/api/v1"
        parts = [root, "namespaces", self.namespace, plural, name, below]
        return "/".join(part for part in parts if part)

    def maps(self, name: str = "") -> str:
        """Return the path of ConfigMaps."""
        return self.path("configmaps", name)

    def boxes(self, name: str = "", below: str = "") -> str:
        """Return the path of Boxes, the kind of the checks' own."""
        return self.path("boxes", name, below, GROUP)

    def a_map(self, name: str = "", **labels: str) -> Body:
        """Return a ConfigMap that is nowhere yet."""
        metadata: Body = {"name": name or fresh("map"), "namespace": self.namespace}
        if labels:
            metadata["labels"] = labels
        data = {"a": "1"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    def a_box(self, name: str = "", **spec: object) -> Body:
        """Return a Box that is nowhere yet."""
        metadata: Body = {"name": name or fresh("box"), "namespace": self.namespace}
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Box",
            "metadata": metadata,
            "spec": {"pool": "east", **spec},
        }

    async def made(self, item: Body, below: str = "") -> Answer:
        """Create a ConfigMap or a Box; it must work."""
        path = self.boxes() if item["kind"] == "Box" else self.maps()
        answer = await self.call("POST", path + below, item)
        assert answer.status == 201, answer
        return answer

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> "AsyncGenerator[Events]":
        """Watch a collection."""
        params = {"watch": "1", **query}
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.session.get(self.url + path, params=params, headers=headers) as response:
            try:
                yield Events(response)
            finally:
                _cut(response)


class Event(Struct, frozen=True):
    """One line of a watch."""

    type: str
    item: Body

    @property
    def name(self) -> str:
        """Return the name of the object."""
        return str(self.item["metadata"]["name"])

    @property
    def version(self) -> str:
        """Return the version of the object."""
        return str(self.item["metadata"]["resourceVersion"])


class Events:
    """The lines of a watch, one after the other."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """Return the status of the answer."""
        return self._response.status

    async def refusal(self) -> Answer:
        """Return the whole answer where it is no watch."""
        text = await self._response.text()
        return Answer(self._response.status, msgspec.json.decode(text), text)

    async def next(self, seconds: float = PATIENCE) -> Event | None:
        """Return the next event, or None at the end."""
        async with asyncio.timeout(seconds):
            while line := await self._response.content.readline():
                found: Body = msgspec.json.decode(line)
                if found["object"].get("metadata", {}).get("name") != _OF_EVERY_NAMESPACE:
                    return Event(str(found["type"]), found["object"])
        return None

    async def one(self) -> Event:
        """Return the next event; there must be one."""
        event = await self.next()
        assert event is not None, "the watch has ended"
        return event

    async def quiet(self, seconds: float = 0.3) -> bool:
        """Tell whether nothing comes for a while."""
        try:
            await self.next(seconds)
        except TimeoutError:
            return True
        return False


def _object(text: str) -> Body:
    """Return the JSON object of an answer, or an empty one for anything else."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _cut(response: aiohttp.ClientResponse) -> None:
    """End a stream at once: a polite end of TLS waits for a server that goes on sending."""
    transport = response.connection.transport if response.connection else None
    response.close()
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()


def fresh(prefix: str) -> str:
    """Return a name that no other check has."""
    return f"{prefix}-{next(_NUMBERS)}"


def merged(**changes: object) -> Mapping[str, object]:
    """Return a merge patch of the spec."""
    return {"spec": changes}


async def until(peer: Peer, path: str, holds: Callable[[Answer], bool], why: str) -> Answer:
    """Read an object until something holds; it must hold soon.

    Soon is two minutes: controllers list kinds that are new to them every half minute only.
    """
    async with asyncio.timeout(12 * PATIENCE):
        while True:
            answer = await peer.call("GET", path)
            if holds(answer):
                return answer
            await asyncio.sleep(0.05)
    raise AssertionError(why)
