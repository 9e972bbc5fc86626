"""Importing: what other programs had in a cluster, written as objects of ours, or displayed."""

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
from hostler.frontends.kubernetes.clusterapi.names import INFRASTRUCTURE, VERSION
from hostler.frontends.kubernetes.connecting import Connected, Target, connected
from hostler.frontends.kubernetes.fleets.following import KINDS
from hostler.frontends.kubernetes.importing import former_macs, homelab
from hostler.frontends.kubernetes.importing.applesilicon import MacImporter
from hostler.frontends.kubernetes.importing.former_macs import Former
from hostler.frontends.kubernetes.importing.homelab import Imported, Importer
from hostler.frontends.kubernetes.objects.models import Written
from hostler.kubernetes.errors import AlreadyExists, Forbidden, Invalid, KindNotServed
from hostler.kubernetes.objects import M, key_of
from hostler.kubernetes.requests import Selection
from hostler.kubernetes.resources import Resource

_OURS: Mapping[str, Resource[Written]] = {
    **KINDS,
    **{
        kind: Resource(
            group=INFRASTRUCTURE,
            version=VERSION,
            plural=f"{kind.lower()}s",
            kind=kind,
            model=Written,
        )
        for kind in ("HostlerCluster", "HostlerMachineTemplate", "HostlerMachine")
    },
}
_ORDER = (
    "Provider",
    "Host",
    "Fleet",
    "HostlerCluster",
    "HostlerMachineTemplate",
    "HostlerMachine",
)


async def import_objects(
    target: Target, provider: str | None, screen: Screen, *, dry_run: bool
) -> int:
    """Write objects for what is found; what is there already is left alone. Return the code.

    One that the cluster refuses, as it does a name that is too long, keeps no other from it.
    """
    async with connected(target, os.environ, SystemClock()) as cluster:
        found = await _found(cluster, provider)
        ordered = sorted(found.objects, key=lambda one: _ORDER.index(one.kind))
        for remark in found.remarks:
            screen.note(f"look at {remark}")
        if dry_run:
            return _displayed(ordered, screen)
        done = {f"{one.kind}/{one.metadata.name}": await _write(cluster, one) for one in ordered}
    left = {**found.left, **{name: why for name, why in done.items() if why not in _FINE}}
    for name, how in done.items():
        screen.note(f"{name}: {how}")
    value = {
        "imported": {name: how == _CREATED for name, how in done.items()},
        "left": left,
        "remarks": list(found.remarks),
    }
    screen.show("imported; fleets are paused until spec.paused is false", value)
    return int(Exit.OK)


async def _found(cluster: Connected, provider: str | None) -> Imported:
    """Return what becomes of all that other programs left in the namespace."""
    groups = await _listed(cluster, homelab.GROUPS)
    nodes = await _listed(cluster, homelab.NODES)
    stubs = [await _listed(cluster, resource) for resource in former_macs.CLUSTERS]
    former = Former(
        machines=await _listed(cluster, former_macs.MACHINES),
        templates=await _listed(cluster, former_macs.TEMPLATES),
        clusters=[stub for found in stubs for stub in found],
    )
    if not (groups or nodes or former):
        raise HostlerError(
            f"there is no Group and no Node of {homelab.GROUPS.group}, and no {former_macs.KIND}, "
            f"to be imported from namespace {cluster.namespace}"
        )
    macs = MacImporter(namespace=cluster.namespace, provider=provider or "macs").imported(former)
    if not (groups or nodes):
        return macs
    boxes = await _homelab(cluster, provider or "homelab", groups, nodes)
    if not former:
        return boxes
    return Imported(
        objects=(*boxes.objects, *macs.objects),
        remarks=(*boxes.remarks, *macs.remarks),
        left={**boxes.left, **macs.left},
    )


async def _homelab(
    cluster: Connected,
    provider: str,
    groups: tuple[homelab.OldGroup, ...],
    nodes: tuple[homelab.OldNode, ...],
) -> Imported:
    importer = Importer(namespace=cluster.namespace, provider=provider)
    addresses = dict[str, str]()
    try:
        known = (await cluster.client.list_all(homelab.CLUSTER_NODES)).items
        addresses = {one.metadata.name: one.address for one in known}
    except Forbidden as error:
        importer.remarks.append(f"the addresses of Nodes, which cannot be read: {error}")
    return importer.imported(groups, nodes, addresses)


async def _listed(cluster: Connected, resource: Resource[M]) -> tuple[M, ...]:
    """Return the objects of a kind; none where the cluster does not know the kind."""
    try:
        selection = Selection(namespace=cluster.namespace)
        return tuple((await cluster.client.list_all(resource, selection)).items)
    except KindNotServed:
        return ()


_CREATED, _THERE = "created", "there already, and left as it is"
_FINE = frozenset({_CREATED, _THERE})
_OTHER_HOST = "there already, with another providerID: which host it has is for a person to say"


async def _write(cluster: Connected, one: Written) -> str:
    resource = _OURS[one.kind]
    try:
        await cluster.client.create(resource, one)
    except AlreadyExists:
        there = await cluster.client.get(resource, key_of(one))
        same = there.wanted.get("providerID") == one.wanted.get("providerID")
        return _THERE if same else _OTHER_HOST
    except Invalid as error:
        return f"refused by the cluster: {error}"
    return _CREATED


def _displayed(objects: list[Written], screen: Screen) -> int:
    documents = [cast("Mapping[str, object]", msgspec.to_builtins(one)) for one in objects]
    if screen.json:
        screen.line({"apiVersion": "v1", "kind": "List", "items": documents})
    else:
        sys.stdout.write(yaml.safe_dump_all(documents, sort_keys=False))
    return int(Exit.OK)
