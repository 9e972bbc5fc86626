"""Homelab: Groups and Nodes of the older homelab autoscaler as a Provider, Fleets and Hosts. Pure.

Nothing is switched by what comes of it: fleets begin paused, and what is on is to stay on until
somebody takes that out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from math import isfinite, nan

import msgspec
from msgspec import Struct, field

from hostler.config.units import parse_duration
from hostler.frontends.kubernetes.definitions.custom import GROUP, VERSION
from hostler.frontends.kubernetes.objects.models import Fields, Written
from hostler.kubernetes.objects import Metadata
from hostler.kubernetes.resources import Resource

MEMBER = "group"
"""The label by which a Node belonged to its Group."""
KUBELET = 10250
SILENT = "5m"
"""How long a kubelet's port must be silent until its machine is held to be off."""


class _Foreign(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object of another program, of which we read what we know."""


class GroupSpec(_Foreign, frozen=True, kw_only=True):
    """What a Group told Cluster Autoscaler; numbers and times are texts."""

    scale_down_utilization_threshold: str = ""
    scale_down_gpu_utilization_threshold: str = ""
    scale_down_unneeded_time: str = ""
    scale_down_unready_time: str = ""
    max_node_provision_time: str = ""
    zero_or_max_node_scaling: bool | None = None
    ignore_daemon_sets_utilization: bool | None = None


class OldGroup(_Foreign, frozen=True, kw_only=True):
    """A Group."""

    metadata: Metadata
    spec: GroupSpec = GroupSpec()


class Volume(_Foreign, frozen=True, kw_only=True):
    """A folder of a power operation's container."""

    name: str = ""
    mount_path: str = ""
    secret_name: str = ""
    config_map_name: str = ""


class PodSpec(_Foreign, frozen=True, kw_only=True):
    """What switched a node on or off."""

    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = ()
    service_account: str = ""


class Pricing(_Foreign, frozen=True, kw_only=True):
    """What a node cost."""

    hourly_rate: str = ""


class NodeSpec(_Foreign, frozen=True, kw_only=True):
    """What a Node was to be; `power_state` was written as a word or as a truth."""

    power_state: str | bool = ""
    startup_pod_spec: PodSpec = PodSpec()
    shutdown_pod_spec: PodSpec = PodSpec()
    kubernetes_node_name: str = ""
    pricing: Pricing = Pricing()


class OldNode(_Foreign, frozen=True, kw_only=True):
    """A Node of that program, which stood for one machine."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()


class Address(_Foreign, frozen=True, kw_only=True):
    """One address of a Node of Kubernetes."""

    type: str = ""
    address: str = ""


class NodeStatus(_Foreign, frozen=True, kw_only=True):
    """What the kubelet says of a Node."""

    addresses: tuple[Address, ...] | None = None


class ClusterNode(_Foreign, frozen=True, kw_only=True):
    """A Node of Kubernetes itself."""

    metadata: Metadata
    status: NodeStatus | None = None

    @property
    def address(self) -> str:
        """Return where it is reached inside of the network; empty where it does not say."""
        known = (self.status.addresses if self.status is not None else None) or ()
        return next((one.address for one in known if one.type == "InternalIP"), "")


class Imported(Struct, frozen=True, kw_only=True):
    """The objects to be written, and what a person must look at before they are let loose.

    `left` is what was not taken over, each with the reason.
    """

    objects: tuple[Written, ...]
    remarks: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict[str, str])


class Importer(Struct, kw_only=True):
    """Makes objects of ours for one namespace, all of one Provider."""

    namespace: str
    provider: str
    remarks: list[str] = field(default_factory=list[str])

    def imported(
        self,
        groups: Sequence[OldGroup],
        nodes: Sequence[OldNode],
        addresses: Mapping[str, str],
    ) -> Imported:
        """Return a Provider, a Fleet for each Group, and a Host for each Node.

        `addresses` are those of the cluster's Nodes, by name.
        """
        known = {group.metadata.name for group in groups}
        found = [self._made("Provider", self.provider, {"kind": "power"})]
        found += [self._fleet(group, nodes) for group in groups]
        for node in nodes:
            if _group_of(node) not in known:
                self.remarks.append(f"{node.metadata.name}: its label {MEMBER} names no Group")
            found.append(self._host(node, addresses.get(node.spec.kubernetes_node_name, "")))
        return Imported(objects=tuple(found), remarks=tuple(self.remarks))

    def _made(self, kind: str, name: str, spec: Fields) -> Written:
        return Written(
            api_version=f"{GROUP}/{VERSION}",
            kind=kind,
            metadata=Metadata(name=name, namespace=self.namespace),
            spec=spec,
        )

    def _fleet(self, group: OldGroup, nodes: Iterable[OldNode]) -> Written:
        name, spec = group.metadata.name, group.spec
        times = {
            "scaleDownUnneeded": spec.scale_down_unneeded_time,
            "scaleDownUnready": spec.scale_down_unready_time,
            "maxNodeProvision": spec.max_node_provision_time,
        }
        shares = {
            "scaleDownUtilizationThreshold": spec.scale_down_utilization_threshold,
            "scaleDownGpuUtilizationThreshold": spec.scale_down_gpu_utilization_threshold,
        }
        options: dict[str, object] = {
            "zeroOrMax": spec.zero_or_max_node_scaling,
            "ignoreDaemonSets": spec.ignore_daemon_sets_utilization,
            **{key: self._time(name, key, text) for key, text in times.items()},
            **{key: self._number(name, key, text) for key, text in shares.items()},
        }
        chosen = {key: value for key, value in options.items() if value is not None}
        members = sum(_group_of(node) == name for node in nodes)
        return self._made(
            "Fleet",
            name,
            {
                "paused": True,
                "provider": self.provider,
                "renews": False,
                "size": 0,
                "maximum": members,
                "node": {"options": chosen},
                "power": {"types": [name]},
            },
        )

    def _host(self, node: OldNode, address: str) -> Written:
        name, spec = node.metadata.name, node.spec
        job: dict[str, object] = {"node": spec.kubernetes_node_name or name}
        for key, pod in (("on", spec.startup_pod_spec), ("off", spec.shutdown_pod_spec)):
            if pod.image:
                job[key] = self._template(name, pod)
        power: dict[str, object] = {"type": _group_of(node) or "box", "job": job}
        price = self._number(name, "pricing.hourlyRate", spec.pricing.hourly_rate)
        if price is not None:
            power["price"] = price
        if address:
            power["address"] = address
            reached = {"address": address, "port": KUBELET, "offAfter": SILENT}
            power["reachability"] = reached
        else:
            self.remarks.append(
                f"{name}: no address of it is known, so that nothing tells whether it is on: give "
                "it spec.power.reachability, or a method that can be asked"
            )
        is_on = spec.power_state in {"on", "true", True}
        wanted = {"desiredPowerState": "on"} if is_on else {}
        return self._made("Host", name, {"provider": self.provider, **wanted, "power": power})

    def _template(self, name: str, pod: PodSpec) -> Fields:
        for volume in pod.volumes:
            if volume.config_map_name:
                self.remarks.append(
                    f"{name}: the ConfigMap {volume.config_map_name} at {volume.mount_path} is not "
                    "carried over: Jobs of ours have Secrets only"
                )
        files = {one.mount_path: one.secret_name for one in pod.volumes if one.secret_name}
        fields: dict[str, object] = {
            "image": pod.image,
            "command": list(pod.command),
            "args": list(pod.args),
            "secretFiles": files,
            "serviceAccount": pod.service_account,
        }
        return {key: value for key, value in fields.items() if value}

    def _number(self, name: str, key: str, text: str) -> float | None:
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = nan
        if isfinite(number):
            return number
        self.remarks.append(f"{name}: {key} = {text!r} is no number, and is left out")
        return None

    def _time(self, name: str, key: str, text: str) -> str | None:
        if not text:
            return None
        try:
            time = parse_duration(text)
        except ValueError:
            self.remarks.append(f"{name}: {key} = {text!r} is no time, and is left out")
            return None
        return text if time > timedelta(0) else None


def _group_of(node: OldNode) -> str:
    return (node.metadata.labels or {}).get(MEMBER, "")


OLD = "infra.homecluster.dev"
GROUPS = Resource(group=OLD, version="v1alpha1", plural="groups", kind="Group", model=OldGroup)
NODES = Resource(group=OLD, version="v1alpha1", plural="nodes", kind="Node", model=OldNode)
CLUSTER_NODES = Resource(
    group="", version="v1", plural="nodes", kind="Node", model=ClusterNode, namespaced=False
)
