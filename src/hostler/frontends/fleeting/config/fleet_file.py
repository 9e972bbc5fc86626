"""Fleet file: `plugin_config` as a fleet file, with the origin of each value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from hostler.config.errors import join

from .environment import Origins, Setting
from .source import ROOT
from .state import STORE
from .tables import PluginTable, ReadyKeys

ACCOUNT = "scaleway"
PROVIDER = f"provider.{ACCOUNT}"
Tables = dict[str, object]

_PASSED = ("image", "security_group", "placement_group", "address_pool", "timers", "caps")
"""Keys of the fleet that are called the same in the fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found beside the table itself: settings, the login, and the whole user data."""

    settings: Mapping[str, Setting]
    user: str
    port: int
    user_data: str = field(repr=False)
    user_data_origin: str


class Writer(Struct, frozen=True):
    """Writes one fleet file; `origins` learns where each value came from."""

    table: PluginTable
    found: Found
    origins: Origins

    def tables(self) -> Tables:
        """Return the tables of the fleet file; the user data stands in it as text."""
        name = self.table.name or "group"
        self.origins.note(f"fleet.{name}", ROOT)
        self.origins.note(PROVIDER, ROOT)
        tables: Tables = {
            "store": f"sqlite:{STORE}",
            "provider": {ACCOUNT: self._provider()},
            "fleet": {name: self._fleet(f"fleet.{name}")},
        }
        if self.table.engine:
            tables["engine"] = self._noted("engine", "engine", self.table.engine)
        if self.table.metrics:
            listen = self._noted("metrics.listen", "metrics", self.table.metrics)
            tables["metrics"] = {"listen": listen}
        return tables

    def _noted(self, path: str, key: str, value: object, *, single: bool = False) -> object:
        self.origins.note(path, key if " " in key else join(ROOT, key), single=single)
        return value

    def _provider(self) -> Tables:
        table = self.table
        made: Tables = {
            "kind": "scaleway",
            "rate": self._noted(f"{PROVIDER}.rate", "rate", table.rate),
            "burst": self._noted(f"{PROVIDER}.burst", "burst", table.burst),
        }
        for key in ("consistency_delay", "ca_file"):
            value: object = getattr(table, key)
            if value is not None:
                made[key] = self._noted(f"{PROVIDER}.{key}", key, value)
        for key in ("endpoint", "project"):
            if setting := self.found.settings.get(key):
                made[key] = setting.text
                self.origins.note(f"{PROVIDER}.{key}", setting.origin)
        secret = self.found.settings.get("secret_key")
        if secret is not None and secret.file is not None:
            made["secret_key_file"] = str(secret.file)
        return made

    def _fleet(self, path: str) -> Tables:
        table = self.table
        made: Tables = {
            "size": 0,
            "renews": False,
            "maximum": self._noted(f"{path}.maximum", "max_size", table.max_size),
            "reclaim": table.reclaim,
            "public_ipv4": not table.public_ipv4_disabled,
            "public_ipv6": not table.public_ipv6_disabled,
            "private_networks": list(table.private_networks),
            "tags": [*table.tags, *(f"{key}={value}" for key, value in table.labels.items())],
            "user": self.found.user,
            "ready": self._ready(f"{path}.ready"),
            "cloud_init": self.found.user_data,
        }
        self.origins.note(f"{path}.cloud_init", self.found.user_data_origin)
        self._tags(f"{path}.tags")
        made |= {
            key: self._noted(f"{path}.{key}", key, value)
            for key in _PASSED
            if (value := _value(table, key))
        }
        # A failed machine takes one of the runner's places: it goes sooner than elsewhere.
        made["caps"] = {"share": 0.5, "per_hour": max(20, 2 * table.max_size), **table.caps}
        if table.volume_size is not None:
            made["volume"] = {"size": self._size(f"{path}.volume.size")}
        self._lists(made, path)
        return made

    def _tags(self, path: str) -> None:
        self.origins.note(path, join(ROOT, "tags"))
        for number, key in enumerate(self.table.labels, start=len(self.table.tags)):
            self.origins.note(f"{path}[{number}]", join(join(ROOT, "labels"), key))

    def _size(self, path: str) -> object:
        size = self.table.volume_size
        text = f"{size}GB" if isinstance(size, int) else size
        return self._noted(path, "volume_size", text)

    def _lists(self, made: Tables, path: str) -> None:
        """Write types and zones, which may be one text in plugin_config."""
        table, outside = self.table, self.found.settings.get("zone")
        key, zones = "zone", table.zone
        if zones is None:
            key, zones = "location", table.location
        if zones is None and outside is not None:
            key, zones = outside.origin, outside.text
        lists = {"types": ("server_type", table.server_type), "zones": (key, zones)}
        for word, (origin, value) in lists.items():
            one = isinstance(value, str)
            self._noted(f"{path}.{word}", origin, value, single=one)
            if value is not None:
                made[word] = [value] if one else list(value)

    def _ready(self, path: str) -> Tables:
        ready, port = self.table.ready, self.found.port
        self.origins.note(path, join(ROOT, "ready"))
        self.origins.note(f"{path}.probe", join(ROOT, "ready"))
        if isinstance(ready, str):
            made: Tables = {"probe": ready}
            if ready in {"tcp", "ssh"}:
                made["port"] = port
        else:
            made = self._ready_keys(ready, path)
        return {**made, "user": self.found.user} if made["probe"] == "ssh" else made

    def _ready_keys(self, ready: ReadyKeys, path: str) -> Tables:
        made: Tables = {"probe": "tcp"}
        if ready.command is not None:
            made = {"probe": "command", "command": list(ready.command)}
        elif ready.ssh is not None:
            made = {"probe": "ssh", "port": ready.ssh}
        elif ready.tcp is not None:
            made = {"probe": "tcp", "port": ready.tcp}
        if ready.timeout is not None:
            made["timeout"] = self._noted(f"{path}.timeout", "ready.timeout", ready.timeout)
        return made


def _value(table: PluginTable, key: str) -> object:
    value: object = getattr(table, key)
    return value
