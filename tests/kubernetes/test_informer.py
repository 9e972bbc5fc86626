"""Watches and the informer against scripted exchanges, and against a reader in simulated time."""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta

import msgspec
import pytest
from scripted import (
    BOXES,
    PATH,
    Box,
    bookmark,
    box,
    line,
    page,
    refusal,
    scripted,
    status_of,
    stream,
)
from scripted import answer as answer_of

from hostler.kubernetes import errors
from hostler.kubernetes.backoff import Backoff
from hostler.kubernetes.cache import Change
from hostler.kubernetes.client import Client
from hostler.kubernetes.informer import Informer, Informers, Surroundings
from hostler.kubernetes.objects import Key, Listing
from hostler.kubernetes.requests import EVERYTHING, Selection, Watching
from hostler.kubernetes.watch import Bookmark, Event, EventKind, lines
from hostler.testing.time.clock import RigClock, SimClock

ALL = "/apis/example.com/v1/boxes"
SHORT = timedelta(milliseconds=50)
LONG = timedelta(seconds=20)


async def events_of(client: Client, watching: Watching) -> list[Event[Box] | Bookmark]:
    return [event async for event in client.watch(BOXES, watching)]


async def test_lines_are_whole_however_they_were_cut() -> None:
    whole = line("ADDED", box("a", "1", text="ä")) + line("DELETED", box("a", "2"))
    pieces = [whole[at : at + 1] for at in range(len(whole))]
    async with scripted(("GET", ALL, stream(*pieces))) as (client, script):
        first, second = await events_of(client, Watching(version="1", selection=EVERYTHING))
    assert isinstance(first, Event)
    assert first.item.spec == {"text": "ä"}
    assert isinstance(second, Event)
    assert second.kind is EventKind.DELETED
    query = script.seen[0].query
    assert (query["resourceVersion"], query["allowWatchBookmarks"]) == ("1", "true")
    assert "resourceVersionMatch" not in query


@pytest.mark.parametrize("cut", [True, False])
async def test_half_a_line_is_an_interruption_and_no_event(cut: bool) -> None:
    whole = line("ADDED", box("a", "1"))
    async with scripted(("GET", ALL, stream(whole, whole[:40], cut=cut))) as (client, _):
        seen = list[object]()
        events = client.watch(BOXES, Watching(version="1"))
        seen.append(await anext(events))
        with pytest.raises(errors.Unavailable):
            await anext(events)
    assert len(seen) == 1


async def test_watches_that_last_leave_room_for_calls() -> None:
    """Each kind is watched in each namespace that is named: a score of them are many."""
    many = 140
    watches = [("GET", ALL, stream(bookmark("2"), hang=True))] * many
    got = ("GET", f"{PATH}/b", answer_of(box("b", "7")))
    async with (
        scripted(*watches, got, deadline=timedelta(seconds=5)) as (client, _),
        contextlib.AsyncExitStack() as stack,
    ):
        for _ in range(many):
            events = client.watch(BOXES, Watching(version="1"))
            await stack.enter_async_context(contextlib.aclosing(events))
            assert await anext(events) == Bookmark("2")
        assert (await client.get(BOXES, Key("ns", "b"))).metadata.resource_version == "7"


async def test_410_comes_as_an_answer_and_as_an_event() -> None:
    ended = line("ERROR", status_of(410, "Expired"))
    async with scripted(("GET", ALL, refusal(410, "Gone")), ("GET", ALL, stream(ended))) as (c, _):
        for _ in range(2):
            with pytest.raises(errors.Expired):
                await events_of(c, Watching(version="1"))


async def test_html_and_unknown_events_are_unreadable() -> None:
    odd = line("RENAMED", box("a", "1"))
    async with scripted(("GET", ALL, stream(b"<html>\n")), ("GET", ALL, stream(odd))) as (
        client,
        _,
    ):
        for _ in range(2):
            with pytest.raises(errors.Unreadable):
                await events_of(client, Watching(version="1"))


async def test_slow_bytes_that_finish_no_line_are_silence() -> None:
    async def trickle() -> AsyncGenerator[bytes]:
        while True:
            await asyncio.sleep(0.001)
            yield b"x"

    with pytest.raises(errors.Timeout, match="silent"):
        await anext(lines(trickle(), SHORT))


async def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostler.kubernetes.watch.LONGEST_LINE", 1000)

    async def endless() -> AsyncGenerator[bytes]:
        while True:
            yield b"x" * 100

    with pytest.raises(errors.Unreadable, match="longer"):
        await anext(lines(endless(), LONG))


@contextlib.asynccontextmanager
async def following(informer: Informer[Box]) -> AsyncGenerator[list[Change[Box]]]:
    """Let an informer run, and give what it says as it says it."""
    changes = list[Change[Box]]()
    informer.on_change(changes.append)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        yield changes
        task.cancel()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for is another's
            await asyncio.sleep(0.001)


