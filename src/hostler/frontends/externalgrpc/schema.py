"""Schema: externalgrpc's messages, as both generations of Cluster Autoscaler send and read them.

From kubernetes/autoscaler, cluster-autoscaler/cloudprovider/externalgrpc/protos. Until 1.34.1 there
were fields of Kubernetes' own messages; later versions have plain bytes, timestamps and durations,
under further numbers. Here both stand side by side: an embedded message and its bytes are the same
on the wire.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from google.protobuf import any_pb2, duration_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

PACKAGE = "clusterautoscaler.cloudprovider.v1.externalgrpc"
SERVICE = f"{PACKAGE}.CloudProvider"

_TIMES = {"Time": "1 seconds int64, 2 nanos int32", "Nanoseconds": "1 duration int64"}
"""What Kubernetes calls Time, and its Duration."""

_OPTIONS = (
    "1 scaleDownUtilizationThreshold double, 2 scaleDownGpuUtilizationThreshold double, "
    "3 scaleDownUnneededTime Nanoseconds, 4 scaleDownUnreadyTime Nanoseconds, "
    "5 maxNodeProvisionTime Nanoseconds, "
    "6 zeroOrMaxNodeScaling bool, 7 ignoreDaemonSetsUtilization bool, "
    "8 scaleDownUnneededDuration Duration, 9 scaleDownUnreadyDuration Duration, "
    "10 MaxNodeProvisionDuration Duration"
)

MESSAGES: Mapping[str, str] = {
    **_TIMES,
    "NodeGroup": "1 id string, 2 minSize int32, 3 maxSize int32, 4 debug string",
    "ExternalGrpcNode": ("1 providerID string, 2 name string, 3 labels map, 4 annotations map"),
    "InstanceErrorInfo": "1 errorCode string, 2 errorMessage string, 3 instanceErrorClass int32",
    "InstanceStatus": "1 instanceState InstanceState, 2 errorInfo InstanceErrorInfo",
    "Instance": "1 id string, 2 status InstanceStatus",
    "NodeGroupAutoscalingOptions": _OPTIONS,
    "NodeGroupsRequest": "",
    "NodeGroupsResponse": "1 nodeGroups NodeGroup*",
    "NodeGroupForNodeRequest": "1 node ExternalGrpcNode",
    "NodeGroupForNodeResponse": "1 nodeGroup NodeGroup",
    "PricingNodePriceRequest": (
        "1 node ExternalGrpcNode, 2 startTime Time, 3 endTime Time, 4 startTimestamp Timestamp, "
        "5 endTimestamp Timestamp"
    ),
    "PricingNodePriceResponse": "1 price double",
    "PricingPodPriceRequest": (
        "1 pod Pod, 2 startTime Time, 3 endTime Time, 4 pod_bytes bytes, "
        "5 startTimestamp Timestamp, 6 endTimestamp Timestamp"
    ),
    "PricingPodPriceResponse": "1 price double",
    "GPULabelRequest": "",
    "GPULabelResponse": "1 label string",
    "GetAvailableGPUTypesRequest": "",
    "GetAvailableGPUTypesResponse": "1 gpuTypes anys",
    "CleanupRequest": "",
    "CleanupResponse": "",
    "RefreshRequest": "",
    "RefreshResponse": "",
    "NodeGroupTargetSizeRequest": "1 id string",
    "NodeGroupTargetSizeResponse": "1 targetSize int32",
    "NodeGroupIncreaseSizeRequest": "1 delta int32, 2 id string",
    "NodeGroupIncreaseSizeResponse": "",
    "NodeGroupDeleteNodesRequest": "1 nodes ExternalGrpcNode*, 2 id string",
    "NodeGroupDeleteNodesResponse": "",
    "NodeGroupDecreaseTargetSizeRequest": "1 delta int32, 2 id string",
    "NodeGroupDecreaseTargetSizeResponse": "",
    "NodeGroupNodesRequest": "1 id string",
    "NodeGroupNodesResponse": "1 instances Instance*",
    "NodeGroupTemplateNodeInfoRequest": "1 id string",
    "NodeGroupTemplateNodeInfoResponse": "1 nodeInfo bytes, 2 nodeBytes bytes",
    "NodeGroupAutoscalingOptionsRequest": "1 id string, 2 defaults NodeGroupAutoscalingOptions",
    "NodeGroupAutoscalingOptionsResponse": (
        "1 nodeGroupAutoscalingOptions NodeGroupAutoscalingOptions"
    ),
    # what is needed of Kubernetes' own: a node to write, a pod's requests to read
    "Quantity": "1 string string",
    "ObjectMeta": "1 name string, 8 creationTimestamp Time, 11 labels map, 12 annotations map",
    "Taint": "1 key string, 2 value string, 3 effect string",
    "NodeSpec": "3 providerID string, 5 taints Taint*",
    "NodeCondition": (
        "1 type string, 2 status string, 3 lastHeartbeatTime Time, 4 lastTransitionTime Time, "
        "5 reason string"
    ),
    "NodeStatus": "1 capacity quantities, 2 allocatable quantities, 4 conditions NodeCondition*",
    "Node": "1 metadata ObjectMeta, 2 spec NodeSpec, 3 status NodeStatus",
    "ResourceRequirements": "1 limits quantities, 2 requests quantities",
    "Container": "1 name string, 8 resources ResourceRequirements",
    "PodSpec": "2 containers Container*, 20 initContainers Container*",
    "Pod": "1 metadata ObjectMeta, 2 spec PodSpec",
}
"""Each message's fields: number, name and type; `*` is repeated, `map` is of strings to strings."""

