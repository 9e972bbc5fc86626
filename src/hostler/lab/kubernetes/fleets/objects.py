"""Objects: a namespace with a Provider, its Hosts, and Fleets, as people write them."""

from collections.abc import Mapping
from random import Random

from hostler.config.load import Kinds
from hostler.frontends.kubernetes.definitions.custom import GROUP, VERSION
from hostler.frontends.kubernetes.definitions.manifests import custom_kinds
from hostler.lab.kubernetes.simulated_cluster import DEFINITIONS, Raw, SimulatedCluster
from hostler.ports.clock import Clock
from hostler.providers.power.kind import PowerKind
from hostler.providers.power.settings import PowerTable

from .edits import FLEETS, Edit, Write

NAMESPACE, PROVIDER, ZONE = "rack", "main", "rack-1"


class _Power(PowerKind):
    """Boxes, by the methods that come with hostler: no package is looked for each time."""

    @property
    def settings(self) -> type[PowerTable]:
        """The table of a rack."""
        return PowerTable


KINDS: Kinds = {"power": _Power}
"""The kind of provider that a run has."""

_HOST_LOCK: Mapping[str, str] = {
    "homelab-autoscaler.dev/operation-lock": "shutdown",
    "homelab-autoscaler.dev/lock-owner": "somebody",
    "homelab-autoscaler.dev/lock-timeout": "300",
}
_OF_HOSTS = frozenset({Write.POWER, Write.MAINTENANCE, Write.LOCK})
_POWERS = (None, "on", "off")


class Objects(SimulatedCluster):
    """The objects of one namespace, and people who write them without any fault."""

    def __init__(self, clock: Clock, random: Random, boxes: int) -> None:
        super().__init__(clock, random)
        self._now, self._boxes = clock.now, boxes
        for kind in custom_kinds(KINDS):
            self.must("POST", DEFINITIONS, kind.manifest())
        self.make_namespace(NAMESPACE)
        settings = {"kind": "power", "power": {"cleaning": "trusted"}}
        self._make("Provider", "providers", PROVIDER, settings)
        for number in range(1, boxes + 1):
            self._make("Host", "hosts", f"box-{number}", _host(number))

    def fleets(self) -> list[Raw]:
        """Return all Fleets."""
        return self.server.cluster.storage.everything(f"fleets.{GROUP}")

    def hosts(self) -> list[Raw]:
        """Return all Hosts."""
        return self.server.cluster.storage.everything(f"hosts.{GROUP}")

    def everything(self) -> list[Raw]:
        """Return all objects of ours."""
        providers = self.server.cluster.storage.everything(f"providers.{GROUP}")
        return [*self.fleets(), *self.hosts(), *providers]

    # ------------------------------------------------------------ what people write

    def write(self, edit: Edit) -> bool:
        """Write what an edit says, where its object is there; tell if anything was written."""
        if edit.write in _OF_HOSTS:
            host = f"box-{1 + edit.who % self._boxes}"
            return self._patch("hosts", host, self._of_host(edit))
        name = FLEETS[edit.who % len(FLEETS)]
        match edit.write:
            case Write.MAKE:
                return self.make_fleet(name, edit.value)
            case Write.END | Write.LEAVE:
                return self.delete_fleet(name, "end" if edit.write is Write.END else "leave")
            case _:
                return self._patch("fleets", name, {"spec": _of_fleet(edit)})

    def _of_host(self, edit: Edit) -> Raw:
        """Return what an edit merges into a Host."""
        match edit.write:
            case Write.POWER:
                return {"spec": {"desiredPowerState": _POWERS[edit.value % len(_POWERS)]}}
            case Write.MAINTENANCE:
                reason = {"reason": "a fan"} if edit.value % 2 else None
                return {"spec": {"maintenance": reason}}
            case _:
                lock = {**_HOST_LOCK, "homelab-autoscaler.dev/lock-timestamp": self._stamp()}
                return {"metadata": {"annotations": lock}}

    def make_fleet(self, name: str, size: int) -> bool:
        """Make a Fleet, where none of its name is there, whether it goes or stays."""
        if any(one["metadata"]["name"] == name for one in self.fleets()):
            return False
        spec = {"provider": PROVIDER, "size": size, "power": {"types": ["small"], "zones": [ZONE]}}
        self._make("Fleet", "fleets", name, spec)
        return True

    def delete_fleet(self, name: str, policy: str) -> bool:
        """Delete a Fleet; `policy` says whether its machines end."""
        if not self._patch("fleets", name, {"spec": {"deletionPolicy": policy}}):
            return False
        self.must("DELETE", _path("fleets", name))
        return True

    def calm(self, sizes: Mapping[str, int]) -> None:
        """Have each fleet at a size, none paused, and no host held: a person tidies up.

        One that is on its way out is let go first: this is called again until all are there.
        """
        for name, size in sizes.items():
            self.make_fleet(name, size)
            self._patch("fleets", name, {"spec": {"size": size, "paused": False}})
        for one in self.hosts():
            spec = {"desiredPowerState": None, "maintenance": None}
            self._patch("hosts", one["metadata"]["name"], {"spec": spec})

    def _stamp(self) -> str:
        return f"{self._now():%Y-%m-%dT%H:%M:%SZ}"

    def _make(self, kind: str, plural: str, name: str, spec: Mapping[str, object]) -> None:
        item = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        }
        self.must("POST", _path(plural), item)

    def _patch(self, plural: str, name: str, patch: Mapping[str, Raw]) -> bool:
        """Write on an object that is there and stays; tell if there was one."""
        store = f"{plural}.{GROUP}"
        found = self.server.cluster.storage.find(store, (NAMESPACE, name))
        if found is None or "deletionTimestamp" in found["metadata"]:
            return False
        if not all(_has(found[part], values) for part, values in patch.items()):
            self.must("PATCH", _path(plural, name), patch)
        return True


def _has(part: Raw, values: Raw) -> bool:
    """Tell whether a part of an object has these values already; None: it lacks them."""
    return all(part.get(key) == value for key, value in values.items())


def _of_fleet(edit: Edit) -> Raw:
    """Return what an edit merges into the spec of a Fleet."""
    match edit.write:
        case Write.SCALE:
            return {"size": edit.value}
        case Write.PAUSE | Write.RESUME:
            return {"paused": edit.write is Write.PAUSE}
        case _:
            return {"caps": {"perHour": 20 + edit.value}}


def _host(number: int) -> Raw:
    power = {
        "type": "small",
        "zone": ZONE,
        "address": f"192.0.2.{number}",
        "shelly": {"url": f"http://192.0.2.{100 + number}"},
    }
    return {"provider": PROVIDER, "power": power}


def _path(plural: str, name: str = "") -> str:
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{NAMESPACE}/{plural}"
    return f"{path}/{name}" if name else path
