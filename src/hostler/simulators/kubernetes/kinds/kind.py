"""Kind: one sort of object in one version, and what the server does with it."""

from collections.abc import Mapping

from msgspec import Struct, field

from hostler.simulators.kubernetes.state.body import Body
from hostler.simulators.kubernetes.state.refusals import About

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Kind(Struct, frozen=True, kw_only=True):
    """A kind as it is served.

    `store` names where its objects are: versions of one kind share it, and so do the two groups of
    events. `fields` are what a field selector may name, with their paths. `counted` kinds have a
    generation. `unconditional` ones may be replaced without a version, `upserted` ones be created
    by PUT. `schema` is a definition's; `scale` are its paths.
    """

    group: str
    version: str
    plural: str
    kind: str
    store: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    singular: str = ""
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    counted: bool = False
    unconditional: bool = True
    upserted: bool = False
    custom: bool = False
    since: int = 0
    verbs: tuple[str, ...] = VERBS
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    schema: Body | None = None
    scale: Body | None = None

    @property
    def api_version(self) -> str:
        """Return group and version as an object says them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def about(self, name: str = "") -> About:
        """Return what an answer about one of it says."""
        return About(self.group, self.plural, self.kind, name)

    def selectable(self) -> Mapping[str, tuple[str, ...]]:
        """Return all fields that a selector may name."""
        own = {"metadata.name": ("metadata", "name")}
        placed = {"metadata.namespace": ("metadata", "namespace")}
        return {**own, **placed, **self.fields}
