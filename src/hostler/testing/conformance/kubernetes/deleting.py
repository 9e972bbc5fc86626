"""Deletion: conditions, finalizers, collections."""

from .peer import GROUP, MERGE, Peer


async def a_deleted_object_is_not_found(peer: Peer) -> None:
    """A deletion of what nothing holds back is done at once, and the second finds nothing."""
    made = await peer.made(peer.a_box("short"))
    answer = await peer.call("DELETE", peer.boxes("short"))
    assert (answer.status, answer.body["status"]) == (200, "Success")
    assert answer.body["details"]["uid"] == made.metadata["uid"]
    answer = await peer.call("GET", peer.boxes("short"))
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.message == f'boxes.{GROUP} "short" not found'
    answer = await peer.call("DELETE", peer.boxes("short"))
    assert (answer.status, answer.reason) == (404, "NotFound")


async def a_deletion_names_what_it_means(peer: Peer) -> None:
    """A wrong uid or version in the preconditions is a Conflict; the right ones pass."""
    made = await peer.made(peer.a_map("meant"))
    uid, path = made.metadata["uid"], peer.maps("meant")
    for wrong in ({"uid": "00000000-0000-0000-0000-000000000000"}, {"resourceVersion": "1"}):
        answer = await peer.call("DELETE", path, {"preconditions": wrong})
        assert (answer.status, answer.reason) == (409, "Conflict"), wrong
        assert "in the precondition" in answer.message
    right = {"uid": uid, "resourceVersion": made.version}
    answer = await peer.call("DELETE", path, {"preconditions": right})
    assert answer.status == 200


async def a_finalizer_holds_an_object_back(peer: Peer) -> None:
    """It gets its time of deletion, can be changed, and goes when the last finalizer does."""
    item = peer.a_box("held")
    item["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    await peer.made(item)
    path = peer.boxes("held")
    asked = await peer.call("DELETE", path)
    assert (asked.status, asked.body["kind"]) == (200, "Box")
    assert asked.metadata["deletionTimestamp"]
    assert asked.metadata["deletionGracePeriodSeconds"] == 0
    assert asked.metadata["generation"] == 2
    again = await peer.call("DELETE", path)
    assert (again.status, again.version) == (200, asked.version)
    answer = await peer.call("POST", peer.boxes(), peer.a_box("held"))
    assert answer.reason == "AlreadyExists"
    patch = {"metadata": {"finalizers": ["example.com/b", "example.com/c"]}}
    answer = await peer.call("PATCH", path, patch, MERGE)
    assert (answer.status, answer.causes[0]) == (
        422,
        ("metadata.finalizers", "FieldValueForbidden"),
    )
    patch = {"metadata": {"finalizers": ["example.com/b"], "labels": {"a": "b"}}}
    assert (await peer.call("PATCH", path, patch, MERGE)).status == 200
    answer = await peer.call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    assert answer.status == 200
    assert (await peer.call("GET", path)).status == 404


async def a_collection_is_deleted_by_its_labels(peer: Peer) -> None:
    """A deletion of a collection takes what is selected, and leaves the others."""
    for name, label in (("c1", "x"), ("c2", "x"), ("c3", "y")):
        await peer.made(peer.a_map(name, set=label))
    answer = await peer.call("DELETE", peer.maps(), labelSelector="set=x")
    assert answer.status == 200
    listed = await peer.call("GET", peer.maps(), labelSelector="set")
    assert [one["metadata"]["name"] for one in listed.body["items"]] == ["c3"]


async def a_new_object_of_an_old_name_is_another(peer: Peer) -> None:
    """What is created again under a name has another uid."""
    first = await peer.made(peer.a_map("phoenix"))
    await peer.call("DELETE", peer.maps("phoenix"))
    second = await peer.made(peer.a_map("phoenix"))
    assert first.metadata["uid"] != second.metadata["uid"]
