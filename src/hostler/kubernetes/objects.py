"""Objects as this client reads and writes them: slim metadata, and what the caller names.

Everything that is not declared here is dropped while decoding, managedFields above all.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

S = TypeVar("S")
T = TypeVar("T")


class Owner(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One entry of `ownerReferences`."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An object's metadata; `resource_version` is compared for equality and for nothing else."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[Owner, ...] | None = None


class HasMetadata(Protocol):
    """What every model of a kind has; the others of its fields are its own."""

    @property
    def metadata(self) -> Metadata:
        """Return who the object is, and in which version."""
        ...


M = TypeVar("M", bound=HasMetadata)
M_co = TypeVar("M_co", bound=HasMetadata, covariant=True)


class Object(
    msgspec.Struct, Generic[S, T], frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """An object with a spec and a status, each of the type that the caller names."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata
    spec: S | None = None
    status: T | None = None


class Key(Struct, frozen=True, order=True):
    """An object's namespace, empty for kinds of the whole cluster, and its name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Return it as kubectl's messages do."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(item: HasMetadata) -> Key:
    """Return an object's key."""
    return Key(item.metadata.namespace, item.metadata.name)


def micro_time(time: datetime) -> str:
    """Return a date as Kubernetes' MicroTime: in UTC, with exactly six digits of the second.

    The server refuses any other number of digits, and Python leaves them out when they are zero.
    """
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{time.microsecond:06d}Z"


class Listing(Struct, Generic[M_co], frozen=True):
    """All objects of a selection, in the one version that a watch goes on from."""

    items: tuple[M_co, ...]
    version: str
