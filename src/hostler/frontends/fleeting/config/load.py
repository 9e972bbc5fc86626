"""Load: from the bytes of Init to a group: every fault at once, then its folder, key and file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from msgspec import Struct

from hostler.config.errors import Fault
from hostler.config.load import Kinds, load
from hostler.config.store_url import Stores
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError, StoreHeld
from hostler.domain.ids import InstallationId
from hostler.frontends.fleeting.contract import Connector
from hostler.frontends.fleeting.ssh_key import FILE, KeyPair, stored_pair

from .environment import Overlay
from .reader import SECRET, ConfigReader
from .source import ROOT, read_json
from .state import FLEET_FILE, STORE, USER_DATA, write_private
from .toml import write_toml
from .user_data import with_key
from .values import GroupConfig

_MOST_FAULTS = 50
_HEAD = """\
# Made by fleeting-plugin-hostler from the runner's plugin_config; each start writes it again.
# Read the group beside the running plugin: hostler status|explain|history|orphans THIS_FILE
"""


class FolderHeld(StoreHeld):
    """Another plugin has the group's folder."""

    def __init__(self, group: str | None, folder: Path) -> None:
        super().__init__(
            f"group {group}: another plugin runs on {folder}; is there a second runner with this "
            "name? Each needs a name, or a state_dir, of its own"
        )
        self.folder = folder


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadContext:
    """What a group is read in: the environment, where relative paths begin, and who is there.

    `held` says whether an engine holds a store now, without disturbing it.
    """

    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    root: bool
    kinds: Kinds
    stores: Stores
    held: Callable[[Path], bool]


def load_group(content: bytes, connector: Connector, context: LoadContext) -> GroupConfig:
    """Return the group that `plugin_config` asks for, its folder, key and fleet file made.

    Raises ConfigError with every fault at once, each with the key that a person wrote and what was
    expected; StoreHeld where another plugin has the folder. No message contains a secret.
    """
    reading = _read(content, connector, context)
    if context.held(reading.state / STORE):
        raise FolderHeld(reading.table.name, reading.state)
    return _group_config(reading, context)


class ExaminedGroup(Struct, frozen=True, kw_only=True):
    """A group as it would be, with nothing made: its key may not be there yet."""

    config: Config
    state: Path
    environment: Mapping[str, str]
    key: KeyPair | None
    max_size: int
    organization: str = ""


def examine_group(content: bytes, connector: Connector, context: LoadContext) -> ExaminedGroup:
    """Return the group that `plugin_config` asks for, and make nothing; errors as in `load_group`.

    BadKey where the stored key cannot be used.
    """
    reading = _read(content, connector, context, make=False)
    if reading.config is None:
        raise ConfigError(f"{ROOT} cannot be read")
    stored = reading.state / FILE
    key = reading.key or (stored_pair(reading.state) if stored.exists() else None)
    organization = reading.settings.get("organization")
    return ExaminedGroup(
        config=reading.config,
        state=reading.state,
        environment=_environment(reading, context),
        key=key,
        max_size=reading.table.max_size,
        organization=organization.text if organization else "",
    )


def _read(
    content: bytes, connector: Connector, context: LoadContext, *, make: bool = True
) -> ConfigReader:
    reading = ConfigReader(
        environment=context.environment,
        folder=context.folder,
        root=context.root,
        kinds=context.kinds,
        stores=context.stores,
        connector=connector,
        make=make,
    )
    reading.read(read_json(content))
    if reading.wrong:
        raise WrongFile(Path(ROOT), tuple(_bounded(reading.wrong)))
    return reading


def _bounded(faults: tuple[Fault, ...]) -> Iterator[Fault]:
    """Go through the faults that fit into one message."""
    yield from faults[:_MOST_FAULTS]
    if len(faults) > _MOST_FAULTS:
        rest = f"{len(faults) - _MOST_FAULTS} more to be corrected, not listed here"
        yield Fault(path=ROOT, value="", expected=rest)


def _environment(reading: ConfigReader, context: LoadContext) -> Overlay:
    return Overlay(context.environment, {"SCW_SECRET_KEY": reading.settings[SECRET].text})


def _group_config(reading: ConfigReader, context: LoadContext) -> GroupConfig:
    key = reading.key or stored_pair(reading.state)
    config = _fleet_file(reading, key, context)
    organization = reading.settings.get("organization")
    return GroupConfig(
        config=config,
        state=reading.state,
        environment=_environment(reading, context),
        key=key,
        user=reading.user,
        max_size=reading.table.max_size,
        organization=organization.text if organization else "",
        adopt=tuple(InstallationId(entry) for entry in reading.table.adopt),
        warnings=tuple(reading.warnings),
    )


def _fleet_file(reading: ConfigReader, key: KeyPair, context: LoadContext) -> Config:
    """Write user data and fleet file, and return what the file says: whoever reads it agrees."""
    state, tables = reading.state, dict(reading.tables)
    user_data = with_key(reading.user_data, reading.user, reading.line(key))
    fleets = cast("dict[str, dict[str, object]]", tables["fleet"])
    (name,) = fleets
    fleet = {**fleets[name], "cloud_init_file": USER_DATA}
    del fleet["cloud_init"]
    tables["fleet"] = {name: fleet}
    file = state / FLEET_FILE
    _same_world(file, tables, context)
    try:
        write_private(state / USER_DATA, user_data)
        write_private(file, _HEAD + write_toml(tables))
    except OSError as error:
        raise ConfigError(f"{state} cannot be written: {error.strerror}") from error
    return load(file, context.kinds, context.stores)


def _same_world(file: Path, tables: Mapping[str, object], context: LoadContext) -> None:
    """Refuse to take records of one project for another's: its machines would be given up."""
    if not file.exists() or not file.with_name(STORE).exists():
        return
    try:
        before = load(file, context.kinds, context.stores).accounts[0].settings
    except ConfigError:
        return
    providers = cast("Mapping[str, Mapping[str, object]]", tables["provider"])
    (now,) = providers.values()
    was: object = getattr(before, "project", None)
    if was is not None and was != now.get("project"):
        raise ConfigError(
            f"{ROOT}.project: the records in {file.parent} are of project {was}; instances there "
            "would be forgotten. Give this group another name or state_dir; or, once "
            f"`hostler orphans {file} --observe` shows nothing there, remove that folder"
        )
