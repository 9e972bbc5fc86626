"""Subresources that are no part of their object: evictions, bindings, scales, tokens."""

from .access import Access, User
from .call import Call
from .state.body import Body
from .state.cluster import Cluster
from .state.refusals import not_allowed
from .writes import pods, scale, verbs

OTHERS = frozenset({"eviction", "binding", "scale", "token"})


def answer(cluster: Cluster, access: Access, call: Call) -> tuple[int, Body]:
    """Answer a call about one of them."""
    match call.target.subresource, call.request.method:
        case "eviction", "POST":
            return pods.evict(cluster, call)
        case "binding", "POST":
            return pods.bind(cluster, call)
        case "scale", "GET":
            return 200, scale.get(cluster, call)
        case "scale", "PUT":
            return scale.put(cluster, call)
        case "scale", "PATCH":
            return scale.patch(cluster, call)
        case "token", "POST":
            return _token(cluster, access, call)
        case _:
            raise not_allowed()


def _token(cluster: Cluster, access: Access, call: Call) -> tuple[int, Body]:
    """Make a token for a service account."""
    verbs.found(cluster, call)
    token = f"token-{cluster.uid()}"
    namespace = call.target.namespace
    name = f"system:serviceaccount:{namespace}:{call.target.name}"
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    access.grant(token, User(name, groups))
    status = {"token": token, "expirationTimestamp": cluster.stamp()}
    return 201, {**call.body(), "status": status}
