"""Options: how Cluster Autoscaler treats one group, where the file says so.

Its values are used as they are, and 0 means 0: so an answer has every one of them, beginning with
those that the request says are the defaults, in both generations' fields. The older one counts
nanoseconds: what is longer than they can say is as long as they can.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

import msgspec
from google.protobuf.message import Message

from hostler.config.node_tables import OptionsTable

from .schema import field, inner, message, number

_TIMES: Mapping[str, tuple[str, str]] = {
    "scale_down_unneeded": ("scaleDownUnneededDuration", "scaleDownUnneededTime"),
    "scale_down_unready": ("scaleDownUnreadyDuration", "scaleDownUnreadyTime"),
    "max_node_provision": ("MaxNodeProvisionDuration", "maxNodeProvisionTime"),
}
_PLAIN: Mapping[str, str] = {
    "scale_down_utilization_threshold": "scaleDownUtilizationThreshold",
    "scale_down_gpu_utilization_threshold": "scaleDownGpuUtilizationThreshold",
    "zero_or_max": "zeroOrMaxNodeScaling",
    "ignore_daemon_sets": "ignoreDaemonSetsUtilization",
}
_NANOSECOND = 1_000_000_000
_LONGEST = (1 << 63) - 1


def options(table: OptionsTable | None, defaults: Message) -> Message | None:
    """Return the options of a group; None where the file sets none."""
    asked = msgspec.structs.asdict(table) if table is not None else {}
    if all(value is None for value in asked.values()):
        return None
    found = dict[str, object]()
    for key, name in _PLAIN.items():
        found[name] = field(defaults, name) if asked[key] is None else asked[key]
    for key, (newer, older) in _TIMES.items():
        time = asked[key]
        whole = _nanoseconds(time) if time is not None else _default(defaults, newer, older)
        found[newer] = {"seconds": whole // _NANOSECOND, "nanos": whole % _NANOSECOND}
        found[older] = {"duration": max(-_LONGEST - 1, min(whole, _LONGEST))}
    return message("NodeGroupAutoscalingOptions", **found)


def _nanoseconds(time: object) -> int:
    return cast("timedelta", time) // timedelta(microseconds=1) * 1000


def _default(defaults: Message, newer: str, older: str) -> int:
    """Return a time of the defaults, in nanoseconds, whichever generation sent it."""
    if defaults.HasField(newer):
        time = inner(defaults, newer)
        return number(time, "seconds") * _NANOSECOND + number(time, "nanos")
    return number(inner(defaults, older), "duration")
