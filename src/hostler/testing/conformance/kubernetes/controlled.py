"""What needs the controllers of a cluster: owners, namespaces, disruption budgets."""

from .builtin import pod, with_account
from .peer import GROUP, Answer, Body, Peer, fresh, until


def _absent(answer: Answer) -> bool:
    return answer.status == 404


def _owned(item: Body, owner: Answer, *, blocks: bool = False) -> Body:
    item["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner.body["apiVersion"],
            "kind": owner.body["kind"],
            "name": owner.metadata["name"],
            "uid": owner.metadata["uid"],
            "blockOwnerDeletion": blocks,
        }
    ]
    return item


async def what_is_owned_goes_with_its_owner(peer: Peer) -> None:
    """Dependents are deleted after their owner, also those whose owner never was."""
    owner = await peer.made(peer.a_map("owner"))
    await peer.made(_owned(peer.a_map("child"), owner))
    await peer.call("DELETE", peer.maps("owner"), {"propagationPolicy": "Background"})
    await until(peer, peer.maps("child"), _absent, "the dependent stays")
    owner.body["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111"
    await peer.made(_owned(peer.a_map("lost"), owner))
    await until(peer, peer.maps("lost"), _absent, "the dependent of nobody stays")


async def an_owner_may_go_last(peer: Peer) -> None:
    """In the foreground an owner waits for those that block it."""
    owner = await peer.made(peer.a_map("last"))
    child = _owned(peer.a_map("first"), owner, blocks=True)
    child["metadata"]["finalizers"] = ["example.com/a"]
    await peer.made(child)
    await peer.call("DELETE", peer.maps("last"), {"propagationPolicy": "Foreground"})

    def ends(answer: Answer) -> bool:
        return bool(answer.metadata.get("deletionTimestamp"))

    await until(peer, peer.maps("first"), ends, "the dependent was not deleted")
    waiting = await peer.call("GET", peer.maps("last"))
    assert waiting.metadata["finalizers"] == ["foregroundDeletion"]
    kind = "application/merge-patch+json"
    await peer.call("PATCH", peer.maps("first"), {"metadata": {"finalizers": None}}, kind)
    await until(peer, peer.maps("last"), _absent, "the owner stays")


async def dependents_may_stay(peer: Peer) -> None:
    """Orphaned dependents lose their owner and live on."""
    owner = await peer.made(peer.a_map("leaves"))
    await peer.made(_owned(peer.a_map("stays"), owner))
    await peer.call("DELETE", peer.maps("leaves"), {"propagationPolicy": "Orphan"})
    await until(peer, peer.maps("leaves"), _absent, "the owner stays")

    def is_free(answer: Answer) -> bool:
        return answer.status == 200 and "ownerReferences" not in answer.metadata

    await until(peer, peer.maps("stays"), is_free, "the dependent has its owner still")


async def a_namespace_ends_with_all_that_is_in_it(peer: Peer) -> None:
    """It takes nothing new, empties itself, waits for finalizers, and goes."""
    name = fresh("ends")
    space: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    made = await peer.call("POST", "/api/v1/namespaces", space)
    assert made.body["status"] == {"phase": "Active"}
    assert made.metadata["labels"] == {"kubernetes.io/metadata.name": name}
    inner = Peer(peer.session, peer.url, peer.token, name)
    held = inner.a_map("held")
    held["metadata"]["finalizers"] = ["example.com/a"]
    await inner.made(held)
    await inner.made(inner.a_map("free"))
    answer = await peer.call("DELETE", f"/api/v1/namespaces/{name}")
    assert (answer.status, answer.body["status"]["phase"]) == (200, "Terminating")
    await until(inner, inner.maps("free"), _absent, "its objects stay")
    answer = await inner.call("POST", inner.maps(), inner.a_map())
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert ("metadata.namespace", "NamespaceTerminating") in answer.causes
    kind = "application/merge-patch+json"
    await inner.call("PATCH", inner.maps("held"), {"metadata": {"finalizers": None}}, kind)
    await until(peer, f"/api/v1/namespaces/{name}", _absent, "the namespace stays")


async def a_budget_refuses_evictions(peer: Peer) -> None:
    """An eviction that the budget is against is refused with 429, and one it allows is done."""
    names = [fresh("evicted") for _ in range(2)]
    for name in names:
        await _running(peer, name)
    budget: Body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": peer.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "evicted"}}},
    }
    path = peer.path("poddisruptionbudgets", group="policy")
    assert (await peer.call("POST", path, budget)).status == 201

    def counted(answer: Answer) -> bool:
        return bool(answer.body.get("status", {}).get("disruptionsAllowed") == 1)

    await until(peer, f"{path}/budget", counted, "the budget is not counted")
    first = await _evict(peer, names[0])
    assert (first.status, first.body["status"]) == (201, "Success")
    second = await _evict(peer, names[1])
    assert (second.status, second.reason) == (429, "TooManyRequests"), second
    assert second.message.startswith("Cannot evict pod as it would violate the pod's disruption")
    assert second.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert (await _evict(peer, "absent")).status == 404


async def _evict(peer: Peer, name: str) -> Answer:
    metadata = {"name": name, "namespace": peer.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    return await peer.call("POST", peer.path("pods", name, "eviction"), body)


async def _running(peer: Peer, name: str) -> None:
    """Make a Pod that is ready, on a Node that is none."""
    await with_account(peer)
    item = pod(peer, name, node=fresh("no-such-node"), app="evicted")
    assert (await peer.call("POST", peer.path("pods"), item)).status == 201
    ready = {"type": "Ready", "status": "True"}
    status = {"status": {"phase": "Running", "conditions": [ready]}}
    kind = "application/merge-patch+json"
    answer = await peer.call("PATCH", peer.path("pods", name, "status"), status, kind)
    assert answer.status == 200, answer


async def an_owned_box_goes_too(peer: Peer) -> None:
    """Objects of defined kinds are owned as any other."""
    owner = await peer.made(peer.a_box("parent"))
    assert owner.body["apiVersion"] == f"{GROUP}/v1"
    await peer.made(_owned(peer.a_map("of-a-box"), owner))
    await peer.call("DELETE", peer.boxes("parent"))
    await until(peer, peer.maps("of-a-box"), _absent, "the dependent stays")
