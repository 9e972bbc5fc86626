"""An API server that has Jobs and their Pods, and runs them on a simulated machine at once."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from hostler.simulators.power.box import BUSY, DENIED, NONSENSE, Box, Closes

NAMESPACE = "machines"
BATCH, CORE = "/apis/batch/v1", "/api/v1"
ACTIONS = {"startup": "on", "shutdown": "off_soft"}
Body = dict[str, Any]


@dataclass
class JobsApi:
    """What the server holds, by name; `ends` is the condition of a Job that was just made.

    Without one it runs on, with a Pod that is running. `slow_pods` outlive their Jobs.
    """

    box: Box
    token: str = ""
    ends: str = "Complete"
    slow_pods: bool = False
    jobs: dict[str, Body] = field(default_factory=dict[str, Body])
    pods: dict[str, Body] = field(default_factory=dict[str, Body])
    seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    deletions: list[Body] = field(default_factory=list[Body])
    forbidden: frozenset[tuple[str, str]] = frozenset()
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        return app

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        *_, namespace, plural = (request.path + "/").split("/namespaces/")[-1].split("/")[:2]
        name = request.path.rpartition(f"/{plural}/")[2] if f"/{plural}/" in request.path else ""
        self.seen.append((request.method, request.path))
        if namespace != NAMESPACE:
            return _refusal(404, "NotFound", f'namespaces "{namespace}" not found')
        if (request.method, plural) in self.forbidden:
            return _refusal(403, "Forbidden", f'User "u" cannot {request.method} {plural}')
        items = self.jobs if plural == "jobs" else self.pods
        match request.method:
            case "POST":
                return await self._create(request)
            case "DELETE":
                return self._delete(name, json.loads(await request.read()))
            case _ if name:
                found = items.get(name)
                return web.json_response(found) if found else _refusal(404, "NotFound", name)
            case _:
                chosen = [one for one in items.values() if _fits(one, request)]
                return web.json_response({"metadata": {"resourceVersion": "1"}, "items": chosen})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        job: Body = json.loads(await request.read())
        what = ACTIONS[job["metadata"]["labels"]["hostler.dev/purpose"]]
        try:
            async with self.box.call(what) as fault:
                known = not self.token or request.headers["Authorization"] == f"Bearer {self.token}"
                if fault == DENIED or not known:
                    return _refusal(401, "Unauthorized", "Unauthorized")
                if fault == BUSY:
                    return _refusal(429, "TooManyRequests", "too many requests")
                if fault == NONSENSE:
                    return web.Response(text="<html>", content_type="text/html")
                if job["metadata"]["name"] in self.jobs:
                    return _refusal(409, "AlreadyExists", "it exists")
                self._run(job)
                if self.ends == "Complete":
                    self.box.obey(what, fault)
                return web.json_response(job, status=201)
        except Closes:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()

    def _run(self, job: Body) -> None:
        uid = f"uid-{next(self.numbers)}"
        metadata = job["metadata"] = {**job["metadata"], "uid": uid, "resourceVersion": "1"}
        self.jobs[metadata["name"]] = job
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": uid}
        pod: Body = {
            "name": f"{metadata['name']}-{uid}",
            "namespace": NAMESPACE,
            "labels": metadata["labels"],
            "ownerReferences": [{**owner, "controller": True}],
        }
        phase = "Running" if not self.ends else "Succeeded"
        self.pods[pod["name"]] = {
            "metadata": pod,
            "spec": {"nodeName": "other"},
            "status": {"phase": phase},
        }
        if self.ends:
            self.end(metadata["name"], self.ends)

    def end(self, name: str, *conditions: str) -> None:
        """Let a Job have these conditions, in this order."""
        listed = [
            {"type": one, "status": "True", "reason": "Why", "message": "so"} for one in conditions
        ]
        self.jobs[name]["status"] = {"conditions": listed}

    def _delete(self, name: str, options: Body) -> web.StreamResponse:
        self.deletions.append(options)
        job = self.jobs.get(name)
        if job is None:
            return _refusal(404, "NotFound", name)
        if (options.get("preconditions") or Body()).get("uid", job["metadata"]["uid"]) != job[
            "metadata"
        ]["uid"]:
            return _refusal(409, "Conflict", "another uid")
        del self.jobs[name]
        if options.get("propagationPolicy") == "Background" and not self.slow_pods:
            uid = job["metadata"]["uid"]
            owned = [key for key, pod in self.pods.items() if _owner(pod) == uid]
            for key in owned:
                del self.pods[key]
        return web.json_response({"kind": "Status", "status": "Success"})


def _owner(pod: Body) -> str:
    owners = pod["metadata"].get("ownerReferences") or [{"uid": ""}]
    return str(owners[0]["uid"])


def _fits(item: Body, request: web.Request) -> bool:
    labels: Mapping[str, str] = item["metadata"].get("labels") or {}
    wanted = (part.split("=") for part in request.query.get("labelSelector", "").split(",") if part)
    return all(labels.get(key) == value for key, value in wanted)


def _refusal(code: int, reason: str, message: str) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        "details": {"name": "it"},
    }
    return web.json_response(body, status=code)


def kubeconfig(folder: Path, url: str, token: str) -> str:
    """Write a kubeconfig that leads to a server; return its path."""
    cluster = {"name": "c", "cluster": {"server": url}}
    user = {"name": "u", "user": {"token": token}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [user],
        "contexts": [context],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))  # which is YAML
    return str(path)
