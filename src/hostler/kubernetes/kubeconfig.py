"""Kubeconfig files: found, read and merged as kubectl does; hostile ones end in a sentence.

No error shows any value of a file besides the names of contexts, clusters, users and files.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml
from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.ports.files import read_text, why_not_read


class ClusterEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """How one cluster is reached."""

    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class Variable(msgspec.Struct, frozen=True):
    """A variable for a program."""

    name: str
    value: str = ""


class ExecEntry(msgspec.Struct, frozen=True, rename="camel"):
    """A program that prints credentials."""

    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None


class UserEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """Who one is; what has no field here is not used, and `auth-provider` is refused."""

    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    exec: ExecEntry | None = None
    auth_provider: Any = None
    username: str | None = None
    act_as: str | None = msgspec.field(name="as", default=None)


class ContextEntry(msgspec.Struct, frozen=True):
    """Which cluster, as which user, in which namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str | None = None


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: ClusterEntry | None = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: UserEntry | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: ContextEntry | None = None


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str | None = None
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


E = TypeVar("E")


class Located(Struct, Generic[E], frozen=True):
    """An entry and the file that it stands in: its relative paths start there."""

    entry: E
    file: Path


class Kubeconfig(Struct, frozen=True, kw_only=True):
    """All files merged: of each name, and of the current context, the first one holds."""

    files: tuple[Path, ...]
    current: str
    clusters: Mapping[str, Located[ClusterEntry]]
    users: Mapping[str, Located[UserEntry]]
    contexts: Mapping[str, Located[ContextEntry]]


def kubeconfig_paths(environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the files that kubectl would read: of KUBECONFIG, else the one at home."""
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return tuple(map(Path, named)) or (home / ".kube" / "config",)


def read_kubeconfig(paths: tuple[Path, ...]) -> Kubeconfig:
    """Return the files merged; missing ones are passed over, unless none is there: ConfigError."""
    present = tuple(path for path in paths if is_there(path))
    if not present:
        raise ConfigError(f"there is no kubeconfig: {', '.join(map(str, paths))} does not exist")
    current = ""
    clusters: dict[str, Located[ClusterEntry]] = {}
    users: dict[str, Located[UserEntry]] = {}
    contexts: dict[str, Located[ContextEntry]] = {}
    for path in present:
        file = _read(path)
        current = current or file.current_context or ""
        for cluster in file.clusters or ():
            clusters.setdefault(cluster.name, Located(cluster.cluster or ClusterEntry(), path))
        for user in file.users or ():
            users.setdefault(user.name, Located(user.user or UserEntry(), path))
        for context in file.contexts or ():
            contexts.setdefault(context.name, Located(context.context or ContextEntry(), path))
    return Kubeconfig(
        files=present, current=current, clusters=clusters, users=users, contexts=contexts
    )


def is_there(path: Path) -> bool:
    """Tell whether a file may be there: one in a folder that we may not see is, and fails later."""
    try:
        path.stat()  # newer `Path.exists` takes what may not be seen for missing
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def _read(path: Path) -> _File:
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"kubeconfig {path} cannot be read: {why_not_read(error)}") from None
    try:
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader that does even less
        return msgspec.convert({} if content is None else content, _File, strict=False)
    except yaml.YAMLError as error:
        raise ConfigError(f"kubeconfig {path} is not valid YAML{_where(error)}") from None
    except msgspec.ValidationError as error:  # its text has types and paths, and no values
        raise ConfigError(f"kubeconfig {path}: {error}") from None
    except (RecursionError, ValueError, TypeError):
        raise ConfigError(f"kubeconfig {path} is no kubeconfig") from None


def _where(error: yaml.YAMLError) -> str:
    """Return the place of an error; its own text would quote the file, and so perhaps a secret."""
    if isinstance(error, _Reference):
        return ": it has references (*name), which are not followed"
    line: object = getattr(getattr(error, "problem_mark", None), "line", None)
    return f", line {line + 1}" if isinstance(line, int) else ""


class _Reference(yaml.YAMLError):
    """A reference to another place in the file."""


_PLAIN = frozenset({"tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"})


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Return what plain words may mean besides themselves: true, false, null."""
    return {
        first: [pair for pair in pairs if pair[0] in _PLAIN]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _Loader(yaml.SafeLoader):
    """Reads no numbers and no dates (a token may look like one), and follows no references.

    References would make a small file an endless one.
    """

    yaml_implicit_resolvers = _resolvers()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node that is no reference."""
        event: object = self.peek_event()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there
        if isinstance(event, yaml.AliasEvent):
            raise _Reference
        return super().compose_node(parent, index)
