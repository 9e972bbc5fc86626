"""Which cluster to speak to, and as whom: from a kubeconfig, or from inside a Pod."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hostler.domain.errors import ConfigError
from hostler.ports.clock import Clock
from hostler.ports.files import read_text, why_not_read

from .credentials import Credentials, TokenFile

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a Pod finds its token, its namespace, and the authority of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """A server, how its certificate is checked, who we are there, and where we work.

    `authorities` is PEM, empty for the system's; `proxy` is empty for the environment's; `origin`
    says where all this was read, for errors.
    """

    server: str
    credentials: Credentials = field(repr=False)
    authorities: str = field(default="", repr=False)
    verified: bool = True
    server_name: str = ""
    proxy: str = field(default="", repr=False)
    namespace: str = "default"
    origin: str = ""


def in_cluster(
    environment: Mapping[str, str], clock: Clock, folder: Path = SERVICE_ACCOUNT
) -> ClusterConfig:
    """Return what a Pod is given; ConfigError, which names what is missing, outside of one."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "this is no Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    authorities, namespace = _text(folder / "ca.crt"), _text(folder / "namespace")
    _text(folder / "token")
    return ClusterConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        authorities=authorities,
        credentials=TokenFile(folder / "token", clock),
        namespace=namespace.strip() or "default",
        origin="the service account of this Pod",
    )


def is_in_cluster(environment: Mapping[str, str]) -> bool:
    """Tell whether this process runs in a Pod that may speak to its API server."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST"))


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the service account's {path} cannot be read: {why_not_read(error)}"
        ) from None
