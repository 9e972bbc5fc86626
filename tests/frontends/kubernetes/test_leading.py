"""Leading: one process of several works, and its engine with it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

import pytest

from hostler.frontends.kubernetes.leading import LEASE, Election, elected, while_leading
from hostler.kubernetes.client import Client
from hostler.kubernetes.election import LEASES, Candidate
from hostler.kubernetes.objects import Key
from hostler.lab.kubernetes.connection import Connection
from hostler.lab.kubernetes.routes import Route
from hostler.lab.kubernetes.simulated_cluster import SimulatedCluster
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

SPACE = "machines"


class Replica:
    """A process that stands for election, over a way of its own."""

    def __init__(self, cluster: SimulatedCluster, name: str, clock: SimClock) -> None:
        self.route, self.clock, self.name = Route(), clock, name
        self.client = Client(session=Connection(cluster.gateway, route=self.route))

    @asynccontextmanager
    async def standing(self) -> AsyncGenerator[Election]:
        candidate = Candidate(identity=self.name, namespace=SPACE)
        async with elected(self.client, candidate, self.clock, Random(1).random) as election:
            yield election


def replicas() -> tuple[Replica, Replica]:
    clock = SimClock(asyncio.get_running_loop())
    cluster = SimulatedCluster(clock, Random(1))
    cluster.make_namespace(SPACE)
    return Replica(cluster, "a", clock), Replica(cluster, "b", clock)


async def test_an_engine_yields_while_another_process_is_elected_and_no_longer() -> None:
    first, second = replicas()
    async with first.standing() as one:
        await asyncio.sleep(1)
        async with second.standing() as two:
            await asyncio.sleep(5)
            assert (one.leads(), one.yields()) == (True, False)
            assert (two.leads(), two.yields()) == (False, True)
            first.route.cut()
            await asyncio.sleep(25)
            assert (two.leads(), two.yields()) == (True, False)
            assert (one.leads(), one.yields()) == (False, False), "nobody else was seen"
            first.route.mend()
            await asyncio.sleep(5)
            assert (one.leads(), one.yields()) == (False, True)


async def test_what_was_won_is_given_back_at_the_end() -> None:
    first, _ = replicas()
    async with first.standing() as one:
        await asyncio.sleep(1)
        assert one.leads()
    lease = await first.client.get(LEASES, Key(SPACE, LEASE))
    assert not lease.spec.holder_identity


async def test_work_lasts_as_long_as_the_lead() -> None:
    clock = SimClock(asyncio.get_running_loop())
    leads, at_work = True, 0

    async def work() -> None:
        nonlocal at_work
        at_work += 1
        try:
            await asyncio.sleep(3600)
        finally:
            at_work -= 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(while_leading(work, clock, lambda: leads))
        await asyncio.sleep(2)
        assert at_work == 1
        leads = False
        await asyncio.sleep(2)
        assert at_work == 0
        leads = True
        await asyncio.sleep(2)
        assert at_work == 1
        task.cancel()
