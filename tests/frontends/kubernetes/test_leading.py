"""Leading: one process of several works, and its engine with it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

import pytest

from hostler.domain.errors import StoreBusy
from hostler.frontends.kubernetes.leading import (
    ALONE,
    LEASE,
    PATIENCE,
    Election,
    Successor,
    elected,
    while_leading,
)
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


class Others:
    """An election that another process has won, until it is over; and what is read then."""

    def __init__(self, failures: int = 0, *, hangs: bool = False) -> None:
        self.over, self.read, self.hangs, self._failures = False, 0, hangs, failures
        self.lacks = ""
        self.election = Election(leads=lambda: self.over, yields=lambda: not self.over)

    async def catch_up(self) -> None:
        await asyncio.sleep(3600 if self.hangs else 2)
        if self._failures:
            self._failures -= 1
            raise StoreBusy("not now")
        self.read += 1

    async def lacking(self) -> str:
        if self.lacks == "a store":
            raise StoreBusy("not now")
        return self.lacks


@asynccontextmanager
async def succeeding(election: Election, others: Others) -> AsyncGenerator[Election]:
    clock = SimClock(asyncio.get_running_loop())
    successor = Successor(election, others.catch_up, others.lacking, clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(successor.run())
        yield successor.election
        task.cancel()


async def test_who_takes_over_neither_leads_nor_takes_anything_before_it_has_caught_up() -> None:
    others = Others()
    async with succeeding(others.election, others) as election:
        await asyncio.sleep(10)
        assert (election.leads(), election.yields(), others.read) == (False, True, 0)
        others.over = True
        assert (election.leads(), election.yields()) == (False, True), "from this moment on"
        await asyncio.sleep(4)
        assert (election.leads(), election.yields(), others.read) == (True, False, 1)
        others.over = False
        assert election.yields()
        others.over = True
        await asyncio.sleep(4)
        assert (election.yields(), others.read) == (False, 2), "and so each time"


async def test_who_is_elected_for_a_moment_meanwhile_is_one_more_to_catch_up_with() -> None:
    others = Others()
    async with succeeding(others.election, others) as election:
        others.over = election.yields()
        await asyncio.sleep(2)
        others.over = False
        assert election.yields()
        others.over = True
        await asyncio.sleep(1.5)
        assert (election.yields(), others.read) == (True, 1)
        await asyncio.sleep(4)
        assert (election.yields(), others.read) == (False, 2)


async def test_who_cannot_read_tries_again_and_machines_wait_for_it_no_longer_than_so() -> None:
    others = Others(failures=2)
    async with succeeding(others.election, others) as election:
        others.over = election.yields()
        await asyncio.sleep(6)
        assert election.yields()
        await asyncio.sleep(6)
        assert (election.yields(), others.read) == (False, 1)
    others = Others(hangs=True)
    async with succeeding(others.election, others) as election:
        others.over = election.yields()
        await asyncio.sleep(PATIENCE.total_seconds() - 2)
        assert election.yields()
        await asyncio.sleep(4)
        assert (election.yields(), others.read) == (False, 0)


@pytest.mark.parametrize("lacks", ["a host of a machine", "a store"])
async def test_who_cannot_read_takes_nothing_while_it_lacks_a_host_that_a_machine_has(
    lacks: str,
) -> None:
    """It took the machine for lost, whose host went on working, and started another beside it."""
    others = Others(hangs=True)
    others.lacks = lacks
    async with succeeding(others.election, others) as election:
        others.over = election.yields()
        await asyncio.sleep(10 * PATIENCE.total_seconds())
        assert (election.leads(), election.yields()) == (False, True)
        others.lacks = ""
        await asyncio.sleep(PATIENCE.total_seconds() + 2)
        assert (election.leads(), election.yields(), others.read) == (True, False, 0)
    others = Others(hangs=True)
    others.lacks = lacks
    async with succeeding(others.election, others) as election:
        others.over = election.yields()
        await asyncio.sleep(PATIENCE.total_seconds() + 5)
        others.hangs = False
        await asyncio.sleep(PATIENCE.total_seconds() + 2)
        assert (election.leads(), others.read) == (True, 1), "it reads anew as soon as it can"


async def test_who_was_elected_takes_nothing_before_it_had_the_time_to_see_who_is() -> None:
    """Seed 238031361 of kubernetes: it ran a fleet as another was elected, which ran it as before.

    It had stood still for minutes, and asks anew only from then on.
    """
    others = Others()
    leads = True
    election = Election(leads=lambda: leads, yields=lambda: False)
    async with succeeding(election, others) as own:
        assert (own.leads(), own.yields()) == (True, False)
        leads = False
        await asyncio.sleep(0)
        assert (own.leads(), own.yields()) == (False, True)
        await asyncio.sleep(PATIENCE.total_seconds() - 1)
        assert own.yields()
        await asyncio.sleep(2)
        assert (own.yields(), others.read) == (False, 0), "nobody answers: machines wait no longer"
        leads = True
        assert (own.leads(), own.yields()) == (True, False)
        leads = False
        assert own.yields(), "and so each time"


async def test_who_was_elected_and_sees_another_one_catches_up_with_it() -> None:
    others = Others()
    others.over = True
    async with succeeding(others.election, others) as own:
        assert (own.leads(), own.yields()) == (True, False)
        others.over = False
        assert (own.leads(), own.yields()) == (False, True)
        others.over = True
        await asyncio.sleep(4)
        assert (own.leads(), own.yields(), others.read) == (True, False, 1)


async def test_who_has_seen_another_one_end_and_caught_up_waits_no_longer() -> None:
    others = Others()
    leads, yields = True, False
    election = Election(leads=lambda: leads, yields=lambda: yields)
    async with succeeding(election, others) as own:
        assert (own.leads(), own.yields()) == (True, False)
        leads, yields = False, True
        assert own.yields()
        yields = False
        await asyncio.sleep(4)
        assert (own.leads(), own.yields(), others.read) == (False, False, 1), "nobody is elected"


async def test_a_process_that_is_alone_has_nobody_to_catch_up_with() -> None:
    others = Others()
    async with succeeding(ALONE, others) as election:
        assert (election.leads(), election.yields()) == (True, False)
        await asyncio.sleep(60)
        assert (election.leads(), election.yields(), others.read) == (True, False, 0)
