"""A client of Kubernetes: 10,000 objects in its cache, from a paged list and from a stream.

The objects have about 3.6 KB each, managedFields included, and are sent as prepared bytes by
another process on loopback: its work and memory are in no figure.
"""

import asyncio
import gc
import json
import multiprocessing
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from multiprocessing.connection import Connection

import msgspec
from aiohttp import web
from figures import Figure, resident, show

from hostler.app.clock import SystemClock
from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig
from hostler.kubernetes.credentials import FixedCredentials, Identity
from hostler.kubernetes.informer import Informer, Surroundings
from hostler.kubernetes.objects import Object
from hostler.kubernetes.resources import Resource
from hostler.kubernetes.session import Session

MANY, PAGE, RUNS = 10_000, 500, 5
VERSION = str(MANY)


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an object's spec; the server sends more."""

    fleet: str = ""
    host: str = ""
    serial: int = 0


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One condition of a status."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an object's status."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


BOXES = Resource(
    group="example.com", version="v1", plural="boxes", kind="Box", model=Object[Spec, Status]
)


def prepared(number: int) -> bytes:
    """Return one object as a server sends it."""
    no_fields: dict[str, str] = {}
    fields = {f"f:field{n}": {"f:sub": no_fields, "f:other": no_fields} for n in range(60)}
    entry = {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}
    condition = {"type": "Ready", "status": "True", "reason": "Up", "message": "m" * 60}
    item = {
        "apiVersion": "example.com/v1",
        "kind": "Box",
        "metadata": {
            "name": f"box-{number:05d}",
            "namespace": "farm",
            "uid": f"00000000-0000-0000-0000-{number:012d}",
            "resourceVersion": str(number + 1),
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"fleet": f"fleet-{number % 10}"},
            "managedFields": [entry],
        },
        "spec": {"fleet": f"fleet-{number % 10}", "host": f"host-{number}", "serial": number}
        | {f"other{n}": f"value {n} of {number}" for n in range(12)},
        "status": {"phase": "ready", "conditions": [condition, condition]},
    }
    return json.dumps(item).encode()


def serve(pipe: "Connection[int, None]") -> None:
    """Serve the objects on loopback until this process is ended."""
    items = [prepared(number) for number in range(MANY)]
    asyncio.run(_serve(items, pipe))


async def _serve(items: list[bytes], pipe: "Connection[int, None]") -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await _stream(items, request)
        first = int(request.query.get("continue") or 0)
        more = str(first + PAGE) if first + PAGE < MANY else ""
        head = json.dumps({"resourceVersion": VERSION, "continue": more}).encode()
        page = b",".join(items[first : first + PAGE])
        body = b'{"kind":"BoxList","metadata":%s,"items":[%s]}' % (head, page)
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pipe.send(runner.addresses[0][1])
    await asyncio.Event().wait()


async def _stream(items: list[bytes], request: web.Request) -> web.StreamResponse:
    """Send everything as initial events if that is asked for, and then nothing."""
    response = web.StreamResponse()
    await response.prepare(request)
    if "sendInitialEvents" in request.query:
        for first in range(0, MANY, 100):
            lines = (b'{"type":"ADDED","object":%s}\n' % one for one in items[first : first + 100])
            await response.write(b"".join(lines))
        end = {"resourceVersion": VERSION, "annotations": {"k8s.io/initial-events-end": "true"}}
        bookmark = {"type": "BOOKMARK", "object": {"kind": "Box", "metadata": end}}
        await response.write(json.dumps(bookmark).encode() + b"\n")
    await asyncio.Event().wait()
    return response


@asynccontextmanager
async def client(port: int) -> AsyncGenerator[Client]:
    """Yield a client of the server."""
    credentials = FixedCredentials(Identity())
    session = Session(ClusterConfig(server=f"http://127.0.0.1:{port}", credentials=credentials))
    try:
        yield Client(session=session)
    finally:
        await session.close()


async def listed(port: int) -> list[Figure]:
    """Read everything page by page, and hold it."""
    async with client(port) as reader:
        begun, size = _now()
        found = await reader.list_all(BOXES)
        return _figures("a paged list", begun, size, len(found.items))


async def followed(port: int) -> list[Figure]:
    """Let an informer fill its cache from a stream."""
    async with client(port) as reader, asyncio.TaskGroup() as group:
        begun, size = _now()
        around = Surroundings(clock=SystemClock(), draw=lambda: 0.5)
        informer = Informer(reader, BOXES, around)
        running = group.create_task(informer.run())
        await informer.synced.wait()
        figures = _figures("an informer's cache", begun, size, len(informer.cache))
        running.cancel()
    return figures


def _now() -> tuple[float, float]:
    gc.collect()
    return time.process_time(), resident()


def _figures(what: str, begun: float, size: float, found: int) -> list[Figure]:
    spent = time.process_time() - begun
    gc.collect()
    if found != MANY:
        raise SystemExit(f"{what}: {found} objects of {MANY}")
    return [
        Figure(f"kubernetes: {what} of {MANY:,} objects", 1, spent, "s CPU"),
        Figure(f"kubernetes: {what} of {MANY:,} objects, held", 60, resident() - size, "MB"),
    ]


def measured(work: Callable[[], list[Figure]], pipe: "Connection[list[Figure], None]") -> None:
    """Measure in a process of its own, whose memory nothing else has grown."""
    pipe.send(work())


def _followed(port: int) -> list[Figure]:
    return asyncio.run(followed(port))


def _listed(port: int) -> list[Figure]:
    return asyncio.run(listed(port))


def main() -> None:
    """Measure, and print."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    with closing(ours):
        port: int = ours.recv()
    for work in (_listed, _followed):
        show(least([_in_process(partial(work, port)) for _ in range(RUNS)]))
    server.kill()


def _in_process(work: Callable[[], list[Figure]]) -> list[Figure]:
    spawn = multiprocessing.get_context("spawn")
    mine, its = spawn.Pipe()
    process = spawn.Process(target=measured, args=(work, its))
    process.start()
    figures = mine.recv()
    process.join()
    return figures


def least(runs: list[list[Figure]]) -> list[Figure]:
    """Return the least of each figure: what stays allocated of pages that were read varies."""
    return [min(same, key=lambda one: one.figure) for same in zip(*runs, strict=True)]


if __name__ == "__main__":
    main()
