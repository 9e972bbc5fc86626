"""Service: the fifteen calls of externalgrpc, answered by the groups."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

import structlog
from google.protobuf.message import DecodeError, Message
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.health.check import ServiceStatus
from grpclib.server import Stream

from . import node as nodes
from .calls import Instance, NodeRef, node_of, requests_of, window_of
from .group import NodeGroup
from .options import options
from .schema import METHODS, SERVICE, class_of, inner, many, message, number, text

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.externalgrpc")

PATIENCE = 120.0
"""Seconds after which a group that was not observed yet keeps Cluster Autoscaler waiting no more:
one account that cannot be reached must not stop all the others."""

Answer = Callable[[Message], Awaitable[Message]]


class CloudProvider:
    """Answers Cluster Autoscaler. Every answer is from memory.

    Groups never vanish, and one that is in trouble is answered for as well as all others: core
    stops everything when it gets an error for one.
    """

    def __init__(self) -> None:
        """Answer for no group yet: whoever asks is to ask again."""
        self._groups = dict[str, NodeGroup]()
        self._attached: float | None = None
        self.status = ServiceStatus()
        self.status.set(False)

    def attach(self, groups: Iterable[NodeGroup]) -> None:
        """Answer for these groups from now on."""
        self._groups = {group.id: group for group in groups}
        self._attached = asyncio.get_running_loop().time()
        self.status.set(True)

    def __mapping__(self) -> Mapping[str, Handler]:
        """Return the handlers by path, as grpclib asks for them."""
        return {
            f"/{SERVICE}/{name}": Handler(
                _answering(name, answer),
                Cardinality.UNARY_UNARY,
                class_of(f"{METHODS[name]}Request"),
                class_of(f"{METHODS[name]}Response"),
            )
            for name, answer in self._answers().items()
        }

    def _answers(self) -> Mapping[str, Answer]:
        return {
            "NodeGroups": self._node_groups,
            "NodeGroupForNode": self._group_for_node,
            "PricingNodePrice": self._node_price,
            "PricingPodPrice": self._pod_price,
            "GPULabel": self._gpu_label,
            "GetAvailableGPUTypes": self._gpu_types,
            "Cleanup": self._cleanup,
            "Refresh": self._refresh,
            "NodeGroupTargetSize": self._target_size,
            "NodeGroupIncreaseSize": self._increase,
            "NodeGroupDeleteNodes": self._delete,
            "NodeGroupDecreaseTargetSize": self._decrease,
            "NodeGroupNodes": self._nodes,
            "NodeGroupTemplateNodeInfo": self._template,
            "NodeGroupGetOptions": self._options,
        }

    # ------------------------------------------------------------ which groups there are

    async def _node_groups(self, request: Message) -> Message:
        del request
        self._since()
        return message("NodeGroupsResponse", nodeGroups=[*map(_described, self._groups.values())])

    def _since(self) -> float:
        """Return for how many seconds there is an engine to answer from; GRPCError: there is none.

        No groups at all would be believed.
        """
        if self._attached is None:
            raise GRPCError(Status.UNAVAILABLE, "the engine has not started yet")
        return asyncio.get_running_loop().time() - self._attached

    async def _group_for_node(self, request: Message) -> Message:
        self._since()
        node = node_of(inner(request, "node"))
        found = next((group for group in self._groups.values() if group.has(node)), None)
        described = _described(found) if found is not None else {"id": ""}
        return message("NodeGroupForNodeResponse", nodeGroup=described)

    async def _refresh(self, request: Message) -> Message:
        """Refuse until all is known, which stops Cluster Autoscaler's loop before it acts.

        So it does where another process runs the fleets: what this one knows is what was.
        """
        del request
        passed, groups = self._since(), self._groups.values()
        if groups and not any(group.is_current for group in groups):
            raise GRPCError(Status.UNAVAILABLE, "no fleet is run by this process now")
        unknown = [group.id for group in groups if not group.is_known]
        unread = [name for name in unknown if self._groups[name].live.machines() is None]
        if unread or (unknown and passed < PATIENCE):
            text = f"not observed yet: {', '.join(unread or unknown)}"
            raise GRPCError(Status.UNAVAILABLE, text)
        return message("RefreshResponse")

    async def _cleanup(self, request: Message) -> Message:
        """Nothing: machines outlive whoever asked for them."""
        del request
        return message("CleanupResponse")

    # ------------------------------------------------------------ one group

    def _group(self, request: Message) -> NodeGroup:
        self._since()
        name = text(request, "id")
        if name not in self._groups:
            known = ", ".join(self._groups)
            raise GRPCError(Status.NOT_FOUND, f"no node group {name[:80]!r}; there are {known}")
        return self._groups[name]

    async def _target_size(self, request: Message) -> Message:
        target = self._group(request).members().target
        return message("NodeGroupTargetSizeResponse", targetSize=target)

    async def _nodes(self, request: Message) -> Message:
        instances = [*map(_instance, self._group(request).instances())]
        return message("NodeGroupNodesResponse", instances=instances)

    async def _increase(self, request: Message) -> Message:
        await self._group(request).increase(number(request, "delta"))
        return message("NodeGroupIncreaseSizeResponse")

    async def _delete(self, request: Message) -> Message:
        await self._group(request).delete([*map(node_of, many(request, "nodes"))])
        return message("NodeGroupDeleteNodesResponse")

    async def _decrease(self, request: Message) -> Message:
        await self._group(request).decrease(number(request, "delta"))
        return message("NodeGroupDecreaseTargetSizeResponse")

    async def _template(self, request: Message) -> Message:
        group = self._group(request)
        content = nodes.template(group.machines.fleet, group.node, group.amounts)
        if content is None:
            text = (
                f"neither the file nor any node says which cpu and memory those of {group.id} have"
            )
            raise GRPCError(Status.UNIMPLEMENTED, text)
        return message("NodeGroupTemplateNodeInfoResponse", nodeInfo=content, nodeBytes=content)

    async def _options(self, request: Message) -> Message:
        group = self._group(request)
        found = options(group.node.options, inner(request, "defaults"))
        if found is None:
            text = f"the file sets no options of {group.id}"
            raise GRPCError(Status.UNIMPLEMENTED, text)
        return message("NodeGroupAutoscalingOptionsResponse", nodeGroupAutoscalingOptions=found)

    # ------------------------------------------------------------ prices and GPUs

    async def _node_price(self, request: Message) -> Message:
        node = node_of(inner(request, "node"))
        group = self._of(node)
        price = group.price() if group is not None else None
        if price is None:
            raise GRPCError(Status.UNIMPLEMENTED, f"nobody knows the price of {node}")
        return message("PricingNodePriceResponse", price=price * window_of(request).hours)

    def _of(self, node: NodeRef) -> NodeGroup | None:
        """Return whose price a node has; a template is known by its label alone."""
        named = self._groups.get(node.labels.get(nodes.FLEET_LABEL, ""))
        found = (group for group in self._groups.values() if group.members().find(node))
        return named or next(found, None)

    async def _pod_price(self, request: Message) -> Message:
        """Return the cheapest part of a node that takes the pod."""
        requests, hours = requests_of(request), window_of(request).hours
        shares = (
            (price, nodes.share(group.amounts, requests))
            for group in self._groups.values()
            if (price := group.price()) is not None
        )
        prices = [price * part * hours for price, part in shares if part is not None]
        if not prices:
            raise GRPCError(Status.UNIMPLEMENTED, "no group that takes it has a price and a size")
        return message("PricingPodPriceResponse", price=min(prices))

    async def _gpu_label(self, request: Message) -> Message:
        del request
        return message("GPULabelResponse", label=nodes.GPU_LABEL)

    async def _gpu_types(self, request: Message) -> Message:
        """Return what the file says of its nodes' GPUs."""
        del request
        labels = (group.node.labels.get(nodes.GPU_LABEL) for group in self._groups.values())
        found: dict[str, dict[str, str]] = {label: {} for label in labels if label}
        return message("GetAvailableGPUTypesResponse", gpuTypes=found)


