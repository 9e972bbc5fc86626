"""Connecting: which cluster is meant, and a client of it while it is needed."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig, in_cluster, is_in_cluster
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.kubeconfig import is_there
from hostler.kubernetes.session import Session
from hostler.ports.clock import Clock


class Target(Struct, frozen=True, kw_only=True):
    """Which cluster, and which namespace of it; what is None is as the environment has it."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None


class Connected(Struct, frozen=True, kw_only=True):
    """A client, the namespace that is meant, and where that was read, for messages."""

    client: Client
    namespace: str
    origin: str


def config_of(target: Target, environment: Mapping[str, str], clock: Clock) -> ClusterConfig:
    """Return how to reach the cluster: by a kubeconfig, or in a Pod by its service account.

    ConfigError names what is missing, and the context.
    """
    if target.kubeconfig is None and target.context is None and is_in_cluster(environment):
        return in_cluster(environment, clock)
    variables = dict(environment)
    if target.kubeconfig is not None:
        if not is_there(target.kubeconfig):
            raise ConfigError(f"{target.kubeconfig}: there is no such kubeconfig file")
        variables["KUBECONFIG"] = str(target.kubeconfig)
    home = Path(environment.get("HOME", "/"))
    return from_kubeconfig(Place(environment=variables, home=home, context=target.context), clock)


@asynccontextmanager
async def connected(
    target: Target, environment: Mapping[str, str], clock: Clock
) -> AsyncGenerator[Connected]:
    """Give a client of the cluster, and close its connections at the end."""
    config = config_of(target, environment, clock)
    session = Session(config)
    try:
        yield Connected(
            client=Client(session=session),
            namespace=target.namespace or config.namespace,
            origin=config.origin,
        )
    finally:
        await session.close()