def summary(changes: list[Change[Box]]) -> list[tuple[str, str, str]]:
    def version(item: Box | None) -> str:
        return item.metadata.resource_version if item else "-"

    return [(each.key.name, version(each.old), version(each.new)) for each in changes]


def real(client: Client) -> Informer[Box]:
    around = Surroundings(clock=RigClock(), draw=random.Random(1).random, idle=LONG)
    return Informer(client, BOXES, around)


async def test_a_streaming_list_is_whole_at_its_bookmark() -> None:
    start = line("ADDED", box("a", "1")) + line("ADDED", box("b", "2"))
    later = line("MODIFIED", box("a", "5"))
    handler = stream(start, bookmark("4", complete=True), later, hang=True)
    async with scripted(("GET", ALL, handler)) as (client, script):
        informer = real(client)
        async with following(informer) as changes:
            await until(lambda: len(changes) == 3)
            assert informer.synced.is_set()
    assert summary(changes) == [("a", "-", "1"), ("b", "-", "2"), ("a", "1", "5")]
    query = script.seen[0].query
    assert (query["sendInitialEvents"], query["resourceVersionMatch"]) == ("true", "NotOlderThan")


@pytest.mark.parametrize(
    "no_streams",
    [
        refusal(422, "Invalid"),
        stream(line("ERROR", status_of(500, "InternalError"))),
        stream(line("ADDED", box("a", "1"))),
    ],
)
async def test_a_server_without_streaming_lists_is_listed_in_pages(no_streams: object) -> None:
    watching = stream(bookmark("11"), hang=True)
    async with scripted(
        ("GET", ALL, no_streams),  # pyright: ignore[reportArgumentType] - the handlers above
        ("GET", ALL, answer_of(page([box("a", "1")], "9"))),
        ("GET", ALL, watching),
    ) as (client, script):
        informer = real(client)
        async with following(informer) as changes:
            await until(lambda: informer._version == "11")
    assert summary(changes) == [("a", "-", "1")]
    assert script.seen[1].query["limit"] == "500"
    assert script.seen[2].query["resourceVersion"] == "9"


async def test_deletions_are_noticed_by_listing_again_after_410() -> None:
    start = line("ADDED", box("a", "1")) + line("ADDED", box("b", "2"))
    expired = line("ERROR", status_of(410, "Expired"))
    again = line("ADDED", box("b", "2")) + line("ADDED", box("c", "7"))
    async with (
        scripted(
            ("GET", ALL, stream(start, bookmark("4", complete=True), expired)),
            ("GET", ALL, stream(again, bookmark("9", complete=True), hang=True)),
        ) as (client, _),
        following(real(client)) as changes,
    ):
        await until(lambda: len(changes) == 4)
    assert summary(changes)[2:] == [("a", "1", "-"), ("c", "-", "7")]


async def test_a_watch_that_is_cut_goes_on_from_the_last_version() -> None:
    start = stream(bookmark("4", complete=True), line("ADDED", box("a", "6")), b'{"ty', cut=True)
    async with (
        scripted(
            ("GET", ALL, start), ("GET", ALL, stream(line("DELETED", box("a", "8")), hang=True))
        ) as (client, script),
        following(real(client)) as changes,
    ):
        await until(lambda: len(changes) == 2)
    assert script.seen[1].query["resourceVersion"] == "6"
    assert summary(changes) == [("a", "-", "6"), ("a", "6", "-")]


async def test_a_watch_that_is_silent_is_broken_off_to_list_anew() -> None:
    """Who takes over cannot wait until it is noticed that a connection is dead."""
    start = line("ADDED", box("a", "1")) + line("ADDED", box("b", "2"))
    again = line("ADDED", box("a", "6"))
    async with scripted(
        ("GET", ALL, stream(start, bookmark("4", complete=True), hang=True)),
        ("GET", ALL, refusal(503, "ServiceUnavailable")),
        ("GET", ALL, stream(again, bookmark("9", complete=True), hang=True)),
    ) as (client, script):
        informer = real(client)
        async with following(informer) as changes:
            await until(lambda: len(changes) == 2)
            async with asyncio.timeout(10):
                await informer.list_anew()
            assert summary(changes)[2:] == [("b", "2", "-"), ("a", "1", "6")]
            assert len(informer.cache) == 1
    assert ["sendInitialEvents" in one.query for one in script.seen] == [True, True, True]


async def test_an_interrupted_streaming_list_empties_nothing() -> None:
    start = line("ADDED", box("a", "1")) + line("ADDED", box("b", "2"))
    async with scripted(
        ("GET", ALL, stream(start, bookmark("4", complete=True))),
        ("GET", ALL, refusal(410, "Expired")),
        ("GET", ALL, stream(line("ADDED", box("a", "1")), cut=True)),
        ("GET", ALL, stream(start, bookmark("9", complete=True), hang=True)),
    ) as (client, script):
        informer = real(client)
        async with following(informer) as changes:
            await until(lambda: informer._version == "9")
            assert len(informer.cache) == 2
    assert len(summary(changes)) == 2
    assert "sendInitialEvents" in script.seen[3].query


