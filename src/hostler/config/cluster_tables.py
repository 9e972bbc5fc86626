"""Cluster tables: what the fleet file says of objects of a cluster that an engine runs.

Whoever may write a Host asks for what the engine does with rights of its own. So what would lend
those rights out is listed here, by who installs hostler, and never by who writes the object.
"""

from typing import Annotated

from msgspec import Meta, Struct

Text = Annotated[str, Meta(min_length=1)]
Image = Annotated[
    str,
    Meta(
        pattern=r"^[^*\s]*[^*\s]$|^[^*\s]*[/:@]\*$",
        extra={"expected": "an image, or a beginning that ends with /*, :* or @*"},
    ),
]
Address = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^/?#@\s]+$",
        extra={"expected": "http:// or https://, a host, and perhaps a port"},
    ),
]


class AllowTable(Struct, frozen=True, kw_only=True):
    """What objects of the cluster may ask for; what is left out they may not."""

    images: Annotated[
        tuple[Image, ...],
        Meta(
            description="the images that Jobs run: whole names, or beginnings such as "
            "registry.example/power/*; the chart adds its own"
        ),
    ] = ()
    service_accounts: Annotated[
        tuple[Text, ...], Meta(description="the service accounts that Jobs may have")
    ] = ()
    secrets: Annotated[
        tuple[Text, ...], Meta(description="the Secrets that Jobs may be given")
    ] = ()
    namespaces: Annotated[
        tuple[Text, ...],
        Meta(description="the namespaces in which Jobs may be made, besides the usual one"),
    ] = ()
    host_network: Annotated[
        bool, Meta(description="whether Jobs may be in the network of their node")
    ] = False
    privileged: Annotated[
        bool,
        Meta(
            description="whether the security context of Jobs may say more than that a container "
            "has fewer rights than usual"
        ),
    ] = False
    labels: Annotated[
        tuple[Text, ...],
        Meta(
            description="labels of Kubernetes and of hostler themselves that Nodes may be given, "
            "such as node-role.kubernetes.io/worker; all others may be"
        ),
    ] = ()
    webhooks: Annotated[
        tuple[Address, ...],
        Meta(
            description="the devices to which the method `webhook` may speak, such as "
            "http://plugs.lan: it sends any request that an object names"
        ),
    ] = ()
    fleets: Annotated[
        tuple[Text, ...],
        Meta(
            description="the fleets of this file of which the HostlerMachines of every namespace "
            "that is read may ask for machines, and not those of the home namespace alone"
        ),
    ] = ()
    nodes: Annotated[
        tuple[Text, ...],
        Meta(
            description="the namespaces, besides the home namespace, whose Fleets may have "
            "`node.managed`: Nodes belong to the whole cluster"
        ),
    ] = ()


class KubernetesTable(Struct, frozen=True, kw_only=True):
    """How objects of a cluster are run, with `hostler run --kubernetes`."""

    allow: AllowTable = AllowTable()
