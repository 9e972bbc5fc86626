"""Install: our definitions applied to a cluster, and waited for until it serves them."""

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import cast

import msgspec
from msgspec import Struct

from hostler.domain.errors import HostlerError
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import NotFound
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.resources import Resource
from hostler.ports.clock import Clock

from .definitions.custom import DIGEST
from .definitions.manifests import Manifest

MANAGER = "hostler"
_POLL = timedelta(milliseconds=200)


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of a definition."""

    type: str = ""
    status: str = ""
    message: str = ""


class DefinitionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster says of a definition; conditions are null at first."""

    conditions: tuple[Condition, ...] | None = None


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A CustomResourceDefinition."""

    metadata: Metadata
    spec: Mapping[str, object] | None = None
    status: DefinitionStatus | None = None

    @property
    def problem(self) -> str:
        """Return what the cluster has against it; empty where nothing."""
        found = (one.message for one in self._conditions if _is_refused(one))
        return next(found, "")

    @property
    def is_established(self) -> bool:
        """Whether the cluster serves it."""
        return any(one.type == "Established" and one.status == "True" for one in self._conditions)

    @property
    def digest(self) -> str:
        """Return which version of the definition this is; empty for one that is not ours."""
        return (self.metadata.annotations or {}).get(DIGEST, "")

    @property
    def _conditions(self) -> tuple[Condition, ...]:
        return (self.status.conditions if self.status is not None else None) or ()


DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    model=Definition,
    namespaced=False,
)


def _is_refused(one: Condition) -> bool:
    return (one.type == "NamesAccepted" and one.status == "False") or (
        one.type == "NonStructuralSchema" and one.status == "True"
    )


class Change(StrEnum):
    """What became of a definition."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class Installed(Struct, frozen=True, kw_only=True):
    """One definition, and what became of it, or would."""

    name: str
    change: Change


def definition_of(manifest: Manifest) -> Definition:
    """Return a manifest as an object to be applied."""
    return msgspec.convert({key: manifest[key] for key in ("metadata", "spec")}, type=Definition)


async def install(
    client: Client, manifests: Iterable[Manifest], *, dry_run: bool = False
) -> AsyncIterator[Installed]:
    """Apply each definition, taking over fields that others own, and yield what became of it.

    Raises ApiError: Forbidden has the rule that would let us, Invalid what the cluster refuses.
    """
    for manifest in manifests:
        wanted = definition_of(manifest)
        key = Key("", wanted.metadata.name)
        try:
            before = await client.get(DEFINITIONS, key)
        except NotFound:
            before = None
        after = await client.apply(DEFINITIONS, wanted, force=True, dry_run=dry_run)
        yield Installed(name=key.name, change=_change(before, after))


def _change(before: Definition | None, after: Definition) -> Change:
    if before is None:
        return Change.CREATED
    return Change.UNCHANGED if before.spec == after.spec else Change.CHANGED


async def wait_established(
    client: Client, clock: Clock, names: Iterable[str], patience: timedelta
) -> None:
    """Wait until the cluster serves these definitions; HostlerError says which it does not."""
    end = clock.boot() + patience.total_seconds()
    for name in names:
        while not (found := await client.get(DEFINITIONS, Key("", name))).is_established:
            if found.problem:
                raise HostlerError(f"the cluster does not serve {name}: {found.problem}")
            if clock.boot() >= end:
                seconds = f"{patience.total_seconds():g} s"
                raise HostlerError(f"the cluster does not serve {name} after {seconds}")
            await clock.sleep(_POLL)


def as_list(manifests: Iterable[Manifest]) -> Mapping[str, object]:
    """Return manifests as the one object that `kubectl apply -f -` takes in JSON."""
    return cast(
        "Mapping[str, object]", {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    )
