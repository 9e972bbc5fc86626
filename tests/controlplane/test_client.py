"""The client of Kubernetes against Kubernetes' own API server: verbs, watches, leases, refusals."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count

import msgspec
import pytest

from hostler.app.clock import SystemClock
from hostler.kubernetes.client import Client
from hostler.kubernetes.election import LEASES, Candidate, Elector, Lease, LeaseSpec, Terms
from hostler.kubernetes.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KindNotServed,
    NotFound,
    TooManyRequests,
)
from hostler.kubernetes.informer import Informer, Reader, Surroundings
from hostler.kubernetes.objects import Key, M, Metadata, Object
from hostler.kubernetes.requests import Deletion, Selection, Watching, json_patch, merge_patch
from hostler.kubernetes.resources import Resource
from hostler.kubernetes.watch import Bookmark, Event

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

NAMESPACE = "default"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A ConfigMap: enough of a kind to be written, read and watched."""

    api_version: str = msgspec.field(default="v1", name="apiVersion")
    kind: str = "ConfigMap"
    metadata: Metadata
    data: dict[str, str] = {}


Thing = Object[dict[str, int], dict[str, int]]
MAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap", model=Settings)
CRDS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    model=Object[dict[str, object], dict[str, object]],
    namespaced=False,
)
_NUMBERS = count()


def a_map(**labels: str) -> Settings:
    """Return a ConfigMap of a name of its own."""
    name = f"settings-{next(_NUMBERS)}"
    return Settings(
        metadata=Metadata(name=name, namespace=NAMESPACE, labels=labels), data={"a": "1"}
    )


def key(one: Settings) -> Key:
    return Key(NAMESPACE, one.metadata.name)


async def test_what_is_created_is_there_once(client: Client) -> None:
    made = await client.create(MAPS, wanted := a_map())
    assert made.metadata.uid
    with pytest.raises(AlreadyExists):
        await client.create(MAPS, wanted)
    assert await client.get(MAPS, key(wanted)) == made


async def test_the_slower_of_two_writers_is_refused(client: Client) -> None:
    made = await client.create(MAPS, a_map())
    newer = await client.replace(MAPS, msgspec.structs.replace(made, data={"a": "2"}))
    assert newer.metadata.resource_version != made.metadata.resource_version
    with pytest.raises(Conflict):
        await client.replace(MAPS, msgspec.structs.replace(made, data={"a": "3"}))
    with pytest.raises(Conflict):
        await client.patch(MAPS, key(made), merge_patch({"data": {"a": "3"}}, made.metadata))
    test = {"op": "test", "path": "/data/a", "value": "1"}
    with pytest.raises(Invalid):
        await client.patch(MAPS, key(made), json_patch([test]))
    assert (await client.get(MAPS, key(made))).data == {"a": "2"}


async def test_a_deletion_names_what_it_means(client: Client) -> None:
    made = await client.create(MAPS, a_map())
    with pytest.raises(Conflict):
        await client.delete(MAPS, key(made), Deletion(uid="00000000-0000-0000-0000-000000000000"))
    await client.delete(MAPS, key(made), Deletion(uid=made.metadata.uid))
    with pytest.raises(NotFound):
        await client.get(MAPS, key(made))
    with pytest.raises(NotFound):
        await client.delete(MAPS, key(made))


async def test_a_field_has_one_manager_until_it_is_forced(client: Client) -> None:
    wanted = a_map()
    await client.apply(MAPS, wanted)
    other = Client(session=client.session, manager="other")
    changed = msgspec.structs.replace(wanted, data={"a": "2"})
    with pytest.raises(Conflict):
        await other.apply(MAPS, changed)
    assert (await other.apply(MAPS, changed, force=True)).data == {"a": "2"}


async def test_a_list_in_pages_is_whole(client: Client) -> None:
    made = [await client.create(MAPS, a_map(set="pages")) for _ in range(7)]
    listing = await client.list_all(MAPS, Selection(namespace=NAMESPACE, labels="set=pages"), 2)
    assert {one.metadata.name for one in listing.items} == {one.metadata.name for one in made}
    assert listing.version


@pytest.mark.parametrize("streams", [True, False])
async def test_an_informer_follows_whichever_way_it_starts(
    client: Client, *, streams: bool
) -> None:
    labels = {"set": f"informer-{streams}".lower()}
    first = await client.create(MAPS, a_map(**labels))
    reader = client if streams else _Paged(client)
    chosen = Selection(namespace=NAMESPACE, labels=f"set={labels['set']}")
    async with _followed(reader, chosen) as informer:
        assert informer.cache.get(key(first)) == first
        second = await client.create(MAPS, a_map(**labels))
        await _until(lambda: informer.cache.get(key(second)) == second)
        left = merge_patch({}, metadata={"labels": {"set": "another"}})
        await client.patch(MAPS, key(first), left)
        await _until(lambda: informer.cache.get(key(first)) is None)
        await client.delete(MAPS, key(second))
        await _until(lambda: len(informer.cache) == 0)


