"""Creation and replacement: names, versions, generations, what a schema does."""

from .kinds import definition
from .peer import GROUP, MERGE, Body, Peer, fresh, merged, until


async def a_created_object_has_what_only_the_server_gives(peer: Peer) -> None:
    """A new object has a uid, a version and its time; a kind without a spec no generation."""
    answer = await peer.made(peer.a_map())
    assert {"uid", "resourceVersion", "creationTimestamp", "managedFields"} <= set(answer.metadata)
    assert "generation" not in answer.metadata
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("ConfigMap", "v1")
    box = await peer.made(peer.a_box())
    assert box.metadata["generation"] == 1
    assert str(box.metadata["creationTimestamp"]).endswith("Z")


async def a_name_is_taken_once(peer: Peer) -> None:
    """A second object of a name is refused with AlreadyExists, which names the kind."""
    item = peer.a_box("taken")
    await peer.made(item)
    answer = await peer.call("POST", peer.boxes(), item)
    assert (answer.status, answer.reason) == (409, "AlreadyExists")
    assert answer.message == f'boxes.{GROUP} "taken" already exists'
    assert answer.body["details"] == {"name": "taken", "group": GROUP, "kind": "boxes"}


async def a_name_is_generated_where_only_its_beginning_is_said(peer: Peer) -> None:
    """Generated names begin as asked and differ."""
    names = set[str]()
    for _ in range(3):
        item = peer.a_map()
        item["metadata"] = {"generateName": "job-"}
        names.add(str((await peer.made(item)).metadata["name"]))
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


async def a_name_must_be_a_name(peer: Peer) -> None:
    """No name, and one that no DNS would take, are refused."""
    item = peer.a_map("Upper_Case")
    answer = await peer.call("POST", peer.maps(), item)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.causes == [("metadata.name", "FieldValueInvalid")]
    item["metadata"] = {}
    answer = await peer.call("POST", peer.maps(), item)
    assert answer.causes == [("metadata.name", "FieldValueRequired")]


async def labels_and_annotations_have_rules(peer: Peer) -> None:
    """A label's value is short and plain; annotations have a size."""
    item = peer.a_map(bad="no spaces please")
    answer = await peer.call("POST", peer.maps(), item)
    assert (answer.status, answer.causes) == (422, [("metadata.labels", "FieldValueInvalid")])
    item = peer.a_map()
    item["metadata"]["annotations"] = {"a": "x" * (256 << 10)}
    answer = await peer.call("POST", peer.maps(), item)
    assert (answer.status, answer.causes) == (422, [("metadata.annotations", "FieldValueTooLong")])


async def a_version_is_not_said_at_creation(peer: Peer) -> None:
    """An object that names a version cannot be created."""
    item = peer.a_map()
    item["metadata"]["resourceVersion"] = "5"
    answer = await peer.call("POST", peer.maps(), item)
    assert answer.status == 500
    assert answer.message == "resourceVersion should not be set on objects to be created"


async def what_the_path_says_and_the_body_must_agree(peer: Peer) -> None:
    """Another namespace, name, kind or version in the body is refused."""
    item = peer.a_map()
    item["metadata"]["namespace"] = "another"
    answer = await peer.call("POST", peer.maps(), item)
    assert (answer.status, answer.reason) == (400, "BadRequest")
    made = await peer.made(peer.a_map("one"))
    made.body["metadata"]["name"] = "two"
    answer = await peer.call("PUT", peer.maps("one"), made.body)
    assert (answer.status, answer.reason) == (400, "BadRequest")
    answer = await peer.call("POST", peer.maps(), {**peer.a_map(), "kind": "Secret"})
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def a_namespace_must_be_there(peer: Peer) -> None:
    """Nothing is created in a namespace that is none."""
    item = peer.a_map()
    item["metadata"]["namespace"] = "nowhere"
    answer = await peer.call("POST", "/api/v1/namespaces/nowhere/configmaps", item)
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.message == 'namespaces "nowhere" not found'


