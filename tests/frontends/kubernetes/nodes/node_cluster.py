"""A cluster in memory behind a client: Nodes, Pods, evictions; Pods end after their grace."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.session import Answer, Call, Session
from hostler.ports.clock import Clock

Body = dict[str, Any]


@dataclass
class FakeCluster(Session):
    """What the cluster has. `grace` is how long a Pod takes to end; None: it never does.

    `refusals` are answers to the next evictions of a Pod, by its name: status, reason, message.
    `returning` are Nodes whose kubelets are heard again as soon as they were listed. `forbidden`
    are methods and kinds that are refused; `broken` are Nodes that cannot be written, with the
    status of the answer: 0 is none.
    """

    clock: Clock
    grace: timedelta | None = timedelta(seconds=3)
    nodes: dict[str, Body] = field(default_factory=dict[str, Body])
    pods: dict[str, Body] = field(default_factory=dict[str, Body])
    refusals: dict[str, list[tuple[int, str, str]]] = field(
        default_factory=dict[str, list[tuple[int, str, str]]]
    )
    evicted: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    options: list[Body] = field(default_factory=list[Body])
    patches: list[Body] = field(default_factory=list[Body])
    deletions: list[Body] = field(default_factory=list[Body])
    lists: int = 0
    returning: tuple[str, ...] = ()
    forbidden: frozenset[tuple[str, str]] = frozenset()
    broken: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def client(self) -> Client:
        return Client(session=self)

    async def close(self) -> None:
        """Nothing is open."""

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        del deadline
        await asyncio.sleep(0.01)
        parts = call.path.removeprefix("/api/v1/").split("/")
        namespace = parts[1] if parts[0] == "namespaces" else ""
        kind, *name = parts[2:] if namespace else parts
        if (call.method, kind) in self.forbidden:
            return _refusal(403, "Forbidden", "the user may not")
        if call.method in {"PATCH", "DELETE"} and name[0] in self.broken:
            if not self.broken[name[0]]:
                raise ApiError("no answer", unknown=True)
            return _refusal(self.broken[name[0]], "", "a webhook says no")
        body: Body = json.loads(call.body or b"{}")
        answers: dict[tuple[str, ...], Callable[[], Answer]] = {
            ("GET", "nodes", "one"): lambda: _found(self.nodes.get(name[0])),
            ("GET", "nodes"): self._nodes,
            ("PATCH", "nodes", "one"): lambda: self._patch(name[0], body),
            ("DELETE", "nodes", "one"): lambda: self._delete(name[0], body),
            ("GET", "pods"): lambda: self._pods_of(call),
            ("POST", "pods", "one", "eviction"): lambda: self._evict(name[0], body),
        }
        return answers[(call.method, kind, *(("one", *name[1:]) if name else ()))]()

    def _nodes(self) -> Answer:
        self.lists += 1
        listed = _list(self.nodes)
        for node in self.returning:
            self.nodes[node]["status"]["conditions"][0]["status"] = "True"
            self.nodes[node]["metadata"]["resourceVersion"] += "0"
        return listed

    def _pods_of(self, call: Call) -> Answer:
        node = dict(call.query)["fieldSelector"].partition("=")[2]
        there = {key: pod for key, pod in self.pods.items() if pod["spec"]["nodeName"] == node}
        return _list(there)

    def node(self, name: str, **spec: Any) -> None:
        conditions = [
            {
                "type": "Ready",
                "status": spec.pop("ready", "True"),
                "lastHeartbeatTime": "2026-01-01T00:00:00Z",
            }
        ]
        allocatable = spec.pop("allocatable", {})
        metadata: Body = {"name": name, "uid": f"u-{name}", "resourceVersion": "1"}
        metadata |= {key: spec.pop(key, {}) for key in ("labels", "annotations")}
        self.nodes[name] = {
            "metadata": metadata,
            "spec": spec,
            "status": {"conditions": conditions, "allocatable": allocatable},
        }

    def pod(self, name: str, node: str = "n", owner: str = "ReplicaSet", **more: Any) -> None:
        owners = [{"apiVersion": "v1", "kind": owner, "name": "o", "uid": "o", "controller": True}]
        metadata: Body = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
        metadata |= {"ownerReferences": owners if owner else []} | more.pop("metadata", {})
        spec = {"nodeName": node} | more.pop("spec", {})
        status = {"phase": more.pop("phase", "Running")}
        self.pods[name] = {"metadata": metadata, "spec": spec, "status": status}

    def _patch(self, name: str, change: Body) -> Answer:
        node = self.nodes.get(name)
        if node is None:
            return _refusal(404, "NotFound", name)
        self.patches.append(change)
        metadata = node["metadata"]
        version = change.get("metadata", {}).pop("resourceVersion", metadata["resourceVersion"])
        if version != metadata["resourceVersion"]:
            return _refusal(409, "Conflict", "somebody wrote since")
        self.nodes[name] = _merged(node, change)
        self.nodes[name]["metadata"]["resourceVersion"] = str(int(version) + 1)
        return _found(self.nodes[name])

    def _delete(self, name: str, options: Body) -> Answer:
        self.deletions.append({"name": name, **options})
        known = self.nodes.get(name, {}).get("metadata", {}).get("resourceVersion")
        if options.get("preconditions", {}).get("resourceVersion", known) != known:
            return _refusal(409, "Conflict", "somebody wrote since")
        return _found(self.nodes.pop(name, None))

    def _evict(self, name: str, body: Body) -> Answer:
        self.evicted.append((asyncio.get_running_loop().time(), name))
        self.options.append(body["deleteOptions"])
        if waiting := self.refusals.get(name):
            return _refusal(*waiting.pop(0))
        pod = self.pods.get(name)
        if pod is None:
            return _refusal(404, "NotFound", name)
        if body["deleteOptions"]["preconditions"]["uid"] != pod["metadata"]["uid"]:
            return _refusal(409, "Conflict", "another uid")
        pod["metadata"]["deletionTimestamp"] = self.clock.now().isoformat()
        if self.grace is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(self.grace.total_seconds(), self.pods.pop, name, None)
        return Answer(status=201, body=b'{"kind": "Status", "metadata": {}, "status": "Success"}')


def _merged(item: Any, change: Mapping[str, Any]) -> Body:
    result: Body = dict(item) if isinstance(item, dict) else {}  # pyright: ignore[reportUnknownArgumentType] - JSON
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _merged(result.get(key), value)  # pyright: ignore[reportUnknownArgumentType] - JSON
        else:
            result[key] = value
    return result


def _found(item: Body | None) -> Answer:
    if item is None:
        return _refusal(404, "NotFound", "it")
    return Answer(status=200, body=json.dumps(item).encode())


def _list(items: Mapping[str, Body]) -> Answer:
    body = {"metadata": {"resourceVersion": "1"}, "items": list(items.values())}
    return Answer(status=200, body=json.dumps(body).encode())


def _refusal(code: int, reason: str, message: str) -> Answer:
    text, _, cause = message.partition(" | ")
    details = {"name": "it", "causes": [{"message": cause}] if cause else None}
    status = {
        "kind": "Status",
        "message": text,
        "reason": reason,
        "code": code,
        "details": details,
    }
    return Answer(status=code, body=json.dumps(status).encode())


BUDGET = (
    429,
    "TooManyRequests",
    (
        "Cannot evict pod as it would violate the pod's disruption budget."
        " | The disruption budget web needs 2 healthy pods and has 2 currently"
    ),
)
