"""Patches: merge, JSON and strategic, and what each refuses."""

from .peer import JSON, MERGE, STRATEGIC, Peer, merged


async def a_merge_patch_changes_what_it_names(peer: Peer) -> None:
    """Maps are merged, null removes, lists are replaced."""
    await peer.made(peer.a_box("merge", ports=[1, 2], sizes={"a": 1, "b": 2}))
    patch = merged(ports=[3], sizes={"a": None, "c": 3})
    answer = await peer.call("PATCH", peer.boxes("merge"), patch, MERGE)
    assert answer.status == 200
    assert (answer.body["spec"]["ports"], answer.body["spec"]["sizes"]) == ([3], {"b": 2, "c": 3})


async def a_merge_patch_with_a_version_conflicts(peer: Peer) -> None:
    """A version makes a merge patch conditional; without one it always wins."""
    made = await peer.made(peer.a_box("version"))
    await peer.call("PATCH", peer.boxes("version"), merged(size=2), MERGE)
    stale = {**merged(size=3), "metadata": {"resourceVersion": made.version}}
    answer = await peer.call("PATCH", peer.boxes("version"), stale, MERGE)
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert (await peer.call("PATCH", peer.boxes("version"), merged(size=3), MERGE)).status == 200


async def a_json_patch_is_done_whole_or_not_at_all(peer: Peer) -> None:
    """A test that fails, or a path that is none, leaves everything as it was."""
    await peer.made(peer.a_box("json", ports=[1, 3]))
    path = peer.boxes("json")
    patch = [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "add", "path": "/spec/ports/1", "value": 2},
        {"op": "replace", "path": "/spec/size", "value": 5},
        {"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}},
        {"op": "remove", "path": "/metadata/labels/a~1b"},
    ]
    answer = await peer.call("PATCH", path, patch, JSON)
    assert answer.status == 200, answer
    assert (answer.body["spec"]["ports"], answer.body["spec"]["size"]) == ([1, 2, 3], 5)
    patch = [
        {"op": "replace", "path": "/spec/size", "value": 6},
        {"op": "test", "path": "/spec/size", "value": 1},
    ]
    answer = await peer.call("PATCH", path, patch, JSON)
    assert (answer.status, answer.reason) == (422, "Invalid")
    answer = await peer.call("PATCH", path, [{"op": "remove", "path": "/spec/none"}], JSON)
    assert answer.status == 422
    assert (await peer.call("GET", path)).body["spec"]["size"] == 5


async def a_strategic_patch_is_for_the_servers_own_kinds(peer: Peer) -> None:
    """A strategic patch merges lists by their keys; of a defined kind it is refused with 415."""
    await peer.made(peer.a_box("own"))
    answer = await peer.call("PATCH", peer.boxes("own"), merged(size=2), STRATEGIC)
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")
    item = peer.a_map("own")
    item["metadata"]["finalizers"] = ["example.com/a"]
    await peer.made(item)
    patch = {"metadata": {"finalizers": ["example.com/b"]}}
    answer = await peer.call("PATCH", peer.maps("own"), patch, STRATEGIC)
    assert set(answer.metadata["finalizers"]) == {"example.com/a", "example.com/b"}
    await peer.call("PATCH", peer.maps("own"), {"metadata": {"finalizers": None}}, MERGE)


async def a_patch_needs_an_object_and_a_type(peer: Peer) -> None:
    """Nothing is made by a patch, and a body of no known type is refused."""
    answer = await peer.call("PATCH", peer.boxes("absent"), merged(size=2), MERGE)
    assert (answer.status, answer.reason) == (404, "NotFound")
    await peer.made(peer.a_box("typed"))
    answer = await peer.call("PATCH", peer.boxes("typed"), merged(size=2), "text/plain")
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")


async def what_the_server_gave_cannot_be_patched(peer: Peer) -> None:
    """The time of creation and the generation stay as they are; another name is refused."""
    made = await peer.made(peer.a_box("given"))
    patch = {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 77}}
    answer = await peer.call("PATCH", peer.boxes("given"), patch, MERGE)
    assert answer.status == 200
    assert answer.metadata["creationTimestamp"] == made.metadata["creationTimestamp"]
    assert answer.metadata["generation"] == 1
    answer = await peer.call("PATCH", peer.boxes("given"), {"metadata": {"name": "other"}}, MERGE)
    assert answer.status == 400
    patch = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}
    answer = await peer.call("PATCH", peer.boxes("given"), patch, MERGE)
    assert (answer.status, answer.causes[0]) == (422, ("metadata.uid", "FieldValueInvalid"))


async def a_merge_patch_drops_nulls_within_lists(peer: Peer) -> None:
    """Null in an object of a list is dropped as elsewhere."""
    await peer.made(peer.a_box("nulls"))
    patch = merged(free={"list": [1, {"a": None, "b": 2}]})
    answer = await peer.call("PATCH", peer.boxes("nulls"), patch, MERGE)
    assert answer.body["spec"]["free"] == {"list": [1, {"b": 2}]}
