"""Importing: what another program had in a cluster, written as objects of ours, or displayed."""

import os
import sys
from collections.abc import Mapping
from typing import cast

import msgspec
import yaml

from hostler.app.clock import SystemClock
from hostler.domain.errors import HostlerError
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.kubernetes.connecting import Connected, Target, connected
from hostler.frontends.kubernetes.fleets.following import KINDS
from hostler.frontends.kubernetes.importing.homelab import (
    CLUSTER_NODES,
    GROUPS,
    NODES,
    Imported,
    Importer,
)
from hostler.frontends.kubernetes.objects.models import Written
from hostler.kubernetes.errors import AlreadyExists, Forbidden
from hostler.kubernetes.requests import Selection

_ORDER = ("Provider", "Host", "Fleet")


async def import_homelab(target: Target, provider: str, screen: Screen, *, dry_run: bool) -> int:
    """Write objects for what is found; what is there already is left alone. Return the code."""
    async with connected(target, os.environ, SystemClock()) as cluster:
        found = await _found(cluster, provider)
        ordered = sorted(found.objects, key=lambda one: _ORDER.index(one.kind))
        for remark in found.remarks:
            screen.note(f"look at {remark}")
        if dry_run:
            return _displayed(ordered, screen)
        done = {f"{one.kind}/{one.metadata.name}": await _write(cluster, one) for one in ordered}
    for name, made in done.items():
        screen.note(f"{name}: {'created' if made else 'there already, and left as it is'}")
    text = "imported; fleets are paused until spec.paused is false"
    screen.show(text, {"imported": done, "remarks": list(found.remarks)})
    return int(Exit.OK)


async def _found(cluster: Connected, provider: str) -> Imported:
    client, selection = cluster.client, Selection(namespace=cluster.namespace)
    groups = (await client.list_all(GROUPS, selection)).items
    nodes = (await client.list_all(NODES, selection)).items
    if not groups and not nodes:
        raise HostlerError(f"there is no Group and no Node of {GROUPS.group} to be imported")
    importer = Importer(namespace=cluster.namespace, provider=provider)
    addresses = dict[str, str]()
    try:
        known = (await client.list_all(CLUSTER_NODES)).items
        addresses = {one.metadata.name: one.address for one in known}
    except Forbidden as error:
        importer.remarks.append(f"the addresses of Nodes, which cannot be read: {error}")
    return importer.imported(groups, nodes, addresses)


async def _write(cluster: Connected, one: Written) -> bool:
    try:
        await cluster.client.create(KINDS[one.kind], one)
    except AlreadyExists:
        return False
    return True


def _displayed(objects: list[Written], screen: Screen) -> int:
    documents = [cast("Mapping[str, object]", msgspec.to_builtins(one)) for one in objects]
    if screen.json:
        screen.line({"apiVersion": "v1", "kind": "List", "items": documents})
    else:
        sys.stdout.write(yaml.safe_dump_all(documents, sort_keys=False))
    return int(Exit.OK)
