"""The store in a fake cluster without a socket between them, which may be cut at any call."""

import asyncio
from random import Random

from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import Unavailable
from hostler.kubernetes.session import Call
from hostler.lab.harness.cluster_session import ClusterSession
from hostler.ports.clock import Clock
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.stores.kubernetes.batches import Batches, Writing
from hostler.stores.kubernetes.objects import Objects
from hostler.stores.kubernetes.store import KubernetesStore

NAMESPACE, NAME = "default", "hostler"


async def waited(call: Call) -> None:
    """Let others go on for a moment before the call."""
    del call
    await asyncio.sleep(0)


async def lost(call: Call) -> None:
    """Lose a call or its answer."""
    raise Unavailable(f"{call.method} {call.path}: lost", unknown=True)


def session_of(server: KubernetesServer) -> ClusterSession:
    """Return a session whose calls take a moment."""
    return ClusterSession(server, before=waited)


def opened(
    session: ClusterSession, clock: Clock, writer: str, installation: str | None = "i-own"
) -> KubernetesStore:
    """Return a handle of the store in the server's cluster."""
    writing = Writing(
        writer=writer, installation=installation, clock=clock, draw=Random(writer).random
    )
    return KubernetesStore(Batches(objects_in(session), writing))


def read_only(session: ClusterSession, clock: Clock) -> KubernetesStore:
    """Return a handle that makes no journal."""
    writing = Writing(
        writer="r", installation="i-none", clock=clock, draw=Random("r").random, reading=True
    )
    return KubernetesStore(Batches(objects_in(session), writing))


def objects_in(session: ClusterSession) -> Objects:
    """Return the objects of the journal of these tests."""
    return Objects(client=Client(session=session), namespace=NAMESPACE, name=NAME)
