"""Manifests: every kind that hostler installs into a cluster, in one list. Pure."""

from collections.abc import Mapping

from hostler.frontends.kubernetes.clusterapi.definitions import definitions as of_cluster_api
from hostler.stores.kubernetes.definitions import definitions as of_the_store

from .custom import CustomKind
from .fleet import fleet_kind
from .host import host_kind
from .provider import provider_kind
from .sections import Kinds

Manifest = Mapping[str, object]


def custom_kinds(kinds: Kinds) -> tuple[CustomKind, ...]:
    """Return the kinds that people write, with the sections of these kinds of provider."""
    return fleet_kind(kinds), provider_kind(kinds), host_kind(kinds)


def manifests(kinds: Kinds) -> tuple[Manifest, ...]:
    """Return the definition of every kind, as it is applied; other parts add theirs here."""
    ours = (kind.manifest() for kind in custom_kinds(kinds))
    return (*ours, *of_cluster_api(), *of_the_store())