async def the_slower_of_two_writers_is_refused(peer: Peer) -> None:
    """A replacement of an older version is a Conflict; some kinds need no version."""
    first = (await peer.made(peer.a_box("two"))).body
    first["spec"]["size"] = 2
    assert (await peer.call("PUT", peer.boxes("two"), first)).status == 200
    first["spec"]["size"] = 3
    answer = await peer.call("PUT", peer.boxes("two"), first)
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert answer.message.startswith(
        f'Operation cannot be fulfilled on boxes.{GROUP} "two": the object has been modified'
    )
    del first["metadata"]["resourceVersion"]
    answer = await peer.call("PUT", peer.boxes("two"), first)
    assert (answer.status, answer.causes) == (
        422,
        [("metadata.resourceVersion", "FieldValueInvalid")],
    )
    plain = (await peer.made(peer.a_map("plain"))).body
    del plain["metadata"]["resourceVersion"]
    plain["data"] = {"a": "2"}
    assert (await peer.call("PUT", peer.maps("plain"), plain)).status == 200


async def a_replacement_of_another_uid_is_refused(peer: Peer) -> None:
    """A uid that was read from an object of the same name before this one is a Conflict."""
    item = (await peer.made(peer.a_map("again"))).body
    item["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    answer = await peer.call("PUT", peer.maps("again"), item)
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert "Precondition failed: UID in precondition" in answer.message


async def a_replacement_needs_an_object(peer: Peer) -> None:
    """PUT creates nothing, but for Leases."""
    item = peer.a_map("absent")
    answer = await peer.call("PUT", peer.maps("absent"), item)
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.message == 'configmaps "absent" not found'
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "put", "namespace": peer.namespace},
        "spec": {},
    }
    path = peer.path("leases", "put", group="coordination.k8s.io")
    assert (await peer.call("PUT", path, lease)).status == 201


async def the_generation_counts_changes_of_the_spec(peer: Peer) -> None:
    """Labels and status leave it alone; a write that changes nothing leaves the version too."""
    made = await peer.made(peer.a_box("counted"))
    path = peer.boxes("counted")
    kind = "application/merge-patch+json"
    labelled = await peer.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, kind)
    assert labelled.metadata["generation"] == 1
    assert labelled.version != made.version
    again = await peer.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, kind)
    assert again.version == labelled.version
    grown = await peer.call("PATCH", path, merged(size=2), kind)
    assert grown.metadata["generation"] == 2
    seen = await peer.call("PATCH", path + "/status", {"status": {"size": 2}}, kind)
    assert (seen.status, seen.metadata["generation"]) == (200, 2)
    same = await peer.call("PUT", path, seen.body)
    assert (same.version, same.metadata["generation"]) == (seen.version, 2)


async def status_and_spec_are_written_apart(peer: Peer) -> None:
    """The main path drops the status, at creation too; the status' path drops everything else."""
    item = peer.a_box("apart")
    item["status"] = {"size": 7}
    made = await peer.made(item)
    assert "status" not in made.body
    both = {"status": {"size": 8}, "spec": {"size": 9}, "metadata": {"labels": {"x": "y"}}}
    kind = "application/merge-patch+json"
    below = await peer.call("PATCH", peer.boxes("apart", "status"), both, kind)
    assert (below.body["status"], below.body["spec"]["size"]) == ({"size": 8}, 1)
    assert "labels" not in below.metadata
    above = await peer.call("PATCH", peer.boxes("apart"), {**both, "status": {"size": 1}}, kind)
    assert (above.body["status"], above.body["spec"]["size"]) == ({"size": 8}, 9)
    read = await peer.call("GET", peer.boxes("apart", "status"))
    assert read.body["status"] == {"size": 8}


async def a_schema_fills_in_and_drops(peer: Peer) -> None:
    """Defaults are stored, unknown fields are not, nor null where it is not allowed."""
    made = await peer.made(
        peer.a_box(
            strange=1,
            free={"x": {"y": 1}},
            parts=[{"name": "a", "odd": 1}],
            sizes={"s": 1},
            mode=None,
            note=None,
        )
    )
    assert made.body["spec"] == {
        "pool": "east",
        "size": 1,
        "free": {"x": {"y": 1}},
        "parts": [{"name": "a", "side": "left"}],
        "sizes": {"s": 1},
        "note": None,
    }


