"""A watch tells that a journal was written, and polling goes on wherever it does not."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from functools import partial

import msgspec
import pytest
from direct import NAME, NAMESPACE, objects_in, session_of

from hostler.kubernetes.errors import Unavailable
from hostler.kubernetes.objects import Key, Listing, M
from hostler.kubernetes.requests import Selection, Watching
from hostler.kubernetes.resources import Resource
from hostler.kubernetes.watch import Bookmark, Event, EventKind
from hostler.lab.scenario.cluster_store import cluster
from hostler.stores.kubernetes.batches import Batches, Writing
from hostler.stores.kubernetes.notices import ANYHOW, Notices
from hostler.stores.kubernetes.store import KubernetesStore
from hostler.testing.conformance.store.records import row
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

KEY = Key(NAMESPACE, NAME)


class Watched:
    """Implements `Reader`: a journal whose versions tests announce; a version of None cuts it."""

    def __init__(self) -> None:
        self.versions = asyncio.Queue[str | None]()
        self.watched = list[Selection]()

    async def list_all(self, resource: Resource[M], selection: Selection) -> Listing[M]:
        del resource, selection
        return Listing(items=(), version="1")

    async def watch(
        self, resource: Resource[M], watching: Watching
    ) -> AsyncGenerator[Event[M] | Bookmark]:
        self.watched.append(watching.selection)
        if watching.initial:
            yield Bookmark("1", complete=True)
        while (version := await self.versions.get()) is not None:
            metadata = {"name": NAME, "namespace": NAMESPACE, "resourceVersion": version}
            item = msgspec.convert({"metadata": metadata}, resource.model)
            yield Event(EventKind.MODIFIED, item)
        raise Unavailable("the watch was cut", unknown=True)


class Handles:
    """Two handles of one journal; the first one has a watch, whose events tests send."""

    def __init__(self) -> None:
        clock = SimClock(asyncio.get_running_loop())
        self.clock, self.server, self.watched = clock, cluster(clock), Watched()
        self.session, self.notices = session_of(self.server), 0
        self.store = self._opened("a", Notices(self.watched, KEY, clock, lambda: 0.5))
        self.other = self._opened("b", None)

    def _opened(self, writer: str, notices: Notices | None) -> KubernetesStore:
        session = self.session if notices else session_of(self.server)
        writing = Writing(writer=writer, installation="i-own", clock=self.clock, draw=lambda: 0.5)
        return KubernetesStore(Batches(objects_in(session), writing), notices=notices)

    def notice(self) -> None:
        self.notices += 1

    async def asked(self) -> int:
        """Return how often the journal was read for a revision."""
        before = len(self.session.calls)
        await self.store.revision()
        return len(self.session.calls) - before

    def version(self) -> str:
        """Return the version of the journal that the first handle has."""
        return self.store.version

    async def settle(self) -> None:
        await self.clock.sleep(timedelta(seconds=1))


@pytest.fixture
async def handles() -> AsyncGenerator[Handles]:
    scene = Handles()
    await scene.store.identity()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(scene.store.follow(scene.notice))
        await scene.settle()
        scene.watched.versions.put_nowait(scene.version())
        await scene.settle()
        yield scene
        task.cancel()


async def test_a_save_of_somebody_else_is_a_notice_and_changes_the_revision(
    handles: Handles,
) -> None:
    before = await handles.store.revision()
    assert handles.notices == 0, "what we have read is no news"
    await handles.other.add_fleet(row())
    handles.watched.versions.put_nowait("999")
    await handles.settle()
    assert handles.notices == 1
    assert await handles.store.revision() == before + 1


async def test_nothing_is_asked_while_the_watch_says_that_there_is_nothing_new(
    handles: Handles,
) -> None:
    await handles.store.revision()
    assert [await handles.asked() for _ in range(5)] == [0] * 5


async def test_a_watch_that_says_nothing_is_believed_for_a_moment_only(handles: Handles) -> None:
    before = await handles.store.revision()
    await handles.other.add_fleet(row())
    assert await handles.asked() == 0
    await handles.clock.sleep(ANYHOW)
    assert await handles.asked() > 0
    assert await handles.store.revision() == before + 1


async def test_a_cut_watch_is_taken_up_again(handles: Handles) -> None:
    handles.watched.versions.put_nowait(None)
    await handles.clock.sleep(timedelta(minutes=1))
    handles.watched.versions.put_nowait("999")
    await handles.settle()
    assert handles.notices == 1
    assert len(handles.watched.watched) == 2
    assert {one.fields for one in handles.watched.watched} == {f"metadata.name={NAME}"}


async def test_our_own_save_is_no_notice(handles: Handles) -> None:
    await handles.store.add_fleet(row())
    handles.watched.versions.put_nowait(handles.version())
    await handles.settle()
    assert handles.notices == 0


async def test_who_follows_after_another_is_called_alone() -> None:
    """Whenever the file was read again, the engine before was kept, and called, for ever."""
    scene, called = Handles(), list[str]()
    await scene.store.identity()
    for name in ("first", "second"):
        async with asyncio.TaskGroup() as group:
            following = group.create_task(scene.store.follow(partial(called.append, name)))
            await scene.settle()
            scene.watched.versions.put_nowait(f"999-{name}")
            await scene.settle()
            following.cancel()
    assert called == ["first", "second"]


async def test_without_a_watch_each_revision_is_asked_for() -> None:
    scene = Handles()
    await scene.other.identity()
    assert await scene.asked() > 0
    assert await scene.asked() > 0
    async with asyncio.timeout(1):
        await scene.other.follow(scene.notice)
