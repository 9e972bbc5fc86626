"""Former macs: what an older Cluster API provider for Macs left in a cluster, as it is read. Pure.

What is in its objects is anybody's: what is no text where a text should be counts as missing.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from hostler.frontends.kubernetes.clusterapi.names import INFRASTRUCTURE, VERSION
from hostler.kubernetes.objects import Metadata
from hostler.kubernetes.resources import Resource

KIND = "ScalewayAppleSiliconMachine"


class Old(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object of the older provider; what is in it is read as it is needed."""

    metadata: Metadata
    spec: object = None
    status: object = None

    def text(self, key: str) -> str:
        """Return a text of its spec; empty where there is none."""
        return text_of(self.spec, key)

    @property
    def server(self) -> str:
        """The host that its status names."""
        return text_of(self.status, "serverID")

    @property
    def made(self) -> "Old":
        """What a template makes, as an object of its own."""
        return Old(metadata=self.metadata, spec=value_of(value_of(self.spec, "template"), "spec"))


class Former(Struct, frozen=True, kw_only=True):
    """What the older provider left in a namespace."""

    machines: Sequence[Old] = ()
    templates: Sequence[Old] = ()
    clusters: Sequence[Old] = ()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.machines or self.templates or self.clusters)


def value_of(of: object, key: str) -> object:
    """Return what a mapping has under a key; None for anything else."""
    return cast("Mapping[str, object]", of).get(key) if isinstance(of, Mapping) else None


def text_of(of: object, key: str) -> str:
    """Return a text; empty where there is none."""
    value = value_of(of, key)
    return value if isinstance(value, str) else ""


def number_of(of: object, key: str) -> int:
    """Return a whole number above zero; 0 where there is none."""
    value = value_of(of, key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _resource(plural: str, kind: str) -> Resource[Old]:
    return Resource(group=INFRASTRUCTURE, version=VERSION, plural=plural, kind=kind, model=Old)


MACHINES = _resource("scalewayapplesiliconmachines", KIND)
TEMPLATES = _resource("scalewayapplesiliconmachinetemplates", f"{KIND}Template")
CLUSTERS = (
    _resource("scalewayapplesiliconclusters", "ScalewayAppleSiliconCluster"),
    _resource("tuistclusters", "TuistCluster"),
)
"""The cluster's stub, under its first name and under its later one."""
