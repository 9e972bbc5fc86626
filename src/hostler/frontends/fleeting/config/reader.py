"""Reader: reads one `plugin_config` once, and gathers all that is wrong with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hostler.config import load as fleet_file
from hostler.config.decode import decode_table
from hostler.config.errors import HIDDEN, Fault, Faults, join
from hostler.config.load import Kinds
from hostler.config.store_url import Stores
from hostler.config.values import Config
from hostler.frontends.fleeting.contract import Connector
from hostler.frontends.fleeting.ssh_key import LARGEST, BadKey, KeyPair, read_pair

from .environment import Origins, Setting, Sources
from .fleet_file import Found, Writer
from .source import ROOT
from .state import FLEET_FILE, VARIABLE, base_of, folder_of, make_private, try_private
from .tables import PluginTable, ReadyKeys
from .user_data import with_key

SECRET = "secret_key"  # noqa: S105 - the name of a key
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", re.ASCII)
_ACCESS = re.compile(r"SCW[A-Z0-9]{17}", re.ASCII)
_LOGIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", re.ASCII)
_MADE = "ssh-ed25519 " + "A" * 68
"""As long as the key that will be made: what is checked is how long the user data gets."""
_LARGEST_USER_DATA = 1_000_000
_KINDS = "tcp, ssh, api"


@dataclass(slots=True, kw_only=True)
class ConfigReader:
    """What a `plugin_config` says, key by key. After `read`, `wrong` has all that is wrong.

    Only where nothing is wrong do the other fields hold: the folder `state` is there then, unless
    `make` is False, which makes nothing; `config` has the user data with a key that stands for one
    that is yet to be made.
    """

    environment: Mapping[str, str]
    folder: Path
    root: bool
    kinds: Kinds
    stores: Stores
    connector: Connector
    make: bool = True
    table: PluginTable = field(default_factory=PluginTable)
    state: Path = Path()
    settings: dict[str, Setting] = field(default_factory=dict[str, Setting])
    user: str = "root"
    user_data: str = field(default="", repr=False)
    key: KeyPair | None = None
    tables: Mapping[str, object] = field(default_factory=dict[str, object])
    config: Config | None = None
    wrong: tuple[Fault, ...] = ()
    warnings: list[str] = field(default_factory=list[str])
    _faults: Faults = field(default_factory=Faults)

    def read(self, raw: Mapping[str, object]) -> None:
        """Read it all, as far as it can be read."""
        (table,) = decode_table(raw, (PluginTable,), ROOT, self._faults)
        self.table = cast("PluginTable", table)
        if raw.get("name") is None:
            self._wrong("name", "a name for the group; it is missing")
        self._read_settings()
        self._read_connector()
        self._read_state()
        origin = self._read_user_data()
        self._read_key()
        self._check_addresses()
        self._check_ready()
        self._check_fleet_file(origin)

    def line(self, key: KeyPair | None) -> str:
        """Return the line of the public key that instances are given."""
        return f"{key.public if key else _MADE} hostler-{self.table.name or 'group'}"

    def _wrong(self, key: str, expected: str, hint: str = "", value: str = "") -> None:
        fault = Fault(path=join(ROOT, key), value=value, expected=expected, hint=hint)
        self._faults.found.append(fault)

    @property
    def _sources(self) -> Sources:
        return Sources(environment=self.environment, folder=self.folder, faults=self._faults)

    def _read_settings(self) -> None:
        table, sources = self.table, self._sources
        found = {
            "zone": sources.setting("zone", None),
            "endpoint": sources.setting("endpoint", table.endpoint, table.endpoint_file),
            "access_key": sources.setting("access_key", table.access_key, table.access_key_file),
            SECRET: sources.setting(SECRET, table.secret_key, table.secret_key_file),
            "organization": sources.setting(
                "organization", table.organization, table.organization_file
            ),
            "project": sources.setting("project", table.project, table.project_file),
        }
        self.settings = {key: one for key, one in found.items() if one is not None}
        if table.zone is not None and table.location is not None:
            self._wrong("location", "it, or zone, not both")
        self._check_ids()

    def _check_ids(self) -> None:
        missing = "a UUID; it is missing"
        if SECRET not in self.settings:
            hint = (
                "set it here, in secret_key_file, or as SCW_SECRET_KEY in the runner's environment"
            )
            self._wrong(SECRET, "the secret key of an API key, " + missing, hint)
        if "project" not in self.settings:
            hint = "set it here, or as SCW_DEFAULT_PROJECT_ID in the runner's environment"
            self._wrong("project", missing, hint)
        for key, shape, expected in (
            (SECRET, _UUID, "the secret key of an API key: a UUID"),
            ("project", _UUID, "a UUID"),
            ("organization", _UUID, "a UUID"),
            ("access_key", _ACCESS, "SCW and 17 capital letters or digits"),
        ):
            one = self.settings.get(key)
            if one is not None and one.text and not shape.fullmatch(one.text):
                hidden = key in {SECRET, "access_key"}
                self._faults.found.append(one.wrong(expected, hidden=hidden))

    def _read_connector(self) -> None:
        """Take what the runner's connector_config says; refuse what no instance of ours can be."""
        connector = self.connector
        self.user = self.table.user or connector.username or "root"
        path = "connector_config"
        if not _LOGIN.fullmatch(self.user):
            expected = 'the name of a user, such as "root" or "ubuntu"'
            fault = Fault(path=f"{path}.username", value=repr(self.user[:60]), expected=expected)
            self._faults.found.append(fault)
        for key, value, only in (
            ("protocol", connector.protocol, "ssh"),
            ("os", connector.os, "linux"),
        ):
            if value and value.lower() != only:
                fault = Fault(path=f"{path}.{key}", value=repr(value[:60]), expected=only)
                self._faults.found.append(fault)

    def _read_state(self) -> None:
        base = base_of(self.table.state_dir, self.environment, root=self.root)
        if base is None:
            hint = f"set state_dir, or {VARIABLE} in the runner's environment"
            self._wrong("state_dir", "a folder; this user has no home to keep one in", hint)
        elif self.table.name is not None:
            self._make_state(base, self.table.name)

    def _make_state(self, base: Path, name: str) -> None:
        self.state = folder_of(self.folder / base, name)
        try:
            self.state = folder_of(self.folder / base.expanduser(), name).resolve()
            (make_private if self.make else try_private)(self.state)
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self._wrong(
                "state_dir",
                f"a folder that can be written: {reason or type(error).__name__}",
                f"let the runner's user write there, or set state_dir or {VARIABLE}",
                str(self.state),
            )

    def _read_user_data(self) -> str:
        """Find the user data, and return which key gave it."""
        table = self.table
        values = {
            "cloud_init": table.cloud_init,
            "user_data": table.user_data,
            "cloud_init_file": table.cloud_init_file,
            "user_data_file": table.user_data_file,
        }
        keys = [key for key, value in values.items() if value is not None]
        for key in keys[1:]:
            self._wrong(key, f"it, or {keys[0]}, not both")
        if not keys:
            return join(ROOT, "cloud_init")
        key, text = keys[0], values[keys[0]] or ""
        if key.endswith("_file"):
            name = Path(text)
            text = self._sources.read(name, join(ROOT, key), _LARGEST_USER_DATA) or ""
        self.user_data = text
        return join(ROOT, key)

    def _read_key(self) -> None:
        """Take the key that plugin_config names, or the runner's own; else one will be made."""
        named, own = self.table.ssh_key_file, self.connector.key
        if named is None and not own:
            return
        origin = join(ROOT, "ssh_key_file") if named else "connector_config.key_path"
        content: str | bytes | None = own
        if named is not None:
            content = self._sources.read(Path(named), origin, LARGEST)
            if content is None:
                return
        try:
            self.key = read_pair(content.encode() if isinstance(content, str) else own)
        except BadKey as error:
            expected = f"a private key without a passphrase: {error}"
            fault = Fault(path=origin, value=named or HIDDEN, expected=expected)
            self._faults.found.append(fault)

    def _check_addresses(self) -> None:
        table = self.table
        if table.public_ipv4_disabled and table.public_ipv6_disabled and not table.private_networks:
            hint = "instances without any address cannot be reached"
            self._wrong("private_networks", "at least one, with no public address", hint)

    def _check_ready(self) -> None:
        ready = self.table.ready
        if isinstance(ready, ReadyKeys):
            probes = [entry for entry in (ready.tcp, ready.ssh, ready.command) if entry is not None]
            if len(probes) != 1:
                self._wrong("ready", "exactly one of tcp, ssh and command")

    def _check_fleet_file(self, origin: str) -> None:
        """Let the fleet file's own reading judge the rest, and say it in this table's words."""
        origins = Origins()
        found = Found(
            settings=self.settings,
            user=self.user,
            port=self.connector.protocol_port or 22,
            user_data=self._merged(origin),
            user_data_origin=origin,
        )
        self.tables = Writer(self.table, found, origins).tables()
        file = self.state / FLEET_FILE
        checked = fleet_file.Reading(path=file, kinds=self.kinds, stores=self.stores)
        self.config = checked.read(self.tables)
        self.wrong = origins.all_translated(checked.faults.found, self._faults.found)

    def _merged(self, origin: str) -> str:
        try:
            return with_key(self.user_data, self.user, self.line(self.key))
        except ValueError as error:
            self._faults.found.append(Fault(path=origin, value=HIDDEN, expected=str(error)))
            return ""
