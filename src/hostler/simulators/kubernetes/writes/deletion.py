"""Deletion: of one object or of many, at once or once its finalizers have let it go."""

from datetime import timedelta

from msgspec import Struct

from hostler.simulators.kubernetes.call import Call, decoded
from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import (
    Body,
    mapping,
    metadata_of,
    sequence,
    text_at,
    with_metadata,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import bad_request, conflict

from .change import has_ended, written_or_ended

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
POLICIES = {"Background": "", "Foreground": FOREGROUND, "Orphan": ORPHAN}


class Terms(Struct, frozen=True, kw_only=True):
    """How to delete: under which preconditions, what becomes of dependents, after which grace."""

    uid: str = ""
    version: str = ""
    policy: str = ""
    grace: int | None = None
    dry: bool = False


def terms_of(call: Call) -> Terms:
    """Return what a call says about a deletion, in its body or in its query."""
    body: Body = {}
    if call.request.body:
        body = mapping(decoded(call.request.body, call.content_type))
    policy = text_at(body, "propagationPolicy") or call.text("propagationPolicy")
    if policy and policy not in POLICIES:
        raise bad_request(f'invalid propagationPolicy "{policy}"')
    grace = body.get("gracePeriodSeconds")
    if grace is None and call.text("gracePeriodSeconds"):
        grace = call.number("gracePeriodSeconds")
    conditions = mapping(body.get("preconditions"))
    return Terms(
        uid=text_at(conditions, "uid"),
        version=text_at(conditions, "resourceVersion"),
        policy=policy,
        grace=grace if isinstance(grace, int) else None,
        dry=call.dry or "All" in sequence(body.get("dryRun")),
    )


def delete(cluster: Cluster, kind: Kind, item: Body, terms: Terms) -> tuple[bool, Body]:
    """Delete an object; return whether it is gone now, and how it was left."""
    _check(kind, item, terms)
    after = _ending(cluster, kind, item, terms)
    if after is item:
        return False, item
    ends = has_ended(after)
    if terms.dry:
        return ends, after
    return ends, written_or_ended(cluster, kind, after)


def _check(kind: Kind, item: Body, terms: Terms) -> None:
    about = kind.about(text_at(item, "metadata", "name"))
    uid, version = text_at(item, "metadata", "uid"), text_at(item, "metadata", "resourceVersion")
    pairs = (("UID", terms.uid, uid), ("ResourceVersion", terms.version, version))
    for name, wanted, ours in pairs:
        if wanted and wanted != ours:
            why = (
                f"the {name} in the precondition ({wanted}) does not match the {name} in record "
                f"({ours}). The object might have been deleted and then recreated"
            )
            raise conflict(about, why)


def _ending(cluster: Cluster, kind: Kind, item: Body, terms: Terms) -> Body:
    """Return an object as it is after a deletion was asked for; itself where nothing changes."""
    metadata = metadata_of(item)
    finalizers = [str(each) for each in sequence(metadata.get("finalizers"))]
    added = _finalizer(kind, terms)
    wanted = [each for each in finalizers if each not in {FOREGROUND, ORPHAN} or not terms.policy]
    if added and added not in wanted:
        wanted.append(added)
    grace = _grace(kind, item, terms)
    again = bool(metadata.get("deletionTimestamp"))
    if again and wanted == finalizers:
        left = metadata.get("deletionGracePeriodSeconds") or 0
        if grace >= left:
            return item
    time = cluster.now() + timedelta(seconds=grace)
    changes: Body = {"finalizers": wanted or None, "deletionGracePeriodSeconds": grace}
    if not again or grace < (metadata.get("deletionGracePeriodSeconds") or 0):
        changes["deletionTimestamp"] = f"{time:%Y-%m-%dT%H:%M:%SZ}"
    if not again and metadata.get("generation"):
        changes["generation"] = int(metadata["generation"]) + 1
    after = with_metadata(item, **changes)
    if kind.store == "namespaces":
        after["status"] = {**mapping(item.get("status")), "phase": "Terminating"}
    return after


def _finalizer(kind: Kind, terms: Terms) -> str:
    if not terms.policy and kind.store == "jobs.batch":
        return ORPHAN
    return POLICIES.get(terms.policy, "")


def _grace(kind: Kind, item: Body, terms: Terms) -> int:
    """Return for how many seconds a Pod may still run; nothing else has that."""
    ended = text_at(item, "status", "phase") in {"Succeeded", "Failed"}
    if kind.store != "pods" or not text_at(item, "spec", "nodeName") or ended:
        return 0
    own = mapping(item.get("spec")).get("terminationGracePeriodSeconds", 30)
    return int(own) if terms.grace is None else max(0, terms.grace)


def removed_status(kind: Kind, item: Body) -> Body:
    """Return what a deletion answers when the object is gone."""
    details = kind.about(text_at(item, "metadata", "name")).details()
    details["uid"] = text_at(item, "metadata", "uid")
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
