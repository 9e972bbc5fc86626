"""Server-side apply: fields have managers, who conflict, share, take over and let go."""

from .peer import APPLY, GROUP, MERGE, Answer, Body, Peer, merged


async def _apply(
    peer: Peer, item: Body, manager: str, below: str = "", *, force: bool = False
) -> Answer:
    path = peer.boxes(item["metadata"]["name"], below)
    query = {"fieldManager": manager, **({"force": "true"} if force else {})}
    return await peer.call("PATCH", path, item, APPLY, **query)


def _status(peer: Peer, name: str, *conditions: str, **fields: object) -> Body:
    item = peer.a_box(name)
    del item["spec"]
    listed = [{"type": one, "status": "True"} for one in conditions]
    item["status"] = {**({"conditions": listed} if listed else {}), **fields}
    return item


def _managers(answer: Answer) -> dict[tuple[str, str], Body]:
    return {
        (one["manager"], one["operation"]): one["fieldsV1"]
        for one in answer.metadata["managedFields"]
    }


async def an_apply_makes_and_changes(peer: Peer) -> None:
    """The first apply creates, the same one again changes nothing, another one what differs."""
    item = peer.a_box("applied", size=2)
    made = await _apply(peer, item, "one")
    assert made.status == 201
    again = await _apply(peer, item, "one")
    assert (again.status, again.version) == (200, made.version)
    item["spec"]["size"] = 3
    changed = await _apply(peer, item, "one")
    assert (changed.status, changed.body["spec"]["size"]) == (200, 3)
    assert changed.metadata["generation"] == 2
    assert set(_managers(changed)) == {("one", "Apply")}


async def an_apply_owns_exactly_what_it_says(peer: Peer) -> None:
    """Fields that were filled in by the server are nobody's; those applied are written down."""
    made = await _apply(peer, peer.a_box("owned", parts=[{"name": "a", "size": 1}]), "one")
    assert _managers(made)["one", "Apply"] == {
        "f:spec": {
            "f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:size": {}}},
            "f:pool": {},
        }
    }
    entry = made.metadata["managedFields"][0]
    assert (entry["apiVersion"], entry["fieldsType"]) == (f"{GROUP}/v1", "FieldsV1")


async def another_value_of_anothers_field_is_a_conflict(peer: Peer) -> None:
    """A conflict names the field and its owner; force takes it over from the owner."""
    await _apply(peer, peer.a_box("fought", size=2), "one")
    answer = await _apply(peer, peer.a_box("fought", size=3), "two")
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert answer.causes == [(".spec.size", "FieldManagerConflict")]
    assert answer.message == 'Apply failed with 1 conflict: conflict with "one": .spec.size'
    forced = await _apply(peer, peer.a_box("fought", size=3), "two", force=True)
    assert (forced.status, forced.body["spec"]["size"]) == (200, 3)
    assert _managers(forced)["one", "Apply"] == {"f:spec": {"f:pool": {}}}


async def the_same_value_is_shared(peer: Peer) -> None:
    """Two may own a field of one value; it stays until both have let it go."""
    await _apply(peer, peer.a_box("shared", size=2), "one")
    assert (await _apply(peer, peer.a_box("shared", size=2), "two")).status == 200
    left = await _apply(peer, peer.a_box("shared"), "one")
    assert left.body["spec"]["size"] == 2
    left = await _apply(peer, peer.a_box("shared"), "two")
    assert left.body["spec"]["size"] == 1


async def what_is_applied_no_more_is_removed(peer: Peer) -> None:
    """A field that its only owner leaves out goes, and what nobody applied stays."""
    await _apply(peer, peer.a_box("left", mode="on", sizes={"a": 1, "b": 2}), "one")
    await peer.call("PATCH", peer.boxes("left"), merged(sizes={"c": 3}), MERGE)
    answer = await _apply(peer, peer.a_box("left", sizes={"a": 1}), "one")
    assert "mode" not in answer.body["spec"]
    assert answer.body["spec"]["sizes"] == {"a": 1, "c": 3}


async def a_plain_write_takes_fields_over(peer: Peer) -> None:
    """Whoever patches a field owns it from then on, and an apply of another value conflicts."""
    await _apply(peer, peer.a_box("taken", size=2), "one")
    path = peer.boxes("taken")
    answer = await peer.call("PATCH", path, merged(size=5), MERGE, fieldManager="person")
    managers = _managers(answer)
    assert managers["person", "Update"] == {"f:spec": {"f:size": {}}}
    assert managers["one", "Apply"] == {"f:spec": {"f:pool": {}}}
    answer = await _apply(peer, peer.a_box("taken", size=2), "one")
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert f'conflict with "person" using {GROUP}/v1' in answer.message
    again = await _apply(peer, peer.a_box("taken"), "one")
    assert (again.status, again.body["spec"]["size"]) == (200, 5)


async def items_of_a_list_are_owned_by_their_keys(peer: Peer) -> None:
    """Two managers keep an item each; one's removal leaves the other's alone."""
    await _apply(peer, peer.a_box("items", parts=[{"name": "a", "size": 1}]), "one")
    both = await _apply(peer, peer.a_box("items", parts=[{"name": "b", "size": 2}]), "two")
    assert [one["name"] for one in both.body["spec"]["parts"]] == ["a", "b"]
    left = await _apply(peer, peer.a_box("items"), "one")
    assert [one["name"] for one in left.body["spec"]["parts"]] == ["b"]


