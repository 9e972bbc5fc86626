"""Kinds of the server's own that we write: Leases, Secrets, Events, Jobs, Pods, Nodes."""

from .peer import MERGE, Body, Peer, fresh

_LEASES = "coordination.k8s.io"


def _lease(peer: Peer, name: str, **spec: object) -> Body:
    return {
        "apiVersion": f"{_LEASES}/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": peer.namespace},
        "spec": spec,
    }


def job(peer: Peer, name: str, **spec: object) -> Body:
    """Return a Job that is nowhere yet."""
    container = {"name": "main", "image": "none.example/none"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": peer.namespace},
        "spec": {"backoffLimit": 0, "template": template, **spec},
    }


def pod(peer: Peer, name: str, node: str = "", **labels: str) -> Body:
    """Return a Pod that is nowhere yet."""
    container = {"name": "main", "image": "none.example/none"}
    placed = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": peer.namespace, "labels": labels},
        "spec": {**placed, "containers": [container], "automountServiceAccountToken": False},
    }


async def with_account(peer: Peer) -> None:
    """Make the service account of Pods, as controllers do soon after the namespace."""
    account: Body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    answer = await peer.call("POST", peer.path("serviceaccounts"), account)
    assert answer.status == 201 or answer.reason == "AlreadyExists", answer


async def a_pod_needs_its_account(peer: Peer) -> None:
    """A Pod whose service account is not there is forbidden."""
    item = pod(peer, "lost")
    item["spec"]["serviceAccountName"] = "nobody"
    answer = await peer.call("POST", peer.path("pods"), item)
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert 'serviceaccount "nobody" not found' in answer.message


async def the_time_of_a_lease_has_six_digits(peer: Peer) -> None:
    """A MicroTime without a fraction, or with one of three digits, is refused."""
    path = peer.path("leases", group=_LEASES)
    for time in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123Z"):
        answer = await peer.call("POST", path, _lease(peer, "bad", renewTime=time))
        assert (answer.status, answer.reason) == (400, "BadRequest"), time
    good = _lease(peer, "good", renewTime="2026-01-01T00:00:00.000000Z", holderIdentity="a")
    answer = await peer.call("POST", path, good)
    assert answer.status == 201
    assert answer.body["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
    answer = await peer.call("POST", path, _lease(peer, "short", leaseDurationSeconds=0))
    assert answer.causes == [("spec.leaseDurationSeconds", "FieldValueInvalid")]


async def a_lease_is_taken_by_its_version(peer: Peer) -> None:
    """Of two who renew one version, one is refused."""
    path = peer.path("leases", group=_LEASES)
    made = await peer.call("POST", path, _lease(peer, "held", holderIdentity="a"))
    made.body["spec"]["holderIdentity"] = "b"
    assert (await peer.call("PUT", path + "/held", made.body)).status == 200
    made.body["spec"]["holderIdentity"] = "c"
    answer = await peer.call("PUT", path + "/held", made.body)
    assert (answer.status, answer.reason) == (409, "Conflict")


async def a_secret_stores_bytes(peer: Peer) -> None:
    """What is written as text is read as base64; what is no base64 is refused."""
    item: Body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s1", "namespace": peer.namespace},
        "stringData": {"a": "b"},
    }
    answer = await peer.call("POST", peer.path("secrets"), item)
    assert (answer.status, answer.body["data"], answer.body["type"]) == (
        201,
        {"a": "Yg=="},
        "Opaque",
    )
    assert "stringData" not in answer.body
    item["metadata"]["name"] = "s2"
    item["data"] = {"a": "not base64"}
    answer = await peer.call("POST", peer.path("secrets"), item)
    assert (answer.status, answer.reason) == (400, "BadRequest")
    patch = {"type": "example.com/other"}
    answer = await peer.call("PATCH", peer.path("secrets", "s1"), patch, MERGE)
    assert (answer.status, answer.causes) == (422, [("type", "FieldValueInvalid")])


