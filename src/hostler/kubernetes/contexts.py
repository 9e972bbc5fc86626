"""Contexts: one context of a kubeconfig as a configuration that a client can use."""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.ports.clock import Clock
from hostler.ports.files import read_text, why_not_read
from hostler.ports.secret import Secret

from .config import ClusterConfig
from .credentials import Certificate, Credentials, FixedCredentials, Identity, TokenFile
from .exec_credentials import ExecCredentials, Program
from .kubeconfig import (
    ClusterEntry,
    ExecEntry,
    Kubeconfig,
    Located,
    UserEntry,
    kubeconfig_paths,
    read_kubeconfig,
)

E = TypeVar("E")

_EXEC_VERSIONS = frozenset(
    {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}
)


class Place(Struct, frozen=True, kw_only=True):
    """Where a kubeconfig is looked for: variables, the home folder, a context by name or None."""

    environment: Mapping[str, str]
    home: Path
    context: str | None = None


def from_kubeconfig(place: Place, clock: Clock) -> ClusterConfig:
    """Return the context that is named, else the current one; ConfigError says what is missing."""
    files = read_kubeconfig(kubeconfig_paths(place.environment, place.home))
    return _Context(files, place.context or files.current, clock).config()


class _Context:
    """One context on its way to a configuration; every error names it and its files."""

    def __init__(self, files: Kubeconfig, name: str, clock: Clock) -> None:
        self._files, self._name, self._clock = files, name, clock
        listed = ", ".join(map(str, files.files))
        self._origin = f"kubeconfig {listed}, context {name!r}" if name else f"kubeconfig {listed}"

    def config(self) -> ClusterConfig:
        if not self._name:
            raise self._wrong("no current-context is set, and none is named")
        context = self._found(self._files.contexts, self._name, "context").entry
        cluster = self._found(self._files.clusters, context.cluster, "cluster")
        entry = cluster.entry
        if not _is_address(entry.server):
            raise self._wrong(
                f"cluster {context.cluster!r} has no server that begins with https:// and has a "
                "host, and a port only from 1 to 65535"
            )
        authorities = self._pem(
            cluster, entry.certificate_authority, entry.certificate_authority_data
        )
        return ClusterConfig(
            server=entry.server,
            authorities=authorities.decode(errors="replace"),
            verified=not entry.insecure_skip_tls_verify,
            server_name=entry.tls_server_name or "",
            proxy=entry.proxy_url or "",
            namespace=context.namespace or "default",
            credentials=self._credentials(context.user, entry, authorities),
            origin=self._origin,
        )

    def _credentials(self, name: str, cluster: ClusterEntry, authorities: bytes) -> Credentials:
        if not name:
            return FixedCredentials(Identity())
        user = self._found(self._files.users, name, "user")
        entry = user.entry
        self._refuse(name, entry)
        certificate = self._certificate(name, user)
        if entry.token_file and not entry.token:
            path = _beside(user.file, entry.token_file)
            self._content(path)
            return TokenFile(path, self._clock, certificate)
        if entry.exec is not None and not entry.token and certificate is None:
            program = self._program(entry.exec, user.file, cluster, authorities)
            return ExecCredentials(program, self._clock)
        token = Secret(entry.token) if entry.token else None
        return FixedCredentials(Identity(token=token, certificate=certificate))

    def _refuse(self, name: str, user: UserEntry) -> None:
        if user.auth_provider is not None:
            raise self._wrong(
                f"user {name!r} has an auth-provider, which Kubernetes removed in 1.26; "
                "write an exec program, a token or a certificate instead"
            )
        if user.username is not None:
            raise self._wrong(f"user {name!r} has a password, which API servers no longer take")
        if user.act_as is not None:
            raise self._wrong(f"user {name!r} acts as another (as:), which is not supported")

    def _certificate(self, name: str, user: Located[UserEntry]) -> Certificate | None:
        entry = user.entry
        chain = self._pem(user, entry.client_certificate, entry.client_certificate_data)
        key = self._pem(user, entry.client_key, entry.client_key_data)
        if bool(chain) != bool(key):
            missing = "client-key" if chain else "client-certificate"
            raise self._wrong(f"user {name!r} has no {missing}")
        return Certificate(chain, key) if chain else None

    def _program(
        self, entry: ExecEntry, file: Path, cluster: ClusterEntry, authorities: bytes
    ) -> Program:
        if entry.api_version not in _EXEC_VERSIONS:
            raise self._wrong(f"the exec program speaks {entry.api_version!r}; v1 is understood")
        if entry.interactive_mode == "Always":
            raise self._wrong("the exec program asks a person (interactiveMode: Always)")
        command = entry.command
        return Program(
            command=str(_beside(file, command)) if "/" in command else command,
            arguments=entry.args or (),
            environment={variable.name: variable.value for variable in entry.env or ()},
            api_version=entry.api_version,
            hint=entry.install_hint or "",
            cluster=_cluster_info(cluster, authorities) if entry.provide_cluster_info else None,
        )

    def _pem(
        self,
        located: Located[ClusterEntry] | Located[UserEntry],
        path: str | None,
        coded: str | None,
    ) -> bytes:
        """Return what stands in base64, else in a file; the former holds, as for kubectl."""
        if coded:
            try:
                return base64.b64decode("".join(coded.split()), validate=True)
            except (binascii.Error, ValueError):
                raise self._wrong("certificate data that is no base64") from None
        return self._content(_beside(located.file, path)).encode() if path else b""

    def _content(self, path: Path) -> str:
        try:
            return read_text(path)
        except (OSError, ValueError) as error:
            raise self._wrong(f"{path} cannot be read: {why_not_read(error)}") from None

    def _found(self, among: Mapping[str, Located[E]], name: str, what: str) -> Located[E]:
        located = among.get(name)
        if located is None:
            listed = ", ".join(sorted(among)) or "none"
            raise self._wrong(f"there is no {what} {name!r}; there are: {listed}")
        return located

    def _wrong(self, why: str) -> ConfigError:
        return ConfigError(f"{self._origin}: {why}")


def _is_address(server: str) -> bool:
    """Tell whether a server can be spoken to."""
    try:
        parts = urlsplit(server)
        return parts.scheme in {"https", "http"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _beside(file: Path, path: str) -> Path:
    """Return a path of a kubeconfig: a relative one starts in the file's folder."""
    try:
        return file.parent / Path(path).expanduser()
    except RuntimeError:  # nobody is called so, or has no home: it is the name of a folder
        return file.parent / path


def _cluster_info(cluster: ClusterEntry, authorities: bytes) -> Mapping[str, object]:
    """Return what an exec program learns of the cluster."""
    info = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authorities).decode(),
        "proxy-url": cluster.proxy_url,
    }
    return {name: value for name, value in info.items() if value}
