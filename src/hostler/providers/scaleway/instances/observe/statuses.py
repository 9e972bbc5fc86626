"""Statuses: the provider's states in ours. Total: a word that no table knows is *unknown*."""

from collections.abc import Mapping

from hostler.domain.model.resource import Condition

SERVER: Mapping[str, Condition] = {
    "stopped": Condition.OFF,
    "stopped in place": Condition.STANDBY,
    "starting": Condition.STARTING,
    "running": Condition.UP,
    "stopping": Condition.STOPPING,
    "locked": Condition.LOCKED,
}

VOLUME: Mapping[str, Condition] = {
    "available": Condition.FREE,
    "error": Condition.FREE,
    "in_use": Condition.BUSY,
    "creating": Condition.BUSY,
    "updating": Condition.BUSY,
    "resizing": Condition.BUSY,
    "snapshotting": Condition.BUSY,
    "saving": Condition.BUSY,
    "fetching": Condition.BUSY,
    "attaching": Condition.BUSY,
    "hotsyncing": Condition.BUSY,
    "deleting": Condition.STOPPING,
    "deleted": Condition.STOPPING,
    "locked": Condition.LOCKED,
}
"""Both generations of volumes; *free* means that the volume may be deleted now."""

ADDRESS: Mapping[str, Condition] = {
    "detached": Condition.FREE,
    "error": Condition.FREE,
    "attached": Condition.BUSY,
    "pending": Condition.BUSY,
}

TABLES: Mapping[str, Mapping[str, Condition]] = {
    "server": SERVER,
    "volume": VOLUME,
    "address": ADDRESS,
}


def condition(kind: str, word: str) -> Condition:
    """Return our word for a state of this kind of resource; *unknown* for what the table lacks."""
    return TABLES[kind].get(word, Condition.UNKNOWN)


def strange(kind: str, word: str) -> str:
    """Return what to report of a state that our table lacks, or an empty string."""
    return "" if word in TABLES[kind] else f"{kind} state {word[:60]!r}"