def _described(group: NodeGroup) -> dict[str, object]:
    return {
        "id": group.id,
        "minSize": group.minimum,
        "maxSize": group.maximum,
        "debug": f"hostler fleet {group.id}",
    }


def _instance(instance: Instance) -> dict[str, object]:
    status: dict[str, object] = {"instanceState": instance.state.value}
    if (trouble := instance.trouble) is not None:
        status["errorInfo"] = {
            "errorCode": trouble.code,
            "errorMessage": trouble.text,
            "instanceErrorClass": trouble.kind,
        }
    return {"id": instance.id, "status": status}


def _answering(name: str, answer: Answer) -> Callable[[Stream[Message, Message]], Awaitable[None]]:
    """Return what receives one call and answers it."""

    async def call(stream: Stream[Message, Message]) -> None:
        try:
            request = await stream.recv_message()
        except DecodeError as error:
            raise GRPCError(Status.INVALID_ARGUMENT, f"no message of {name}") from error
        if request is None:
            raise GRPCError(Status.INVALID_ARGUMENT, "no message was sent")
        try:
            reply = await answer(request)
        except GRPCError as error:
            if error.status is not Status.UNIMPLEMENTED:
                log.warning("refused", call=name, why=error.message)
            raise
        await stream.send_message(reply)

    return call
