"""Watches: where they begin, what they say, how they end."""

from .peer import MERGE, Peer


async def a_watch_goes_on_from_a_version(peer: Peer) -> None:
    """What changed after a version comes in order, and nothing that came before it."""
    await peer.made(peer.a_map("w1"))
    version = (await peer.call("GET", peer.maps())).version
    made = await peer.made(peer.a_map("w2"))
    async with peer.watch(peer.maps(), resourceVersion=version) as events:
        first = await events.one()
        assert (first.type, first.name, first.version) == ("ADDED", "w2", made.version)
        assert (first.item["kind"], first.item["apiVersion"]) == ("ConfigMap", "v1")
        await peer.call("PATCH", peer.maps("w2"), {"data": {"a": "2"}}, MERGE)
        second = await events.one()
        assert (second.type, second.item["data"]) == ("MODIFIED", {"a": "2"})
        await peer.call("PATCH", peer.maps("w2"), {"data": {"a": "2"}}, MERGE)
        assert await events.quiet()


async def a_deletion_has_a_version_of_its_own(peer: Peer) -> None:
    """A DELETED event has the last state, under the version of the deletion."""
    made = await peer.made(peer.a_map("d1"))
    async with peer.watch(peer.maps(), resourceVersion=made.version) as events:
        await peer.call("DELETE", peer.maps("d1"))
        event = await events.one()
        assert (event.type, event.name, event.item["data"]) == ("DELETED", "d1", {"a": "1"})
        assert int(event.version) > int(made.version)


async def the_last_finalizer_is_one_event(peer: Peer) -> None:
    """Its removal is a DELETED event, with no MODIFIED one before."""
    item = peer.a_box("f1")
    item["metadata"]["finalizers"] = ["example.com/a"]
    made = await peer.made(item)
    async with peer.watch(peer.boxes(), resourceVersion=made.version) as events:
        await peer.call("DELETE", peer.boxes("f1"))
        event = await events.one()
        assert (event.type, "deletionTimestamp" in event.item["metadata"]) == ("MODIFIED", True)
        await peer.call("PATCH", peer.boxes("f1"), {"metadata": {"finalizers": []}}, MERGE)
        assert (await events.one()).type == "DELETED"


async def a_watch_without_a_version_begins_with_all(peer: Peer) -> None:
    """All that is there is ADDED first, and then come the changes."""
    await peer.made(peer.a_box("a1"))
    await peer.made(peer.a_box("a2"))
    async with peer.watch(peer.boxes()) as events:
        assert {(await events.one()).name for _ in range(2)} == {"a1", "a2"}
        await peer.made(peer.a_box("a3"))
        event = await events.one()
        assert (event.type, event.name) == ("ADDED", "a3")


async def a_streaming_list_says_where_it_ends(peer: Peer) -> None:
    """Initial events end with a bookmark that says so, whose version a watch goes on from."""
    await peer.made(peer.a_box("b1"))
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with peer.watch(peer.boxes(), **query) as events:
        event = await events.one()
        assert (event.type, event.name) == ("ADDED", "b1")
        end = await events.one()
        metadata = end.item["metadata"]
        assert (end.type, end.item["kind"]) == ("BOOKMARK", "Box")
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    await peer.made(peer.a_box("b2"))
    async with peer.watch(peer.boxes(), resourceVersion=end.version) as events:
        event = await events.one()
        assert (event.type, event.name) == ("ADDED", "b2")


async def a_streaming_list_has_rules(peer: Peer) -> None:
    """It must say which version it wants, and a match alone means nothing."""
    async with peer.watch(peer.boxes(), sendInitialEvents="true") as events:
        answer = await events.refusal()
        assert (answer.status, answer.reason) == (422, "Invalid")
    async with peer.watch(peer.boxes(), resourceVersionMatch="NotOlderThan") as events:
        assert (await events.refusal()).status == 422


async def what_leaves_the_selection_is_deleted(peer: Peer) -> None:
    """What no longer fits is DELETED, in the state that fitted; what fits again is ADDED."""
    version = (await peer.made(peer.a_map("s1", set="in"))).version
    async with peer.watch(peer.maps(), resourceVersion=version, labelSelector="set=in") as events:
        patch = {"metadata": {"labels": {"set": "out"}}}
        out = await peer.call("PATCH", peer.maps("s1"), patch, MERGE)
        event = await events.one()
        assert (event.type, event.version) == ("DELETED", out.version)
        assert event.item["metadata"]["labels"] == {"set": "in"}
        await peer.call("PATCH", peer.maps("s1"), {"data": {"a": "5"}}, MERGE)
        patch = {"metadata": {"labels": {"set": "in"}}}
        await peer.call("PATCH", peer.maps("s1"), patch, MERGE)
        assert (await events.one()).type == "ADDED"


async def a_watch_ends_at_its_time(peer: Peer) -> None:
    """A watch ends politely when its seconds are over."""
    version = (await peer.call("GET", peer.maps())).version
    query = {"resourceVersion": version, "timeoutSeconds": "1", "allowWatchBookmarks": "true"}
    async with peer.watch(peer.maps(), **query) as events:
        event = await events.next()
        while event is not None:
            assert event.type == "BOOKMARK"
            event = await events.next()


async def a_version_that_is_too_old_is_an_event(peer: Peer) -> None:
    """A watch from before all that is remembered begins, and ends at once with a Status of 410."""
    async with peer.watch(peer.boxes(), resourceVersion="1", timeoutSeconds="5") as events:
        assert events.status == 200
        event = await events.one()
        assert (event.type, event.item["kind"]) == ("ERROR", "Status")
        assert (event.item["code"], event.item["reason"]) == (410, "Expired")
        assert str(event.item["message"]).startswith("too old resource version: 1 (")
        assert await events.next() is None


async def a_watch_of_one_name_is_of_one_name(peer: Peer) -> None:
    """A field selector narrows a watch to one object."""
    version = (await peer.call("GET", peer.maps())).version
    query = {"resourceVersion": version, "fieldSelector": "metadata.name=n1"}
    async with peer.watch(peer.maps(), **query) as events:
        await peer.made(peer.a_map("n0"))
        await peer.made(peer.a_map("n1"))
        assert (await events.one()).name == "n1"