def test_another_uid_under_the_same_name_is_a_deletion_and_a_creation() -> None:
    informer = real(None)  # pyright: ignore[reportArgumentType] - nothing is read
    old, new = decoded("a", "1", "u1"), decoded("a", "2", "u2")
    changes = [*informer.cache.put(old), *informer.cache.put(new), *informer.cache.put(new)]
    assert summary(changes) == [("a", "-", "1"), ("a", "1", "-"), ("a", "-", "2")]


def test_an_index_follows_its_objects() -> None:
    around = Surroundings(clock=RigClock(), draw=random.Random(1).random)

    def pool(each: Box) -> list[str]:
        return [str((each.spec or {}).get("pool"))]

    cache = Informer[Box](None, BOXES, around, EVERYTHING, {"pool": pool}).cache  # pyright: ignore[reportArgumentType] - nothing is read
    list(cache.put(decoded("a", "1", pool="x")))
    list(cache.put(decoded("a", "2", pool="y")))
    assert cache.find("pool", "x") == ()
    assert [each.metadata.name for each in cache.find("pool", "y")] == ["a"]
    list(cache.remove(Key("ns", "a")))
    assert cache.find("pool", "y") == ()


def decoded(name: str, version: str, uid: str = "u", **spec: object) -> Box:
    return msgspec.convert(box(name, version, uid, **spec), Box)


class Refusing:
    """A server on which every list succeeds and every watch expires at once."""

    def __init__(self) -> None:
        self.lists = self.watches = 0

    async def list_all(self, _: object, __: Selection) -> Listing[Box]:
        self.lists += 1
        return Listing((), "1")

    async def watch(self, _: object, watching: Watching) -> AsyncGenerator[Bookmark]:
        self.watches += 1
        if watching.initial:
            yield Bookmark("1", complete=True)
        raise errors.Expired("too old", code=410)


@pytest.mark.looptime
async def test_a_storm_of_410_is_paced_by_the_back_off() -> None:
    server = Refusing()
    clock = SimClock(asyncio.get_running_loop())
    backoff = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=30))
    around = Surroundings(clock=clock, draw=random.Random(1).random, backoff=backoff)
    informer = Informer(server, BOXES, around)  # pyright: ignore[reportArgumentType] - boxes alone
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(600):
            await informer.run()
    assert 20 < server.watches < 60


# ---------------------------------------------------------------- several namespaces


class Spaces:
    """A server with boxes in namespaces; its watches expire now and then, and lists follow."""

    def __init__(self, **boxes: set[str]) -> None:
        self.boxes = boxes

    async def list_all(self, _: object, __: Selection) -> Listing[Box]:
        raise NotImplementedError

    async def watch(self, _: object, watching: Watching) -> AsyncGenerator[Event[Box] | Bookmark]:
        namespace = watching.selection.namespace
        for name in sorted(self.boxes[namespace]):
            raw = box(name, "1")
            metadata = {**msgspec.convert(raw["metadata"], dict[str, object])}
            metadata["namespace"] = namespace
            made = msgspec.convert({**raw, "metadata": metadata}, Box)
            yield Event(EventKind.ADDED, made)
        yield Bookmark("1", complete=True)
        await asyncio.sleep(10)
        raise errors.Expired("too old", code=410)


@pytest.mark.looptime
async def test_namespaces_are_followed_into_one_cache_and_none_empties_another() -> None:
    """A list of one, which lacks what is in the others, says of these nothing."""
    server = Spaces(a={"x", "y"}, b={"x"})
    clock = SimClock(asyncio.get_running_loop())
    around = Surroundings(clock=clock, draw=random.Random(1).random)
    selections = (Selection(namespace="a"), Selection(namespace="b"))
    informers = Informers(server, BOXES, around, selections)  # pyright: ignore[reportArgumentType] - boxes alone
    changes, late = list[Change[Box]](), list[Change[Box]]()
    informers.on_change(changes.append)
    task = asyncio.get_running_loop().create_task(informers.run())
    await informers.synced()
    assert sorted(map(str, (change.key for change in changes))) == ["a/x", "a/y", "b/x"]
    informers.on_change(late.append)
    assert len(late) == 3
    server.boxes["a"] = {"x"}
    await asyncio.sleep(60)
    assert [str(change.key) for change in changes[3:] if change.new is None] == ["a/y"]
    assert len(changes) == 4
    assert {str(Key(one.metadata.namespace, one.metadata.name)) for one in informers.cache} == {
        "a/x",
        "b/x",
    }
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
