"""Importing: objects are written one by one, and one that is refused keeps no other from it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest

from hostler.app.kubernetes import importing
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.kubernetes.connecting import Connected, Target
from hostler.frontends.kubernetes.importing.homelab import GROUPS, NODES
from hostler.frontends.kubernetes.objects.models import Written
from hostler.kubernetes.errors import AlreadyExists, Invalid, KindNotServed
from hostler.kubernetes.objects import Key, Listing, M, key_of
from hostler.kubernetes.requests import EVERYTHING, Selection
from hostler.kubernetes.resources import Resource

LONG = "g" * 41


def _old(model: type[M], name: str) -> M:
    metadata = {"name": name, "namespace": "home", "labels": {"group": LONG}}
    return msgspec.convert({"metadata": metadata}, type=model)


@dataclass
class Cluster:
    """Has two Groups and a Node of the older autoscaler; names are judged as a server does it."""

    written: dict[tuple[str, Key], Written] = field(default_factory=dict[tuple[str, Key], Written])

    async def list_all(
        self, resource: Resource[M], selection: Selection = EVERYTHING
    ) -> Listing[M]:
        del selection
        names = {GROUPS.full_name: (LONG, "small"), NODES.full_name: ("box",), "nodes": ()}
        if resource.full_name not in names:
            raise KindNotServed("no such kind")
        found = tuple(_old(resource.model, name) for name in names[resource.full_name])
        return Listing(found, "1")

    async def create(self, resource: Resource[Written], item: Written) -> Written:
        if resource.kind == "Fleet" and len(item.metadata.name) > 40:
            raise Invalid("create fleets: expected a name of at most 40")
        if (resource.kind, key_of(item)) in self.written:
            raise AlreadyExists("there")
        self.written[resource.kind, key_of(item)] = item
        return item

    async def get(self, resource: Resource[Written], key: Key) -> Written:
        return self.written[resource.kind, key]


async def test_an_object_that_is_refused_keeps_no_other_from_being_written(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    cluster = Cluster()

    @asynccontextmanager
    async def connected(*_: object) -> AsyncGenerator[Connected]:
        yield Connected(client=cluster, namespace="home", origin="a test")  # pyright: ignore[reportArgumentType] - what an import needs of it

    monkeypatch.setattr(importing, "connected", connected)
    for first in (True, False):
        assert await importing.import_objects(Target(), None, Screen(json=True), dry_run=False) == 0
        value = json.loads(capfdbinary.readouterr().out)
        done = {"Provider/homelab": first, "Host/box": first, "Fleet/small": first}
        assert value["imported"] == {**done, f"Fleet/{LONG}": False}
        assert list(value["left"]) == [f"Fleet/{LONG}"]
        assert "at most 40" in value["left"][f"Fleet/{LONG}"]
