"""Digests: what a fleet file asks for, table by table, so that two readings can be compared. Pure.

What is compared is what was read, not how it is written: comments and order are no difference, a
file that a template names is one.
"""

import hashlib
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from .values import Config


def digests(config: Config) -> dict[str, str]:
    """Return the digest of each table by its path, and of the store's URL.

    `reclaim` at the top is among them where it is set: it is for fleets too that no table has, such
    as removed ones.
    """
    accounts = {f"provider.{account.name}": account for account in config.accounts}
    served = config.externalgrpc
    groups = {group.fleet: group.node for group in served.groups} if served is not None else {}
    nodes = {**config.nodes, **groups}
    fleets = {
        f"fleet.{fleet.name}": (
            replace(fleet, definition="", account_id=""),
            config.templates.get(fleet.name),
            nodes.get(fleet.name),
        )
        for fleet in config.fleets
        if not fleet.removed
    }
    tables: Mapping[str, object] = {
        "store": str(config.store),
        **accounts,
        **fleets,
        "engine": config.settings,
        "metrics": config.metrics,
        "frontend": replace(served, groups=()) if served is not None else None,
        **({"reclaim": True} if config.reclaims else {}),
    }
    return {path: _digest(values) for path, values in tables.items()}


def digests_of_file(config: Config) -> dict[str, str]:
    """Return the digests of what stands in the file itself, without the objects beside it."""
    theirs = config.objects or ()
    return {path: digest for path, digest in digests(config).items() if path not in theirs}


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of the tables that differ, or that only one of the two has."""
    paths = dict.fromkeys((*one, *other))
    return tuple(path for path in paths if one.get(path) != other.get(path))


def _digest(values: object) -> str:
    written = msgspec.json.encode(values, order="deterministic")
    return hashlib.sha256(written).hexdigest()[:16]
