"""What the tests of our kinds share: the kinds installed, and objects of them written."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from hostler.app.clock import SystemClock
from hostler.app.provider_registry import KINDS
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.frontends.kubernetes.install import Change, install, wait_established
from hostler.kubernetes.client import Client
from hostler.kubernetes.objects import Metadata, Object
from hostler.kubernetes.resources import Resource

Free = Mapping[str, object]
Thing = Object[Free, Free]


def a_kind(plural: str, kind: str) -> Resource[Thing]:
    return Resource(group="hostler.dev", version="v1alpha1", plural=plural, kind=kind, model=Thing)


FLEETS = a_kind("fleets", "Fleet")
PROVIDERS = a_kind("providers", "Provider")
HOSTS = a_kind("hosts", "Host")
NAMESPACES = Resource(
    group="", version="v1", plural="namespaces", kind="Namespace", model=Thing, namespaced=False
)


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret."""

    metadata: Metadata
    data: dict[str, str] = {}


SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret", model=Keys)


async def installed(client: Client) -> Mapping[str, Change]:
    """Install our kinds, and return what became of each."""
    changes = {one.name: one.change async for one in install(client, manifests(KINDS))}
    await wait_established(client, SystemClock(), changes, timedelta(seconds=60))
    return changes


def a_thing(resource: Resource[Any], name: str, namespace: str, **spec: object) -> Thing:
    return Thing(
        api_version=resource.api_version,
        kind=resource.kind,
        metadata=Metadata(name=name, namespace=namespace),
        spec=spec,
    )


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 300) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.1)


def wait_until(holds: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until something holds, in real time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)
