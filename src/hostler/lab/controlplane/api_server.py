"""An API server with its etcd: two processes on loopback, with data that is thrown away."""

import secrets
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from msgspec import Struct

from hostler.simulators.ports import free_port

from .processes import NEVER, answers, process, wait


class ApiServer(Struct, frozen=True):
    """Where the server is: its kubeconfig has the contexts `admin` and `stranger`.

    `program` is every program of a control plane, by its first argument; `folder` has the logs.
    """

    kubeconfig: Path
    program: Path
    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate that the server shows."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def accounts_key(self) -> Path:
        """The private key that tokens of service accounts are signed with."""
        return self.folder / "accounts.key"


@contextmanager
def running(program: Path, folder: Path, ended: Event = NEVER) -> Generator[ApiServer]:
    """Run etcd and the API server for as long as the context lasts; NotServing, or Ended."""
    etcd, peer, port = (free_port() for _ in range(3))
    url, store = f"https://127.0.0.1:{port}", f"http://127.0.0.1:{etcd}"
    with ExitStack() as stack:
        command = _etcd(folder, store, f"http://127.0.0.1:{peer}")
        log = folder / "etcd.log"
        begun = stack.enter_context(process([str(program), "etcd", *command], log))
        wait(begun, lambda: answers(f"{store}/health"), ended)
        tokens = {"admin": secrets.token_hex(16), "stranger": secrets.token_hex(16)}
        command = _server(folder, store, port, tokens)
        log = folder / "apiserver.log"
        begun = stack.enter_context(process([str(program), "kube-apiserver", *command], log))
        authority = folder / "certificates" / "apiserver.crt"
        for page in ("readyz", "api/v1/namespaces/default"):  # its roles are there, and all else
            wait(begun, partial(answers, f"{url}/{page}", authority, tokens["admin"]), ended)
        yield ApiServer(_kubeconfig(folder, url, authority, tokens), program, folder)


def _etcd(folder: Path, store: str, peer: str) -> Sequence[str]:
    return (
        *("--name=test", f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn"),
        *(f"--listen-client-urls={store}", f"--advertise-client-urls={store}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
        f"--initial-cluster=test={peer}",
    )


def _server(folder: Path, store: str, port: int, tokens: dict[str, str]) -> Sequence[str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    _secret(folder / "accounts.key", key)
    groups = {"admin": "system:masters", "stranger": "strangers"}
    lines = (f"{tokens[name]},{name},{name},{group}\n" for name, group in groups.items())
    _secret(folder / "tokens.csv", "".join(lines).encode())
    return (
        *(f"--etcd-servers={store}", f"--secure-port={port}", "--bind-address=127.0.0.1"),
        *("--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"),
        *(f"--cert-dir={folder / 'certificates'}", f"--token-auth-file={folder / 'tokens.csv'}"),
        *(f"--service-account-key-file={folder / 'accounts.key'}", "--authorization-mode=RBAC"),
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        *("--service-account-issuer=https://kubernetes.default.svc",),
        *("--service-cluster-ip-range=10.96.0.0/16", "--v=1"),
    )


def _kubeconfig(folder: Path, url: str, authority: Path, tokens: dict[str, str]) -> Path:
    cluster = {"server": url, "certificate-authority": str(authority)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}} for name, token in tokens.items()],
        "contexts": [
            {"name": name, "context": {"cluster": "test", "user": name}} for name in tokens
        ],
        "current-context": "admin",
    }
    path = folder / "kubeconfig"
    _secret(path, msgspec.json.encode(config))  # which is YAML
    return path


def _secret(path: Path, content: bytes) -> None:
    """Write a file that its owner alone may read."""
    path.touch(0o600)
    path.write_bytes(content)
