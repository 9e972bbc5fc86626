"""What every resource of the world has: an id, a place, an owner, and its dates."""

from dataclasses import dataclass, field

from msgspec import Struct


class Owner(Struct, frozen=True):
    """Where a new resource is, and whose."""

    zone: str
    organization: str
    project: str


@dataclass(slots=True, eq=False, kw_only=True)
class Record:
    """What every resource has."""

    id: str
    zone: str
    name: str
    organization: str
    project: str
    created: float
    modified: float
    tags: list[str] = field(default_factory=list[str])
    listed_from: float = 0.0  # lists show it from this moment on
    ended: float | None = None

    @property
    def owner(self) -> Owner:
        """Where it is, and whose."""
        return Owner(self.zone, self.organization, self.project)
