"""Cache: the schema of the last success, for a day on which no runner can be read."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from hostler.frontends.fleeting.config.state import PRIVATE, write_private

_LARGEST = 64 * 1024 * 1024


class CachedSchema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A schema that has served: as a descriptor set, where it was found, and when."""

    origin: str
    build_id: str
    at: datetime
    files: bytes

    def age(self, now: datetime) -> timedelta:
        """Return how long ago it served; never less than nothing."""
        return max(timedelta(0), now - self.at)


def write_cache(path: Path, cached: CachedSchema) -> None:
    """Write a schema: whole, or not at all. OSError where it cannot be written."""
    path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    write_private(path, msgspec.msgpack.encode(cached))


def read_cache(path: Path) -> CachedSchema | None:
    """Return what was cached; None where there is none, or it is damaged."""
    try:
        with path.open("rb") as file:
            cached = msgspec.msgpack.decode(file.read(_LARGEST), type=CachedSchema)
    except (OSError, msgspec.DecodeError):
        return None
    return cached if cached.at.tzinfo is not None and cached.at.astimezone(UTC) else None