async def values_of_a_set_are_owned_one_by_one(peer: Peer) -> None:
    """A set has the values of all its managers; a plain list belongs to one."""
    await _apply(peer, peer.a_box("set", tags=["a", "b"]), "one")
    both = await _apply(peer, peer.a_box("set", tags=["b", "c"]), "two")
    assert both.body["spec"]["tags"] == ["a", "b", "c"]
    left = await _apply(peer, peer.a_box("set", tags=["b"]), "one")
    assert left.body["spec"]["tags"] == ["b", "c"]
    await _apply(peer, peer.a_box("set", tags=["b"], ports=[1]), "one")
    answer = await _apply(peer, peer.a_box("set", tags=["b", "c"], ports=[1, 2]), "two")
    assert answer.causes == [(".spec.ports", "FieldManagerConflict")]


async def conditions_have_an_owner_each(peer: Peer) -> None:
    """Two managers write conditions of their own into one status."""
    await peer.made(peer.a_box("state"))
    await _apply(peer, _status(peer, "state", "Ready"), "one", "status")
    both = await _apply(peer, _status(peer, "state", "Clean"), "two", "status")
    assert [one["type"] for one in both.body["status"]["conditions"]] == ["Ready", "Clean"]
    answer = await _apply(peer, _status(peer, "state"), "one", "status")
    assert [one["type"] for one in answer.body["status"]["conditions"]] == ["Clean"]
    entries = {one["manager"]: one for one in answer.metadata["managedFields"]}
    assert entries["two"]["subresource"] == "status"


async def an_apply_of_the_status_leaves_the_spec(peer: Peer) -> None:
    """Each path applies its own part, under one manager's name, and neither drops the other's."""
    await _apply(peer, peer.a_box("parts", size=4), "one")
    item = _status(peer, "parts", size=4)
    answer = await _apply(peer, item, "one", "status")
    assert (answer.body["spec"]["size"], answer.body["status"]) == (4, {"size": 4})
    again = await _apply(peer, peer.a_box("parts", size=5), "one")
    assert (again.body["spec"]["size"], again.body["status"]) == (5, {"size": 4})
    answer = await _apply(peer, _status(peer, "nobody", size=4), "one", "status")
    assert (answer.status, answer.reason) == (404, "NotFound")


async def labels_are_owned_one_by_one(peer: Peer) -> None:
    """An apply adds its labels and finalizers to those of others, and takes its own away."""
    item = peer.a_map("labelled", a="1")
    item["metadata"]["finalizers"] = ["example.com/one"]
    await peer.made(item)
    mine = peer.a_map("labelled", b="2")
    mine["metadata"]["finalizers"] = ["example.com/two"]
    del mine["data"]
    path = peer.maps("labelled")
    answer = await peer.call("PATCH", path, mine, APPLY, fieldManager="two")
    assert answer.metadata["labels"] == {"a": "1", "b": "2"}
    assert answer.metadata["finalizers"] == ["example.com/one", "example.com/two"]
    mine["metadata"] = {"name": "labelled"}
    answer = await peer.call("PATCH", path, mine, APPLY, fieldManager="two")
    assert answer.metadata["labels"] == {"a": "1"}
    assert answer.metadata["finalizers"] == ["example.com/one"]
    await peer.call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)


async def an_apply_has_rules(peer: Peer) -> None:
    """It names its manager and its kind, and never the managers themselves."""
    item = peer.a_box("rules")
    answer = await peer.call("PATCH", peer.boxes("rules"), item, APPLY)
    assert answer.status == 422, answer
    assert "fieldManager" in answer.message
    made = await _apply(peer, item, "one")
    answer = await _apply(peer, made.body, "one")
    assert (answer.status, answer.message) == (400, "metadata.managedFields must be nil")
    stale = peer.a_box("rules")
    stale["metadata"]["resourceVersion"] = "1"
    answer = await _apply(peer, stale, "one")
    assert (answer.status, answer.reason) == (409, "Conflict")
    nameless = {"metadata": {"name": "rules"}, "spec": {"pool": "east"}}
    path = peer.boxes("rules")
    answer = await peer.call("PATCH", path, nameless, APPLY, fieldManager="one")
    assert answer.status == 400


async def an_apply_judges_what_others_drop(peer: Peer) -> None:
    """Null in an applied field is wrong, which a created object may have; an unknown one is too."""
    made = await peer.made(peer.a_box("null", mode=None, sizes={"a": None}))
    assert "mode" not in made.body["spec"]
    assert made.body["spec"]["sizes"] == {}
    answer = await _apply(peer, peer.a_box("applied-null", mode=None), "one")
    assert (answer.status, answer.causes[0]) == (422, ("spec.mode", "FieldValueTypeInvalid"))
    answer = await _apply(peer, peer.a_box("applied-odd", odd=1), "one")
    assert answer.status == 500, answer
    assert answer.message.endswith(".spec.odd: field not declared in schema")


async def empty_labels_are_none(peer: Peer) -> None:
    """Empty maps and lists of the metadata are left out, and null among labels is nothing."""
    item = peer.a_box("tidy")
    item["metadata"] |= {"labels": {"a": None}, "annotations": {}, "finalizers": []}
    made = await peer.made(item)
    assert made.metadata["labels"] == {"a": ""}
    assert not {"annotations", "finalizers"} & set(made.metadata)
