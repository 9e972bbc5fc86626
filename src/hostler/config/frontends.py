"""Frontends: the [frontend] tables of a fleet file, and what they need of its fleets."""

from collections.abc import Iterable, Mapping
from string import Formatter
from typing import cast

from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet
from hostler.ports.loopback import is_loopback

from .cluster_tables import AllowTable
from .decode import Raw, decode_table
from .errors import Faults, join
from .node_tables import ExternalGrpcTable, FrontendTable, NodeTable
from .values import ExternalGrpc, Listen, NodeGroup, Tls

HOLDERS = frozenset({"host", "machine", "zone", "address"})
"""What a providerID may be made of."""

_PLACE = "frontend.externalgrpc"


def listen_of(text: str, path: str, faults: Faults) -> Listen:
    """Return an address and a port that were decoded; a port beyond 65535 is a fault."""
    host, _, port = text.rpartition(":")
    if int(port) > 65535:
        faults.add(path, text, "a port of at most 65535")
    return Listen(host=host.strip("[]"), port=int(port))


def external_grpc(
    raw: object, fleets: Iterable[Fleet], nodes: Mapping[FleetName, NodeTable], faults: Faults
) -> ExternalGrpc | None:
    """Return where Cluster Autoscaler is served, and its node groups; None where it is not."""
    (decoded,) = decode_table(raw, (FrontendTable,), "frontend", faults)
    asked = cast("FrontendTable", decoded).externalgrpc if decoded is not None else None
    if asked is None:
        return None
    groups = [_group(fleet, nodes.get(fleet.name, NodeTable()), faults) for fleet in fleets]
    found = tuple(group for group in groups if group is not None)
    if not found:
        cure = "a fleet with `renews = false`: those are the node groups; there is none"
        faults.note(_PLACE, cure)
    listen = listen_of(asked.listen, f"{_PLACE}.listen", faults)
    if asked.tls is None and not asked.insecure and not is_loopback(listen.host):
        faults.add(
            f"{_PLACE}.listen",
            asked.listen,
            "an address of this computer alone, or `tls`, or `insecure = true`",
        )
    return ExternalGrpc(listen=listen, tls=_tls(asked), groups=found)


def allowed(raw: Raw) -> AllowTable:
    """Return what objects of a cluster may ask for; nothing where the file does not say it."""
    (decoded,) = decode_table(raw.get("frontend", {}), (FrontendTable,), "frontend", Faults())
    asked = cast("FrontendTable", decoded).kubernetes if decoded is not None else None
    return asked.allow if asked is not None else AllowTable()


def _tls(asked: ExternalGrpcTable) -> Tls | None:
    if asked.tls is None:
        return None
    files = asked.tls
    return Tls(certificate=files.certificate, key=files.key, client_ca=files.client_ca)


def _group(fleet: Fleet, table: NodeTable, faults: Faults) -> NodeGroup | None:
    """Return a fleet as a node group; None where it keeps its size by itself."""
    if fleet.renews:
        return None
    path = join("fleet", fleet.name)
    if fleet.maximum is None:
        faults.add(f"{path}.maximum", None, "the most nodes that may be asked for; it is missing")
        return None
    if table.minimum > fleet.maximum:
        faults.add(f"{path}.node.minimum", table.minimum, f"at most `maximum`, {fleet.maximum}")
    if (table.cpu is None) is not (table.memory is None):
        lacking = "cpu" if table.cpu is None else "memory"
        faults.add(f"{path}.node.{lacking}", None, "to be set beside the other one of the two")
    return NodeGroup(fleet=fleet.name, node=table)


def check_node(table: NodeTable, path: str, faults: Faults) -> None:
    """Note a providerID that cannot be made."""
    if unknown := _unknown(table.provider_id or ""):
        known = ", ".join(f"{{{name}}}" for name in sorted(HOLDERS))
        faults.add(f"{path}.node.provider_id", table.provider_id, f"none but {known}: {unknown}")


def _unknown(text: str) -> str:
    """Return what a providerID names that there is not; empty where it is in order."""
    try:
        parts = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        return str(error)
    return ", ".join(
        f"{{{name}}}" for name, form, how in parts if name not in HOLDERS or form or how
    )