async def a_schema_refuses(peer: Peer) -> None:
    """Each broken rule is a cause with the path of its field."""
    wrong: list[tuple[dict[str, object], str, str]] = [
        ({"size": 101}, "spec.size", "FieldValueInvalid"),
        ({"size": -1}, "spec.size", "FieldValueInvalid"),
        ({"size": "one"}, "spec.size", "FieldValueTypeInvalid"),
        ({"mode": "maybe"}, "spec.mode", "FieldValueNotSupported"),
        ({"code": "UP"}, "spec.code", "FieldValueInvalid"),
        ({"pool": "x" * 13}, "spec.pool", "FieldValueTooLong"),
        ({"ports": [1, 2, 3, 4]}, "spec.ports", "FieldValueTooMany"),
        ({"ports": [1, "2"]}, "spec.ports[1]", "FieldValueTypeInvalid"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "FieldValueDuplicate"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", "FieldValueDuplicate"),
        ({"parts": [{}]}, "spec.parts[0].name", "FieldValueRequired"),
        ({"share": 1.5}, "spec.share", "FieldValueTypeInvalid"),
        ({"sizes": {"s": "m"}}, "spec.sizes.s", "FieldValueTypeInvalid"),
    ]
    for spec, field, reason in wrong:
        answer = await peer.call("POST", peer.boxes(), peer.a_box("wrong", **spec))
        assert (answer.status, answer.reason) == (422, "Invalid"), (spec, answer)
        assert answer.causes[0] == (field, reason), (spec, answer)
        assert answer.message.startswith(f'Box.{GROUP} "wrong" is invalid: '), answer
    item = peer.a_box("poor")
    del item["spec"]["pool"]
    answer = await peer.call("POST", peer.boxes(), item)
    assert answer.causes[0] == ("spec.pool", "FieldValueRequired")


async def a_strict_reader_refuses_unknown_fields(peer: Peer) -> None:
    """Whoever asks for strictness learns of a field that is none."""
    answer = await peer.call("POST", peer.boxes(), peer.a_box(odd=1), fieldValidation="Strict")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert answer.message.endswith('strict decoding error: unknown field "spec.odd"'), answer
    answer = await peer.call("POST", peer.boxes(), peer.a_box("even"), fieldValidation="Strict")
    assert answer.status == 201, answer


async def a_dry_run_stores_nothing(peer: Peer) -> None:
    """A dry run answers as the true one would, and leaves nothing."""
    answer = await peer.call("POST", peer.boxes(), peer.a_box("dry"), dryRun="All")
    assert (answer.status, answer.body["spec"]["size"]) == (201, 1)
    assert (await peer.call("GET", peer.boxes("dry"))).status == 404
    made = await peer.made(peer.a_box("wet"))
    kind = "application/merge-patch+json"
    answer = await peer.call("PATCH", peer.boxes("wet"), merged(size=5), kind, dryRun="All")
    assert (answer.status, answer.body["spec"]["size"]) == (200, 5)
    answer = await peer.call("DELETE", peer.boxes("wet"), dryRun="All")
    assert answer.status == 200
    assert (await peer.call("GET", peer.boxes("wet"))).version == made.version
    answer = await peer.call("PATCH", peer.boxes("wet"), merged(size=500), kind, dryRun="All")
    assert answer.status == 422


async def what_is_no_object_is_refused(peer: Peer) -> None:
    """A broken body is a bad request, and a kind that is not served a plain 404."""
    answer = await peer.call("POST", peer.maps(), ["list"])
    assert (answer.status, answer.reason) == (400, "BadRequest")
    answer = await peer.call("GET", peer.path("spoons", group=GROUP))
    assert (answer.status, answer.text) == (404, "404 page not found\n")
    answer = await peer.call("PUT", peer.maps(), peer.a_map())
    assert (answer.status, answer.reason) == (405, "MethodNotAllowed")


async def a_kind_is_served_once_it_is_defined_and_never_after(peer: Peer) -> None:
    """A definition makes a kind, which discovery lists, and takes it and its objects away."""
    plural = fresh("crates").replace("-", "")
    made = await peer.call("POST", _CRDS, definition(plural, plural.capitalize()))
    assert made.status == 201, made
    path = peer.path(plural, group=GROUP)
    await _served(peer, path, 200)
    found = await peer.call("GET", f"{_CRDS}/{plural}.{GROUP}")
    conditions = {one["type"]: one["status"] for one in found.body["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert found.body["status"]["storedVersions"] == ["v1"]
    item = {**peer.a_box("in"), "kind": plural.capitalize()}
    assert (await peer.call("POST", path, item)).status == 201
    listed = await peer.call("GET", f"/apis/{GROUP}/v1")
    names = {one["name"]: one for one in listed.body["resources"]}
    assert {plural, f"{plural}/status", f"{plural}/scale"} <= set(names)
    assert names[plural]["kind"] == plural.capitalize()
    held: Body = {**peer.a_box("held"), "kind": plural.capitalize()}
    held["metadata"]["finalizers"] = ["example.com/a"]
    assert (await peer.call("POST", path, held)).status == 201
    await peer.call("DELETE", f"{_CRDS}/{plural}.{GROUP}")
    await _served(peer, f"{path}/in", 404)
    late = {**peer.a_box("late"), "kind": plural.capitalize()}
    answer = await peer.call("POST", path, late)
    assert (answer.status, answer.reason) == (403, "Forbidden"), answer
    await peer.call("PATCH", f"{path}/held", {"metadata": {"finalizers": None}}, MERGE)
    await _served(peer, path, 404)


_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def _served(peer: Peer, path: str, status: int) -> None:
    await until(peer, path, lambda answer: answer.status == status, f"{path} is not {status}")


async def a_definition_has_rules(peer: Peer) -> None:
    """A definition must be called after its kind, store one version, and have whole schemas."""
    item = definition("plates", "Plate")
    item["metadata"]["name"] = "dishes"
    answer = await peer.call("POST", _CRDS, item)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert ("metadata.name", "FieldValueInvalid") in answer.causes
    item = definition("plates", "Plate")
    item["spec"]["versions"][0]["storage"] = False
    assert (await peer.call("POST", _CRDS, item)).status == 422
    item = definition("plates", "Plate")
    item["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"properties": {"a": {}}}}
    answer = await peer.call("POST", _CRDS, item)
    assert answer.status == 422, answer


async def discovery_lists_groups_and_kinds(peer: Peer) -> None:
    """Clients find what is served by the pages of versions, groups and kinds."""
    assert (await peer.call("GET", "/api")).body["versions"] == ["v1"]
    groups = (await peer.call("GET", "/apis")).body["groups"]
    assert {"apps", "batch", GROUP} <= {one["name"] for one in groups}
    group = await peer.call("GET", f"/apis/{GROUP}")
    assert group.body["preferredVersion"]["groupVersion"] == f"{GROUP}/v1"
    kinds = (await peer.call("GET", "/api/v1")).body["resources"]
    pods = next(one for one in kinds if one["name"] == "pods")
    assert (pods["kind"], pods["namespaced"], pods["shortNames"]) == ("Pod", True, ["po"])
    assert {"pods/eviction", "pods/status", "namespaces/finalize"} <= {one["name"] for one in kinds}
    assert (await peer.call("GET", "/apis/nothing.example")).status == 404
    assert str((await peer.call("GET", "/version")).body["gitVersion"]).startswith("v1.")


async def a_scale_is_read_and_written(peer: Peer) -> None:
    """The scale of an object is its number, whatever field that is."""
    await peer.made(peer.a_box("scaled"))
    path = peer.boxes("scaled", "scale")
    scale = await peer.call("GET", path)
    assert (scale.body["kind"], scale.body["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale.body["spec"] == {"replicas": 1}
    answer = await peer.call("PATCH", path, merged(replicas=4), "application/merge-patch+json")
    assert (answer.status, answer.body["spec"]) == (200, {"replicas": 4})
    box = await peer.call("GET", peer.boxes("scaled"))
    assert (box.body["spec"]["size"], box.metadata["generation"]) == (4, 2)
    scale.body["spec"]["replicas"] = 6
    answer = await peer.call("PUT", path, scale.body)
    assert (answer.status, answer.reason) == (409, "Conflict")