class _Paged:
    """A client of a server that has no streaming lists."""

    def __init__(self, client: Client) -> None:
        self.list_all = client.list_all
        self._client = client

    async def watch(
        self, resource: Resource[M], watching: Watching
    ) -> AsyncGenerator[Event[M] | Bookmark]:
        if watching.initial:
            raise Invalid("sendInitialEvents is forbidden")
        async for event in self._client.watch(resource, watching):
            yield event


@asynccontextmanager
async def _followed(reader: Reader, chosen: Selection) -> AsyncGenerator[Informer[Settings]]:
    around = Surroundings(clock=SystemClock(), draw=lambda: 0.5)
    informer = Informer(reader, MAPS, around, chosen)
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        running = group.create_task(informer.run())
        await informer.synced.wait()
        yield informer
        running.cancel()


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_version_from_before_a_kind_was_served_has_expired(client: Client) -> None:
    crates = a_kind("crates", "Crate")
    await _install(client, crates)
    watching = Watching(version="1", timeout=timedelta(seconds=5))
    with pytest.raises(Expired):
        await _watched(client, crates, watching)


async def _watched(client: Client, kind: Resource[Thing], watching: Watching) -> None:
    """Watch until that ends; a kind that was just installed may still be made ready for it."""
    for _ in range(20):
        try:
            async for _ in client.watch(kind, watching):
                pass
        except TooManyRequests:
            await asyncio.sleep(0.5)


async def test_a_kind_is_served_once_it_is_installed(client: Client) -> None:
    boxes = a_kind("boxes", "Box")
    with pytest.raises(KindNotServed, match=r"boxes\.hostler\.dev"):
        await client.list_all(boxes)
    await _install(client, boxes)
    metadata = Metadata(name="one", namespace=NAMESPACE)
    box = Thing(api_version="hostler.dev/v1", kind="Box", metadata=metadata, spec={"size": 1})
    made = await client.apply(boxes, box)
    up = msgspec.structs.replace(box, spec=None, status={"up": 1})
    seen = await client.apply(boxes, up, "status")
    assert (made.metadata.generation, seen.metadata.generation) == (1, 1)
    assert (seen.spec, seen.status) == ({"size": 1}, {"up": 1})


def a_kind(plural: str, kind: str) -> Resource[Thing]:
    return Resource(group="hostler.dev", version="v1", plural=plural, kind=kind, model=Thing)


async def _install(client: Client, kind: Resource[Thing]) -> None:
    """Define a kind, and wait until it is served."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    version: dict[str, object] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    spec: dict[str, object] = {
        "group": "hostler.dev",
        "scope": "Namespaced",
        "names": {"plural": kind.plural, "kind": kind.kind},
        "versions": [version],
    }
    definition = Object[dict[str, object], dict[str, object]](
        api_version=CRDS.api_version,
        kind=CRDS.kind,
        metadata=Metadata(name=kind.full_name),
        spec=spec,
    )
    await client.apply(CRDS, definition)
    async with asyncio.timeout(60):
        while not await _is_served(client, kind):
            await asyncio.sleep(0.1)


async def _is_served(client: Client, kind: Resource[Thing]) -> bool:
    try:
        await client.list_all(kind)
    except NotFound:
        return False
    return True


async def test_a_lease_has_one_holder_and_passes_on_with_a_higher_number(client: Client) -> None:
    second = timedelta(seconds=1)
    terms = Terms(duration=second * 3, belief=second * 2, retry=second)
    first, other = (
        Elector(
            client,
            Candidate(identity=name, namespace=NAMESPACE, terms=terms),
            SystemClock(),
            lambda: 0.5,
        )
        for name in ("first", "other")
    )
    held = await first.attempt("fleet")
    assert held is not None
    assert await other.attempt("fleet") is None
    await first.release("fleet")
    assert first.holding("fleet") is None
    taken = await other.attempt("fleet")
    assert taken is not None
    assert taken.epoch > held.epoch


async def test_the_time_of_a_lease_needs_all_six_digits(client: Client) -> None:
    """What `micro_time` is for: the same time as Python writes it is refused."""
    spec = LeaseSpec(holder_identity="a", renew_time="2026-01-01T00:00:00Z")
    lease = Lease(metadata=Metadata(name="digits", namespace=NAMESPACE), spec=spec)
    with pytest.raises(Invalid):
        await client.create(LEASES, lease)


async def test_who_may_not_learns_which_role_would_let_them(stranger: Client) -> None:
    with pytest.raises(Forbidden) as refused:
        await stranger.list_all(MAPS, Selection(namespace=NAMESPACE))
    assert {"list", "configmaps"} <= set(re.findall(r"\w+", str(refused.value)))
    assert "kind: Role" in str(refused.value)