async def a_config_map_has_texts(peer: Peer) -> None:
    """A number among the texts of a ConfigMap is refused."""
    item = peer.a_map()
    item["data"] = {"a": 1}
    answer = await peer.call("POST", peer.maps(), item)
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def an_event_is_one_in_two_groups(peer: Peer) -> None:
    """An event of the newer group is read in the older one under its names."""
    event: Body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": fresh("event"), "namespace": peer.namespace},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "hostler.dev/conformance",
        "reportingInstance": "one",
        "action": "Checked",
        "reason": "Checking",
        "type": "Normal",
        "note": "all is well",
        "regarding": {"kind": "Pod", "name": "p", "namespace": peer.namespace},
    }
    path = peer.path("events", group="events.k8s.io")
    made = await peer.call("POST", path, event)
    assert (made.status, made.body["note"]) == (201, "all is well"), made
    older = await peer.call("GET", peer.path("events", made.metadata["name"]))
    assert (older.body["message"], older.body["involvedObject"]["kind"]) == ("all is well", "Pod")
    assert older.body["reportingComponent"] == "hostler.dev/conformance"
    listed = await peer.call("GET", peer.path("events"), fieldSelector="involvedObject.name=p")
    assert len(listed.body["items"]) == 1
    event["metadata"]["name"] = fresh("event")
    del event["action"]
    answer = await peer.call("POST", path, event)
    assert (answer.status, answer.causes) == (422, [("action", "FieldValueRequired")])
    event["eventTime"] = "2026-01-01T00:00:00Z"
    assert (await peer.call("POST", path, event)).status == 400


