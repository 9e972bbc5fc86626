"""Which Pods of a Node matter to its end, by the rules of kubectl's drain and Cluster API's."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.frontends.kubernetes.nodes.objects import Pod, PodSpec, PodStatus, Volume
from hostler.frontends.kubernetes.nodes.workload import (
    DRAIN_LABEL,
    MIRROR,
    OVERDUE,
    SAFE_TO_EVICT,
    Choice,
    Rules,
    Treatment,
    in_the_way,
    judge,
)
from hostler.kubernetes.objects import Metadata, Owner

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WAITING = Rules(unmanaged=Choice.WAIT, local_storage=Choice.WAIT, unsafe=Choice.WAIT)
EVICTING = Rules(unmanaged=Choice.EVICT, local_storage=Choice.EVICT, unsafe=Choice.EVICT)
EVICT, AWAIT, LEAVE = Treatment.EVICT, Treatment.AWAIT, Treatment.LEAVE


def pod(
    owner: str = "ReplicaSet",
    *,
    phase: str = "Running",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    ends: datetime | None = None,
    local: bool = False,
    name: str = "p",
) -> Pod:
    owners = (Owner(api_version="v1", kind=owner, name="o", uid="o", controller=True),)
    volumes = (Volume(name="v", empty_dir={} if local else None),)
    return Pod(
        metadata=Metadata(
            name=name,
            namespace="ns",
            labels=labels,
            annotations=annotations,
            deletion_timestamp=ends,
            owner_references=owners if owner else None,
        ),
        spec=PodSpec(node_name="n", volumes=volumes),
        status=PodStatus(phase=phase),
    )


@pytest.mark.parametrize("rules", [WAITING, EVICTING], ids=["waiting", "evicting"])
@pytest.mark.parametrize(
    ("one", "treatment"),
    [
        (pod(), EVICT),
        (pod("Job"), EVICT),
        (pod(phase="Pending"), EVICT),
        (pod("DaemonSet"), LEAVE),
        (pod("DaemonSet", local=True), LEAVE),
        (pod("DaemonSet", ends=NOW), LEAVE),
        (pod("Node", annotations={MIRROR: "x"}), LEAVE),
        (pod("Job", phase="Succeeded"), LEAVE),
        (pod("", phase="Failed", local=True), LEAVE),
        (pod(ends=NOW + timedelta(seconds=30)), AWAIT),
        (pod(ends=NOW - timedelta(days=1)), AWAIT),
        (pod(labels={DRAIN_LABEL: "skip"}), LEAVE),
        (pod(labels={DRAIN_LABEL: "wait-completed"}), AWAIT),
        (pod(labels={DRAIN_LABEL: "wait-completed"}, phase="Succeeded"), LEAVE),
        (pod(annotations={SAFE_TO_EVICT: "true"}), EVICT),
    ],
)
def test_what_no_choice_changes(one: Pod, treatment: Treatment, rules: Rules) -> None:
    assert judge(one, rules, NOW, silent=False).treatment is treatment


@pytest.mark.parametrize(
    ("one", "key"),
    [
        (pod(""), "unmanaged"),
        (pod(local=True), "local_storage"),
        (pod(annotations={SAFE_TO_EVICT: "false"}), "unsafe"),
    ],
)
def test_what_would_lose_something_is_evicted_or_waited_for_as_its_fleet_says(
    one: Pod, key: str
) -> None:
    evicts = Rules(unsafe=Choice.EVICT)
    waits = replace(evicts, **{key: Choice.WAIT})
    assert judge(one, waits, NOW, silent=False).treatment is AWAIT
    assert judge(one, evicts, NOW, silent=False).treatment is EVICT


def test_unless_a_fleet_says_otherwise_only_what_calls_itself_unsafe_is_waited_for() -> None:
    assert Rules() == Rules(
        unmanaged=Choice.EVICT, local_storage=Choice.EVICT, unsafe=Choice.WAIT, grace=None
    )


def test_a_pod_that_its_silent_kubelet_does_not_end_is_not_waited_for_for_ever() -> None:
    ends = NOW - OVERDUE
    assert judge(pod(ends=ends), Rules(), NOW, silent=True).treatment is AWAIT
    late = pod(ends=ends - timedelta(seconds=1))
    assert judge(late, Rules(), NOW, silent=True).treatment is LEAVE
    assert judge(late, Rules(), NOW, silent=False).treatment is AWAIT, "its kubelet works at it"


def test_an_owner_that_is_no_controller_starts_nothing_anew() -> None:
    owner = Owner(api_version="v1", kind="DaemonSet", name="o", uid="o")
    one = Pod(metadata=Metadata(name="p", namespace="ns", owner_references=(owner,)))
    assert judge(one, WAITING, NOW, silent=False).why == "nothing would start it anew"


def test_what_is_in_the_way_is_named_with_its_reason() -> None:
    pods = (pod(name="b"), pod("DaemonSet", name="c"), pod(name="a", ends=NOW))
    found = in_the_way(pods, Rules(), NOW, silent=False)
    assert [str(one) for one in found] == ["ns/a (it is ending)", "ns/b (it is to be evicted)"]
