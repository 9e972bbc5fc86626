"""Objects: namespaces with a Provider, its Hosts, and Fleets, as they lie in a cluster."""

from collections.abc import Mapping, Sequence
from random import Random

from msgspec import Struct

from hostler.config.load import Kinds
from hostler.domain.ids import HostId, Zone
from hostler.frontends.kubernetes.definitions.custom import GROUP, VERSION
from hostler.frontends.kubernetes.definitions.manifests import custom_kinds
from hostler.lab.kubernetes.nodes.api import is_true
from hostler.lab.kubernetes.simulated_cluster import DEFINITIONS, Raw, SimulatedCluster
from hostler.ports.clock import Clock
from hostler.providers.power.kind import PowerKind
from hostler.providers.power.settings import PowerTable

HOME, PROVIDER, SPARE, SECRET, KEY = "rack", "main", "spare", "plugs", "password"
SHELF = "shelf"
"""The label and the taint that people have the Nodes of single Hosts have."""


class _Power(PowerKind):
    """Boxes, by the methods that come with hostler: no package is looked for each time."""

    @property
    def settings(self) -> type[PowerTable]:
        """The table of a rack."""
        return PowerTable


KINDS: Kinds = {"power": _Power}
"""The kind of provider that a run has."""

_SINGULAR: Mapping[str, str] = {"providers": "Provider", "hosts": "Host", "fleets": "Fleet"}


class Space(Struct, frozen=True, kw_only=True):
    """A namespace: the boxes that its Hosts are, from the number `first` on, in a zone of its own.

    Where Hosts have `secrets`, each second one names the Secret of its namespace.
    """

    name: str
    zone: Zone
    first: int
    boxes: int
    secrets: bool = False

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of its Hosts."""
        return tuple(f"box-{number}" for number in range(1, self.boxes + 1))

    def named(self, name: str) -> str:
        """Return how the engine is to call what has this name here."""
        return name if self.name == HOME else f"{self.name}_{name}"

    def box(self, host: str) -> HostId:
        """Return the box that one of its Hosts is."""
        return HostId(self.named(host))

    def host_spec(self, name: str) -> Raw:
        """Return what a Host is when it is made."""
        number = int(name.removeprefix("box-"))
        address = f"192.0.2.{self.first + number - 1}"
        plug: Raw = {"url": f"http://{address}"}
        power = {"type": "small", "zone": self.zone, "address": address, "shelly": plug}
        if not self.secrets or number % 2 == 0:
            return {"provider": PROVIDER, "power": power}
        plug |= {"user": "admin", "passwordEnv": KEY}
        return {"provider": PROVIDER, "secretName": SECRET, "power": power}


class Objects(SimulatedCluster):
    """The objects of some namespaces, and how people write them: without any fault."""

    def __init__(
        self,
        clock: Clock,
        random: Random,
        spaces: Sequence[Space],
        more: Mapping[str, object],
    ) -> None:
        """Make them; `more` is what each Fleet says beside its size and its boxes."""
        super().__init__(clock, random)
        self.now, self.spaces, self._more = clock.now, spaces, more
        for kind in custom_kinds(KINDS):
            self.must("POST", DEFINITIONS, kind.manifest())
        for space in spaces:
            self.make_namespace(space.name)
            self.make_secret(space)
            self.make_provider(space, PROVIDER)
            for name in space.hosts:
                self.make_host(space, name)

    # ------------------------------------------------------------ what there is

    def of(self, space: Space, plural: str) -> Mapping[str, Raw]:
        """Return all objects of a kind in a namespace, by name."""
        items = self.server.cluster.storage.everything(f"{plural}.{GROUP}")
        return {
            str(one["metadata"]["name"]): one
            for one in items
            if one["metadata"]["namespace"] == space.name
        }

    def shelf(self, box: HostId) -> str:
        """Return what the Host of a box says of its Node's shelf; empty where it says nothing.

        What was not accepted, or is not read yet, is not in force.
        """
        found = (
            one
            for space in self.spaces
            for name, one in self.of(space, "hosts").items()
            if space.box(name) == box and not is_going(one)
        )
        for one in found:
            written, status = one["metadata"].get("generation"), one.get("status", {})
            labels: Raw = one["spec"].get("labels") or {}
            if status.get("observedGeneration") == written and is_true(one, "Accepted"):
                return str(labels.get(SHELF, ""))
        return ""

    def has_secret(self, space: Space) -> bool:
        """Tell whether the Secret is there."""
        return self.server.cluster.storage.find("secrets", (space.name, SECRET)) is not None

    # ------------------------------------------------------------ what is written

    def make(self, space: Space, plural: str, name: str, spec: Mapping[str, object]) -> bool:
        """Make an object, where none of its name is there, whether it goes or stays."""
        if name in self.of(space, plural):
            return False
        item = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": _SINGULAR[plural],
            "metadata": {"name": name, "namespace": space.name},
            "spec": spec,
        }
        self.must("POST", _path(space, plural), item)
        return True

    def make_provider(self, space: Space, name: str) -> bool:
        """Make a Provider of boxes."""
        settings = {"kind": "power", "power": {"cleaning": "trusted"}}
        return self.make(space, "providers", name, settings)

    def make_host(self, space: Space, name: str) -> bool:
        """Make a Host."""
        return self.make(space, "hosts", name, space.host_spec(name))

    def make_fleet(self, space: Space, name: str, size: int) -> bool:
        """Make a Fleet."""
        power = {"types": ["small"], "zones": [space.zone]}
        return self.make(
            space,
            "fleets",
            name,
            {**self._more, "provider": PROVIDER, "size": size, "power": power},
        )

    def make_secret(self, space: Space) -> bool:
        """Make the Secret that Hosts name, where any does and it is not there."""
        if not space.secrets or self.has_secret(space):
            return False
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": space.name},
            "stringData": {KEY: "hidden"},
        }
        self.must("POST", f"/api/v1/namespaces/{space.name}/secrets", secret)
        return True

    def delete_secret(self, space: Space) -> bool:
        """Delete the Secret that Hosts name; tell if it was there."""
        return self.gateway.delete_by_force("secrets", space.name, SECRET)

    def delete(self, space: Space, plural: str, name: str, policy: str = "") -> bool:
        """Delete an object that is there and stays, by a policy if it has one; tell if one was."""
        spec = {"spec": {"deletionPolicy": policy}} if policy else {}
        if not self.patch(space, plural, name, spec):
            return False
        self.must("DELETE", _path(space, plural, name))
        return True

    def amend(self, space: Space, name: str, spec: Raw) -> None:
        """Write on a Host that was deleted, unless it says so: its spec counts still."""
        if not _has(self.of(space, "hosts")[name]["spec"], spec):
            self.must("PATCH", _path(space, "hosts", name), {"spec": spec})

    def patch(self, space: Space, plural: str, name: str, patch: Mapping[str, Raw]) -> bool:
        """Write on an object that is there and stays; tell if there was one."""
        found = self.of(space, plural).get(name)
        if found is None or is_going(found):
            return False
        if not all(_has(found[part], values) for part, values in patch.items()):
            self.must("PATCH", _path(space, plural, name), patch)
        return True


def is_going(one: Raw) -> bool:
    """Tell whether an object was deleted, and is there still."""
    return "deletionTimestamp" in one["metadata"]


def _has(part: Raw, values: Raw) -> bool:
    """Tell whether a part of an object has these values already; None: it lacks them."""
    return all(part.get(key) == value for key, value in values.items())


def _path(space: Space, plural: str, name: str = "") -> str:
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{space.name}/{plural}"
    return f"{path}/{name}" if name else path