async def a_job_has_a_template_that_ends(peer: Peer) -> None:
    """A Job gets its labels and defaults; a template that restarts for ever is refused."""
    path = peer.path("jobs", group="batch")
    made = await peer.call("POST", path, job(peer, "j1"))
    assert made.status == 201, made
    spec, uid = made.body["spec"], made.metadata["uid"]
    assert (spec["completions"], spec["parallelism"], spec["suspend"]) == (1, 1, False)
    assert spec["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j1"
    assert spec["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    bad = job(peer, "j2")
    bad["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    answer = await peer.call("POST", path, bad)
    field = "spec.template.spec.restartPolicy"
    assert (answer.status, answer.causes) == (422, [(field, "FieldValueRequired")])
    bad["spec"]["template"]["spec"]["restartPolicy"] = "Sometimes"
    answer = await peer.call("POST", path, bad)
    assert answer.causes[-1] == (field, "FieldValueNotSupported")
    bad["spec"]["template"]["spec"] = {"restartPolicy": "Never", "containers": []}
    answer = await peer.call("POST", path, bad)
    assert answer.causes == [("spec.template.spec.containers", "FieldValueRequired")]
    again = await peer.call("POST", path, job(peer, "j1"))
    assert (again.status, again.reason) == (409, "AlreadyExists")
    body = {"propagationPolicy": "Background"}
    assert (await peer.call("DELETE", path + "/j1", body)).status == 200


async def a_pod_on_a_node_may_end_slowly(peer: Peer) -> None:
    """A Pod on a Node gets its grace, which may be cut short; one without a Node goes at once."""
    path = peer.path("pods")
    await with_account(peer)
    await peer.call("POST", path, pod(peer, "free"))
    assert (await peer.call("GET", path + "/free")).body["status"]["phase"] == "Pending"
    assert (await peer.call("DELETE", path + "/free")).status == 200
    assert (await peer.call("GET", path + "/free")).status == 404
    made = await peer.call("POST", path, pod(peer, "placed", node=fresh("no-such-node")))
    assert made.status == 201, made
    answer = await peer.call("DELETE", path + "/placed")
    assert answer.metadata["deletionGracePeriodSeconds"] == 30
    answer = await peer.call("DELETE", path + "/placed", {"gracePeriodSeconds": 5})
    assert answer.metadata["deletionGracePeriodSeconds"] == 5
    answer = await peer.call("DELETE", path + "/placed", {"gracePeriodSeconds": 0})
    assert (await peer.call("GET", path + "/placed")).status == 404


async def a_node_is_cordoned_by_a_patch(peer: Peer) -> None:
    """A Node takes its status at creation; its provider's id is written once."""
    name = fresh("node")
    node: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    node["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    made = await peer.call("POST", "/api/v1/nodes", node)
    assert made.status == 201, made
    assert made.body["status"]["conditions"][0]["type"] == "Ready"
    path = f"/api/v1/nodes/{name}"
    kind = "application/strategic-merge-patch+json"
    answer = await peer.call("PATCH", path, {"spec": {"unschedulable": True}}, kind)
    assert (answer.status, answer.body["spec"]["unschedulable"]) == (200, True)
    listed = await peer.call("GET", "/api/v1/nodes", fieldSelector="spec.unschedulable=true")
    assert name in [one["metadata"]["name"] for one in listed.body["items"]]
    patch: Body = {"spec": {"providerID": "a://1"}}
    assert (await peer.call("PATCH", path, patch, kind)).status == 200
    patch = {"spec": {"providerID": "a://2"}}
    answer = await peer.call("PATCH", path, patch, kind)
    assert (answer.status, answer.reason) == (422, "Invalid")
    condition = {"type": "Ready", "status": "Unknown"}
    patch = {"status": {"conditions": [{"type": "DiskPressure", "status": "False"}, condition]}}
    answer = await peer.call("PATCH", path + "/status", patch, kind)
    found = {one["type"]: one["status"] for one in answer.body["status"]["conditions"]}
    assert found == {"Ready": "Unknown", "DiskPressure": "False"}
    patch = {"status": {"conditions": [{"type": "DiskPressure", "$patch": "delete"}]}}
    answer = await peer.call("PATCH", path + "/status", patch, kind)
    assert [one["type"] for one in answer.body["status"]["conditions"]] == ["Ready"]
    assert (await peer.call("DELETE", path)).status == 200


async def a_stranger_learns_what_is_missing(peer: Peer) -> None:
    """A token that nobody has is 401; no token at all may nothing."""
    unknown = Peer(peer.session, peer.url, "nobody-has-this", peer.namespace)
    answer = await unknown.call("GET", peer.maps())
    assert (answer.status, answer.reason, answer.message) == (401, "Unauthorized", "Unauthorized")
    anonymous = Peer(peer.session, peer.url, "", peer.namespace)
    answer = await anonymous.call("GET", peer.maps())
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list' in answer.message


async def roles_allow(peer: Peer) -> None:
    """A service account may do what the roles bound to it say, and nothing else."""
    account: Body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    await peer.call("POST", peer.path("serviceaccounts"), account)
    body: Body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await peer.call("POST", peer.path("serviceaccounts", "robot", "token"), body)
    assert made.status == 201, made
    robot = Peer(peer.session, peer.url, str(made.body["status"]["token"]), peer.namespace)
    answer = await robot.call("GET", peer.maps())
    assert (answer.status, answer.reason) == (403, "Forbidden")
    user = f"system:serviceaccount:{peer.namespace}:robot"
    assert answer.message == (
        f'configmaps is forbidden: User "{user}" cannot list resource "configmaps" in API group '
        f'"" in the namespace "{peer.namespace}"'
    )
    await _bind(peer)
    for _ in range(100):
        answer = await robot.call("GET", peer.maps())
        if answer.status == 200:
            break
    assert answer.status == 200
    assert (await robot.call("GET", peer.maps("one"))).status == 404
    assert (await robot.call("GET", peer.maps("two"))).status == 403
    assert (await robot.call("POST", peer.maps(), peer.a_map())).status == 403
    attributes = {"verb": "list", "resource": "configmaps", "namespace": peer.namespace}
    for verb, allowed in (("list", True), ("delete", False)):
        review: Body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {**attributes, "verb": verb}},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = await robot.call("POST", path, review)
        assert (answer.status, answer.body["status"]["allowed"]) == (201, allowed), answer


async def _bind(peer: Peer) -> None:
    group = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]},
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "verbs": ["get"],
            "resourceNames": ["one"],
        },
    ]
    metadata = {"name": "robot", "namespace": peer.namespace}
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    answer = await peer.call("POST", peer.path("roles", group=group), role)
    assert answer.status == 201, answer
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "robot"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": peer.namespace}],
    }
    answer = await peer.call("POST", peer.path("rolebindings", group=group), binding)
    assert answer.status == 201, answer
