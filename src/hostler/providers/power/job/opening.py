"""Opening: which cluster runs a node's Jobs, and a client of it. Nothing is sent."""

from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig, in_cluster, is_in_cluster
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.session import Session
from hostler.ports.power import PowerOpening

from .manifest import Bounds, Purpose
from .runner import JobRunner, NodeJobs
from .template import JobTemplate


class Wanted(Struct, frozen=True, kw_only=True):
    """What a method's table asks for; empty texts are left to the cluster's configuration."""

    node: str
    templates: dict[Purpose, JobTemplate]
    bounds: Bounds
    deadline: timedelta
    kubeconfig: str
    context: str
    namespace: str


def runner_of(wanted: Wanted, opening: PowerOpening) -> JobRunner:
    """Return what runs a node's Jobs; ConfigError where there is no cluster to speak to."""
    config = _cluster(wanted, opening)
    jobs = NodeJobs(
        node=wanted.node,
        namespace=wanted.namespace or config.namespace,
        templates=wanted.templates,
        bounds=wanted.bounds,
    )
    client = Client(session=Session(config), deadline=wanted.deadline)
    return JobRunner(client, jobs, opening.clock)


def _cluster(wanted: Wanted, opening: PowerOpening) -> ClusterConfig:
    """Return the cluster that is named, the one in which we run, or the user's own."""
    environment = opening.environment
    if wanted.kubeconfig:
        environment = {**environment, "KUBECONFIG": str(opening.folder / wanted.kubeconfig)}
    elif not wanted.context and is_in_cluster(environment):
        return in_cluster(environment, opening.clock)
    home = Path(environment.get("HOME", "/"))
    place = Place(environment=environment, home=home, context=wanted.context or None)
    try:
        return from_kubeconfig(place, opening.clock)
    except ConfigError as error:
        raise ConfigError(f"kubeconfig: {error}") from None
