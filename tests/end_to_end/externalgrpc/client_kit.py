"""A client as Cluster Autoscaler is one: gRPC's own library, messages by its own compiler."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
from grpc_tools import protoc  # pyright: ignore[reportMissingTypeStubs] - it has none

SERVICE = "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/"
GENERATIONS = ("until_1_34", "since_1_35")

METHODS = {
    "NodeGroups": ("Empty", "NodeGroups"),
    "NodeGroupForNode": ("ForNode", "ForNodeReply"),
    "PricingNodePrice": ("NodePrice", "Price"),
    "PricingPodPrice": ("PodPrice", "Price"),
    "GPULabel": ("Empty", "Label"),
    "GetAvailableGPUTypes": ("Empty", "Empty"),
    "Cleanup": ("Empty", "Empty"),
    "Refresh": ("Empty", "Empty"),
    "NodeGroupTargetSize": ("Id", "Size"),
    "NodeGroupIncreaseSize": ("Delta", "Empty"),
    "NodeGroupDeleteNodes": ("Delete", "Empty"),
    "NodeGroupDecreaseTargetSize": ("Delta", "Empty"),
    "NodeGroupNodes": ("Id", "Nodes"),
    "NodeGroupTemplateNodeInfo": ("Id", "Template"),
    "NodeGroupGetOptions": ("AskOptions", "OptionsReply"),
}


def compiled(folder: Path, generation: str) -> ModuleType:
    """Compile one generation's messages into a folder; return their module."""
    here = Path(__file__).parent
    include = Path(protoc.__file__).parent / "_proto"
    words = ["protoc", f"-I{here}", f"-I{include}", f"--python_out={folder}", f"{generation}.proto"]
    compiler: Callable[[list[str]], int] = getattr(protoc, "main")  # noqa: B009 - it has no types
    assert compiler(words) == 0
    sys.path.insert(0, str(folder))
    try:
        return import_module(f"{generation}_pb2")
    finally:
        sys.path.remove(str(folder))


@dataclass
class Client:
    """One client of one generation."""

    generation: str
    messages: Any
    channel: grpc.Channel

    def call(self, method: str, **fields: object) -> Any:
        """Make one call, and return its answer; raises grpc.RpcError."""
        asked, answered = (getattr(self.messages, name) for name in METHODS[method])
        made: Callable[..., Any] = self.channel.unary_unary(
            SERVICE + method,
            request_serializer=asked.SerializeToString,
            response_deserializer=answered.FromString,
        )
        return made(asked(**fields), timeout=5)

    @property
    def is_old(self) -> bool:
        return self.generation == GENERATIONS[0]

    def template(self, group: str) -> Any:
        """Return the node that a group's template is."""
        answer = self.call("NodeGroupTemplateNodeInfo", id=group)
        return answer.nodeInfo if self.is_old else self.messages.V1Node.FromString(answer.nodeBytes)

    def window(self, hours: float) -> dict[str, object]:
        """Return the fields of a time of so many hours."""
        begin, end = 1_767_225_600, 1_767_225_600 + int(3600 * hours)
        names = ("startTime", "endTime") if self.is_old else ("startTimestamp", "endTimestamp")
        return {name: {"seconds": at} for name, at in zip(names, (begin, end), strict=True)}

    def pod(self, **requests: str) -> dict[str, object]:
        """Return the field of a pod that requests so much."""
        amounts = {name: {"string": amount} for name, amount in requests.items()}
        pod = self.messages.Pod(
            spec={"containers": [{"name": "c", "resources": {"requests": amounts}}]}
        )
        return {"pod": pod} if self.is_old else {"pod_bytes": pod.SerializeToString()}
