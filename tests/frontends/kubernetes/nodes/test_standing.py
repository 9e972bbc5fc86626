"""How a Node stands by its own account, and which machine's Node it is."""

from datetime import UTC, datetime, timedelta

import pytest

from hostler.frontends.kubernetes.nodes.objects import (
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
)
from hostler.frontends.kubernetes.nodes.standing import (
    Identity,
    Readiness,
    index,
    is_control_plane,
    standing,
)
from hostler.kubernetes.objects import Metadata

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, provider_id: str = "", *conditions: NodeCondition) -> Node:
    return Node(
        metadata=Metadata(name=name),
        spec=NodeSpec(provider_id=provider_id),
        status=NodeStatus(conditions=conditions),
    )


@pytest.mark.parametrize(
    ("status", "readiness"),
    [
        ("True", Readiness.READY),
        ("False", Readiness.NOT_READY),
        ("Unknown", Readiness.SILENT),
        ("", Readiness.SILENT),
    ],
)
def test_readiness_is_what_the_kubelet_said_with_its_age(status: str, readiness: Readiness) -> None:
    ready = NodeCondition(
        type="Ready", status=status, reason="Why", message="so", last_heartbeat_time=NOW
    )
    found = standing(node("n", "", NodeCondition(type="DiskPressure", status="True"), ready))
    assert (found.readiness, found.text) == (readiness, "Why: so")
    assert found.age(NOW + timedelta(minutes=5)) == timedelta(minutes=5)


def test_a_node_that_was_never_heard_of_is_silent_and_of_no_age() -> None:
    for one in (node("n"), Node(metadata=Metadata(name="n"))):
        found = standing(one)
        assert found.readiness is Readiness.SILENT
        assert found.age(NOW) is None


def test_a_node_is_found_by_provider_id_and_then_by_name() -> None:
    ours, named, foreign = node("a", "hostler://x/1"), node("b"), node("c", "aws:///i-1")
    nodes = index([ours, named, foreign])
    assert nodes.find(Identity(provider_id="hostler://x/1", names=("b",))) is ours
    assert nodes.find(Identity(provider_id="hostler://x/2", names=("x", "b"))) is named
    assert nodes.find(Identity(provider_id=None, names=("b",))) is named
    assert nodes.find(Identity(provider_id=None, names=("no-such",))) is None


def test_a_node_of_another_provider_id_is_not_ours_whatever_its_name_is() -> None:
    nodes = index([node("c", "aws:///i-1")])
    assert nodes.find(Identity(provider_id="hostler://x/1", names=("c",))) is None


def test_nodes_of_the_control_plane_say_so_by_a_label() -> None:
    for role in ("control-plane", "master"):
        labels = {f"node-role.kubernetes.io/{role}": ""}
        assert is_control_plane(Node(metadata=Metadata(name="n", labels=labels)))
    assert not is_control_plane(node("n"))
