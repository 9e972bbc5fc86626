"""The service: what is answered before all is known, and of prices, templates and options."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from group_kit import Cluster
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from hostler.config.node_tables import NodeTable, OptionsTable
from hostler.frontends.externalgrpc.schema import (
    METHODS,
    SERVICE,
    class_of,
    field,
    inner,
    many,
    message,
    number,
    text,
)
from hostler.frontends.externalgrpc.service import PATIENCE, CloudProvider

HOUR = {"startTimestamp": {"seconds": 0}, "endTimestamp": {"seconds": 3600}}


async def ask(provider: CloudProvider, method: str, **fields: object) -> Message:
    return await provider._answers()[method](message(f"{METHODS[method]}Request", **fields))


async def refused(provider: CloudProvider, method: str, **fields: object) -> tuple[Status, str]:
    with pytest.raises(GRPCError) as caught:
        await ask(provider, method, **fields)
    return caught.value.status, caught.value.message or ""


def serving(*clusters: Cluster) -> CloudProvider:
    provider = CloudProvider()
    provider.attach([cluster.group for cluster in clusters])
    return provider


async def test_nothing_is_answered_before_there_is_an_engine() -> None:
    provider = CloudProvider()
    for method in (
        "Refresh",
        "NodeGroups",
        "NodeGroupForNode",  # a node of no group would be left alone
        "NodeGroupTargetSize",
        "NodeGroupNodes",
        "NodeGroupIncreaseSize",
        "NodeGroupDeleteNodes",
        "NodeGroupDecreaseTargetSize",
    ):
        status, why = await refused(provider, method)
        assert (status, why) == (Status.UNAVAILABLE, "the engine has not started yet")
    assert provider.status.__status__() is False
    provider.attach([Cluster().group])
    assert provider.status.__status__() is True
    (group,) = many(await ask(provider, "NodeGroups"), "nodeGroups")
    found = text(group, "id"), number(group, "minSize"), number(group, "maxSize")
    assert found == ("web", 0, 10)


@pytest.mark.looptime
async def test_refresh_waits_for_records_and_for_one_observation() -> None:
    cluster = Cluster()
    provider = serving(cluster)
    await ask(provider, "Refresh")
    cluster.live.has_observed = False
    assert await refused(provider, "Refresh") == (Status.UNAVAILABLE, "not observed yet: web")
    await asyncio.sleep(PATIENCE - 1)
    assert (await refused(provider, "Refresh"))[0] is Status.UNAVAILABLE
    await asyncio.sleep(1)
    await ask(provider, "Refresh")  # one provider that is away holds up the others no longer
    cluster.live.has_read = False
    assert (await refused(provider, "Refresh"))[0] is Status.UNAVAILABLE


async def test_refresh_is_refused_where_another_process_runs_the_fleets() -> None:
    """What this one knows is what was when it led; core would act on it."""
    cluster = Cluster()
    provider = serving(cluster)
    cluster.live.leads = False
    why = "no fleet is run by this process now"
    assert await refused(provider, "Refresh") == (Status.UNAVAILABLE, why)
    cluster.live.leads = True
    await ask(provider, "Refresh")


async def test_a_price_is_that_of_the_group_whose_label_or_node_it_is() -> None:
    cluster = Cluster(NodeTable(price=0.5))
    provider = serving(cluster)
    labelled = {"name": "template-node", "labels": {"hostler.dev/fleet": "web"}}
    answer = await ask(provider, "PricingNodePrice", node=labelled, **HOUR)
    assert field(answer, "price") == 0.5
    (one,) = await cluster.with_ready(1)
    real = {"providerID": cluster.node(one).provider_id}
    assert field(await ask(provider, "PricingNodePrice", node=real, **HOUR), "price") == 0.5
    status, _ = await refused(provider, "PricingNodePrice", node={"name": "stranger"}, **HOUR)
    assert status is Status.UNIMPLEMENTED
    status, why = await refused(provider, "PricingNodePrice", node=labelled)
    assert (status, why[:8]) == (Status.INVALID_ARGUMENT, "no start")


@pytest.mark.parametrize(
    ("requests", "price"),
    [
        ({"cpu": "1"}, 0.25),
        ({"cpu": "500m", "memory": "4Gi"}, 0.5),
        ({"cpu": "5"}, None),
        ({"nvidia.com/gpu": "1"}, None),
        ({}, 1 / 110),
    ],
)
async def test_a_pod_costs_the_part_of_a_node_that_it_takes(
    requests: dict[str, str], price: float | None
) -> None:
    provider = serving(Cluster(NodeTable(price=1.0, cpu="4", memory="8Gi")))
    amounts = {name: {"string": amount} for name, amount in requests.items()}
    container = {"name": "c", "resources": {"requests": amounts}}
    pod = message("Pod", spec={"containers": [container]}).SerializeToString()
    if price is None:
        status, _ = await refused(provider, "PricingPodPrice", pod_bytes=pod, **HOUR)
        assert status is Status.UNIMPLEMENTED
        return
    answer = await ask(provider, "PricingPodPrice", pod_bytes=pod, **HOUR)
    assert field(answer, "price") == pytest.approx(price)


async def test_what_is_no_pod_is_refused() -> None:
    provider = serving(Cluster(NodeTable(price=1.0, cpu="4", memory="8Gi")))
    status, why = await refused(provider, "PricingPodPrice", pod_bytes=b"\xff\xff", **HOUR)
    assert (status, why) == (Status.INVALID_ARGUMENT, "pod_bytes: no pod")


@pytest.mark.parametrize("method", METHODS)
async def test_bytes_that_are_no_message_are_refused_in_a_sentence(method: str) -> None:
    """They were a failure of ours, with a trace in the log for each call."""
    handler: Any = serving(Cluster()).__mapping__()[f"/{SERVICE}/{method}"]
    request = class_of(f"{METHODS[method]}Request")

    class Garbage:
        async def recv_message(self) -> Message:
            return request.FromString(b"\xff\xff")

    with pytest.raises(GRPCError) as caught:
        await handler.func(Garbage())
    status, why = caught.value.status, caught.value.message
    assert (status, why) == (Status.INVALID_ARGUMENT, f"no message of {method}")


async def test_a_default_that_no_number_of_nanoseconds_holds_is_the_longest_that_one_does() -> None:
    cluster = Cluster(NodeTable(options=OptionsTable(zero_or_max=True)))
    for seconds, nanoseconds in ((1 << 40, (1 << 63) - 1), (-(1 << 40), -(1 << 63))):
        defaults = {"MaxNodeProvisionDuration": {"seconds": seconds}}
        answer = await ask(serving(cluster), "NodeGroupGetOptions", id="web", defaults=defaults)
        found = inner(answer, "nodeGroupAutoscalingOptions")
        assert number(inner(found, "MaxNodeProvisionDuration"), "seconds") == seconds
        assert number(inner(found, "maxNodeProvisionTime"), "duration") == nanoseconds


async def gpu_types(provider: CloudProvider) -> set[str]:
    types = field(await ask(provider, "GetAvailableGPUTypes"), "gpuTypes")
    return set(cast("Mapping[str, object]", types))


async def test_without_a_size_there_is_no_template_and_without_settings_are_no_options() -> None:
    provider = serving(Cluster())
    for method in ("NodeGroupTemplateNodeInfo", "NodeGroupGetOptions"):
        status, _ = await refused(provider, method, id="web")
        assert status is Status.UNIMPLEMENTED
    provider = serving(Cluster(NodeTable(cpu="4", memory="8Gi", labels={"hostler.dev/gpu": "t4"})))
    answer = await ask(provider, "NodeGroupTemplateNodeInfo", id="web")
    assert field(answer, "nodeInfo") == field(answer, "nodeBytes") != b""
    assert await gpu_types(provider) == {"t4"}
    assert await gpu_types(serving(Cluster(NodeTable(cpu="4", memory="8Gi")))) == set()


async def test_what_the_file_does_not_say_of_a_node_is_learnt_from_nodes() -> None:
    cluster = Cluster(NodeTable(price=1.0))
    provider = serving(cluster)
    status, _ = await refused(provider, "NodeGroupTemplateNodeInfo", id="web")
    assert status is Status.UNIMPLEMENTED
    cluster.group.learnt = lambda: {"cpu": "4", "memory": "8Gi", "pods": "110"}
    answer = await ask(provider, "NodeGroupTemplateNodeInfo", id="web")
    assert b"8Gi" in cast("bytes", field(answer, "nodeBytes"))
    container = {"name": "c", "resources": {"requests": {"cpu": {"string": "1"}}}}
    pod = message("Pod", spec={"containers": [container]}).SerializeToString()
    price = field(await ask(provider, "PricingPodPrice", pod_bytes=pod, **HOUR), "price")
    assert price == pytest.approx(0.25)


async def test_what_the_file_says_of_a_node_comes_before_what_was_learnt() -> None:
    cluster = Cluster(NodeTable(cpu="2", memory="4Gi"))
    cluster.group.learnt = lambda: {"cpu": "64", "memory": "256Gi"}
    assert cluster.group.amounts == {"cpu": "2", "memory": "4Gi", "pods": "110"}


async def test_a_group_that_there_is_not_is_named() -> None:
    provider = serving(Cluster())
    status, why = await refused(provider, "NodeGroupTargetSize", id="wep")
    assert (status, why) == (Status.NOT_FOUND, "no node group 'wep'; there are web")


async def test_a_node_of_nobody_has_an_empty_group() -> None:
    answer = await ask(serving(Cluster()), "NodeGroupForNode", node={"name": "x"})
    assert answer.HasField("nodeGroup"), "an answer without one crashes its reader"
    assert text(inner(answer, "nodeGroup"), "id") == ""


async def test_the_group_of_a_node_is_the_whole_group_as_it_is_listed() -> None:
    """One with a maximum of 0 was remembered for good by whoever saw it first."""
    cluster = Cluster()
    await cluster.with_ready(1)
    provider = serving(cluster)
    (listed,) = many(await ask(provider, "NodeGroups"), "nodeGroups")
    answer = await ask(provider, "NodeGroupForNode", node={"providerID": "test://box-1"})
    assert inner(answer, "nodeGroup") == listed
    assert number(listed, "maxSize") == 10