METHODS: Mapping[str, str] = {
    name: name
    for name in (
        "NodeGroups",
        "NodeGroupForNode",
        "PricingNodePrice",
        "PricingPodPrice",
        "GPULabel",
        "GetAvailableGPUTypes",
        "Cleanup",
        "Refresh",
        "NodeGroupTargetSize",
        "NodeGroupIncreaseSize",
        "NodeGroupDeleteNodes",
        "NodeGroupDecreaseTargetSize",
        "NodeGroupNodes",
        "NodeGroupTemplateNodeInfo",
    )
} | {"NodeGroupGetOptions": "NodeGroupAutoscalingOptions"}
"""The calls, and what the names of their messages begin with."""

STATES = {
    "unspecified": 0,
    "instanceRunning": 1,
    "instanceCreating": 2,
    "instanceDeleting": 3,
}

_F = FieldDescriptorProto
_SCALARS = {
    "string": _F.TYPE_STRING,
    "bytes": _F.TYPE_BYTES,
    "int32": _F.TYPE_INT32,
    "int64": _F.TYPE_INT64,
    "double": _F.TYPE_DOUBLE,
    "bool": _F.TYPE_BOOL,
}
_KNOWN = {
    "Duration": "google.protobuf.Duration",
    "Timestamp": "google.protobuf.Timestamp",
    "Any": "google.protobuf.Any",
}
_MAPS = {"map": "string", "quantities": "Quantity", "anys": "Any"}


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(
        name="externalgrpc.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[
            "google/protobuf/any.proto",
            "google/protobuf/duration.proto",
            "google/protobuf/timestamp.proto",
        ],
    )
    states = EnumDescriptorProto(name="InstanceState")
    for name, number in STATES.items():
        states.value.add(name=name, number=number)
    file.enum_type.append(states)
    for name, fields in MESSAGES.items():
        file.message_type.append(_message(name, fields))
    service = file.service.add(name="CloudProvider")
    for method, words in METHODS.items():
        service.method.add(
            name=method,
            input_type=f".{PACKAGE}.{words}Request",
            output_type=f".{PACKAGE}.{words}Response",
        )
    return file


def _message(name: str, fields: str) -> DescriptorProto:
    message = DescriptorProto(name=name)
    for number, field, kind in _fields(fields):
        if kind in _MAPS:
            entry = message.nested_type.add(name=f"{field.capitalize()}Entry")
            entry.options.map_entry = True
            entry.field.append(_field(1, "key", "string"))
            entry.field.append(_field(2, "value", _MAPS[kind]))
            whole = _field(number, field, "string")
            whole.type, whole.label = _F.TYPE_MESSAGE, _F.LABEL_REPEATED
            whole.type_name = f".{PACKAGE}.{name}.{entry.name}"
            message.field.append(whole)
        else:
            message.field.append(_field(number, field, kind))
    return message


def _fields(fields: str) -> Iterator[tuple[int, str, str]]:
    for words in filter(None, fields.split(", ")):
        number, field, kind = words.split()
        yield int(number), field, kind


def _field(number: int, name: str, kind: str) -> FieldDescriptorProto:
    bare = kind.removesuffix("*")
    field = _F(
        name=name,
        number=number,
        label=_F.LABEL_OPTIONAL if bare == kind else _F.LABEL_REPEATED,
    )
    if bare in _SCALARS:
        field.type = _SCALARS[bare]
    elif bare == "InstanceState":
        field.type, field.type_name = _F.TYPE_ENUM, f".{PACKAGE}.{bare}"
    else:
        field.type, field.type_name = _F.TYPE_MESSAGE, f".{_KNOWN.get(bare, f'{PACKAGE}.{bare}')}"
    return field


def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    for known in (any_pb2, duration_pb2, timestamp_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(_file().SerializeToString())
    return pool


POOL = _pool()
"""What reflection describes."""

_CLASSES: dict[str, type[Message]] = {
    name: GetMessageClass(POOL.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES
}


def message(name: str, /, **fields: object) -> Message:
    """Return a message with these fields; messages within are given as dicts."""
    return _CLASSES[name](**fields)


def read(name: str, content: bytes) -> Message:
    """Return the message that these bytes hold; google.protobuf's DecodeError where none."""
    found = _CLASSES[name]()
    found.ParseFromString(content)
    return found


def class_of(name: str) -> type[Message]:
    """Return the class of a message."""
    return _CLASSES[name]


def field(message: Message, name: str) -> object:
    """Return a field's value: classes that are made at run time have no types to check."""
    return getattr(message, name)


def text(message: Message, name: str) -> str:
    """Return a field that is a text."""
    return str(field(message, name))


def number(message: Message, name: str) -> int:
    """Return a field that is a whole number."""
    return cast("int", field(message, name))


def inner(message: Message, name: str) -> Message:
    """Return a message within; an empty one where it was not sent."""
    return cast("Message", field(message, name))


def many(message: Message, name: str) -> Sequence[Message]:
    """Return the messages of a field that is repeated."""
    return cast("Sequence[Message]", field(message, name))
