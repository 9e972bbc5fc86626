"""What the tests of this folder share: an API server of Kubernetes itself, on loopback.

Its programs are built from Go modules the first time, which takes five minutes on two cores.
"""

import os
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from hostler.app.clock import SystemClock
from hostler.kubernetes.client import Client
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.session import Session
from hostler.lab.controlplane.api_server import ApiServer, running
from hostler.lab.controlplane.controllers import controllers
from hostler.lab.controlplane.core import core
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.lab.controlplane.programs import CLUSTER_API, CONTROL_PLANE, HELM

sys.path.insert(0, str(Path(__file__).parent.parent / "deploy"))
sys.path.insert(0, str(Path(__file__).parent))

from rendering import Helm

collect_ignore = [] if "CLUSTER_AUTOSCALER" in os.environ else ["test_cluster_autoscaler.py"]


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Kubernetes' own API server, with etcd, for all tests of a run: nobody else acts on it."""
    with running(CONTROL_PLANE.program("testcluster"), tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Another server, with controllers, a scheduler, and Nodes that need no kubelet."""
    with (
        running(CONTROL_PLANE.program("testcluster"), tmp_path_factory.mktemp("cluster")) as server,
        controllers(server),
    ):
        yield server


@pytest.fixture(scope="session")
def core_cluster(cluster: ApiServer) -> Iterator[ApiServer]:
    """The same cluster with Cluster API's core, which is built the first time."""
    with core(cluster, CLUSTER_API.program("core")) as running_core:
        yield running_core


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm itself, which is built the first time."""
    return Helm(HELM.program("helm"), tmp_path_factory.mktemp("helm"))


@pytest.fixture
def kubectl(cluster: ApiServer) -> Kubectl:
    """Kubernetes' own command line, for the cluster."""
    return Kubectl(cluster)


@pytest_asyncio.fixture
async def client(api_server: ApiServer) -> AsyncGenerator[Client]:
    """A client that may do everything."""
    async for one in _client(api_server, "admin"):
        yield one


@pytest_asyncio.fixture
async def stranger(api_server: ApiServer) -> AsyncGenerator[Client]:
    """A client that may do nothing."""
    async for one in _client(api_server, "stranger"):
        yield one


async def _client(api_server: ApiServer, context: str) -> AsyncGenerator[Client]:
    environment = {"KUBECONFIG": str(api_server.kubeconfig)}
    place = Place(environment=environment, home=api_server.kubeconfig.parent, context=context)
    session = Session(from_kubeconfig(place, SystemClock()))
    try:
        yield Client(session=session)
    finally:
        await session.close()
