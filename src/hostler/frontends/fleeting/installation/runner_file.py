"""Runner file: what a runner's config.toml says of our plugin, as the runner would hand it over."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hostler.domain.errors import ConfigError
from hostler.frontends.fleeting.contract import Connector

LARGEST = 10_000_000
WORD = "hostler"
Table = Mapping[str, object]
_HINTS = {
    "state_storage": "a restart of the runner removes every instance: set "
    "[runners.autoscaler.state_storage] enabled = true to keep them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One runner that uses our plugin: what Init would bring, and what else is worth a word.

    `plugin` is what its config.toml calls the plugin ("" where only a plugin_config was given);
    `most` is its max_instances, 0 for no limit; `hints` are about the runner's own settings.
    """

    name: str
    content: bytes = field(repr=False)
    connector: Connector = Connector()
    plugin: str = ""
    most: int = 0
    hints: tuple[str, ...] = ()


def read_runner(path: Path, name: str = "") -> Runner:
    """Return the runner of this name, or the only one that uses our plugin.

    `path` is a runner's config.toml, or a JSON file with a plugin_config and nothing else.
    ConfigError says what is wrong with the file.
    """
    content = _bytes(path)
    if content.lstrip()[:1] in {b"{", b""}:
        return Runner(name="", content=content)
    runners = _runners(_tables(path, content))
    ours = {_text(one, "name"): one for one in runners if WORD in _text(_autoscaler(one), "plugin")}
    if name:
        ours = {key: one for key, one in ours.items() if key == name}
    if len(ours) == 1:
        return _runner(*next(iter(ours.items())), path.parent)
    if not ours:
        which = f"called {name!r} " if name else ""
        raise ConfigError(
            f"{path}: no [[runners]] {which}whose [runners.autoscaler] has "
            'plugin = "fleeting-plugin-hostler"'
        )
    raise ConfigError(f"{path}: several runners use the plugin: add --runner {' or '.join(ours)}")


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise ConfigError(f"{path}: larger than {LARGEST:,} bytes; this is no config.toml")
    return content


def _tables(path: Path, content: bytes) -> Table:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _runners(tables: Table) -> list[Table]:
    found = tables.get("runners")
    entries = cast("list[object]", found) if isinstance(found, list) else []
    return [_table(entry) for entry in entries]


def _runner(name: str, table: Table, folder: Path) -> Runner:
    autoscaler = _autoscaler(table)
    config = _table(autoscaler.get("plugin_config"))
    most = autoscaler.get("max_instances")
    return Runner(
        name=name,
        content=json.dumps(config, default=str).encode(),
        connector=_connector(_table(autoscaler.get("connector_config")), folder),
        plugin=_text(autoscaler, "plugin"),
        most=most if isinstance(most, int) else 0,
        hints=tuple(_hints(autoscaler)),
    )


def _hints(autoscaler: Table) -> list[str]:
    enabled = _table(autoscaler.get("state_storage")).get("enabled") is True
    return [] if enabled else [_HINTS["state_storage"]]


def _connector(table: Table, folder: Path) -> Connector:
    port = table.get("protocol_port")
    named = _text(table, "key_path")
    return Connector(
        os=_text(table, "os"),
        arch=_text(table, "arch"),
        protocol=_text(table, "protocol"),
        protocol_port=port if isinstance(port, int) else 0,
        username=_text(table, "username"),
        password=_text(table, "password"),
        key=_bytes(folder / named) if named else b"",
        use_static_credentials=table.get("use_static_credentials") is True,
    )


def _autoscaler(runner: Table) -> Table:
    return _table(runner.get("autoscaler"))


def _table(value: object) -> Table:
    return cast("Table", value) if isinstance(value, dict) else {}


def _text(table: Table, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
