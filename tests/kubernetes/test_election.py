"""Elections in simulated time: skewed walls, pauses, lost answers; at most one believes."""

import asyncio
import contextlib
import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from hostler.kubernetes.election import LEASES, Candidate, Elector, Lease, LeaseSpec, Terms
from hostler.kubernetes.errors import AlreadyExists, Conflict, NotFound, Timeout
from hostler.kubernetes.objects import Key, micro_time
from hostler.kubernetes.resources import Resource
from hostler.testing.time.clock import RigClock, SimClock


class Server:
    """Leases with versions; `loses` tells of the next writes whether their answer is lost."""

    def __init__(self) -> None:
        self.leases: dict[Key, Lease] = {}
        self.version = 0
        self.loses = list[bool]()

    async def get(self, resource: Resource[Lease], key: Key) -> Lease:
        assert resource is LEASES
        if key not in self.leases:
            raise NotFound("none")
        return self.leases[key]

    async def create(self, resource: Resource[Lease], item: Lease) -> Lease:
        assert resource is LEASES
        key = Key(item.metadata.namespace, item.metadata.name)
        if key in self.leases:
            raise AlreadyExists("there")
        return self._save(key, item)

    async def replace(self, resource: Resource[Lease], item: Lease) -> Lease:
        key = Key(item.metadata.namespace, item.metadata.name)
        there = await self.get(resource, key)
        if there.metadata.resource_version != item.metadata.resource_version:
            raise Conflict("stale")
        return self._save(key, item)

    def _save(self, key: Key, item: Lease) -> Lease:
        self.version += 1
        metadata = msgspec.structs.replace(item.metadata, resource_version=str(self.version))
        self.leases[key] = msgspec.structs.replace(item, metadata=metadata)
        if self.loses and self.loses.pop(0):
            raise Timeout("lost", unknown=True)
        return self.leases[key]

    @property
    def spec(self) -> LeaseSpec:
        return self.leases[Key("ns", "engine")].spec


def elector(server: Server, name: str, clock: SimClock | RigClock) -> Elector:
    candidate = Candidate(identity=name, namespace="ns", terms=Terms())
    return Elector(server, candidate, clock, random.Random(name).random)


def test_micro_time_has_six_digits_always() -> None:
    assert micro_time(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00.000000Z"
    assert micro_time(datetime(2026, 1, 2, 3, 4, 5, 60, UTC)) == "2026-01-02T03:04:05.000060Z"


def test_terms_under_which_two_may_believe_are_refused() -> None:
    with pytest.raises(ValueError, match="retry < belief < duration"):
        Terms(duration=timedelta(seconds=10), belief=timedelta(seconds=10))


async def test_the_first_creates_and_the_other_waits() -> None:
    server, clock = Server(), RigClock()
    first, second = elector(server, "one", clock), elector(server, "two", clock)
    held = await first.attempt("engine")
    assert held is not None
    assert held.epoch == 1
    assert await second.attempt("engine") is None
    assert server.spec.holder_identity == "one"
    assert server.spec.lease_transitions == 1


async def test_a_take_over_waits_a_whole_duration_of_ones_own_clock() -> None:
    server, clock = Server(), RigClock()
    first, second = elector(server, "one", clock), elector(server, "two", clock)
    await first.attempt("engine")
    clock.pass_by(timedelta(hours=1))
    assert await second.attempt("engine") is None  # an old date is nothing: it was seen just now
    clock.pass_by(timedelta(seconds=14))
    assert await second.attempt("engine") is None
    clock.pass_by(timedelta(seconds=1))
    held = await second.attempt("engine")
    assert held is not None
    assert held.epoch == 2
    assert await first.attempt("engine") is None


async def test_a_longer_lease_of_the_holder_is_respected() -> None:
    server, clock = Server(), RigClock()
    first, second = elector(server, "one", clock), elector(server, "two", clock)
    first._candidate = Candidate(
        identity="one", namespace="ns", terms=Terms(duration=timedelta(minutes=2))
    )
    await first.attempt("engine")
    await second.attempt("engine")
    clock.pass_by(timedelta(seconds=100))
    assert await second.attempt("engine") is None
    clock.pass_by(timedelta(seconds=20))
    assert await second.attempt("engine") is not None


async def test_belief_ends_before_a_take_over_may_be() -> None:
    server, clock = Server(), RigClock()
    first = elector(server, "one", clock)
    await first.attempt("engine")
    clock.pass_by(timedelta(seconds=9))
    assert first.holding("engine") is not None
    clock.pass_by(timedelta(seconds=1))
    assert first.holding("engine") is None


async def test_a_release_is_taken_at_once_and_counts() -> None:
    server, clock = Server(), RigClock()
    first, second = elector(server, "one", clock), elector(server, "two", clock)
    await first.attempt("engine")
    await first.release("engine")
    assert first.holding("engine") is None
    assert not server.spec.holder_identity
    held = await second.attempt("engine")
    assert held is not None
    assert held.epoch == 2
    await first.release("engine")
    assert server.spec.holder_identity == "two"


async def test_a_lease_that_was_removed_is_not_taken_under_its_holder() -> None:
    server, clock = Server(), RigClock()
    first, second = elector(server, "one", clock), elector(server, "two", clock)
    await first.attempt("engine")
    await second.attempt("engine")
    server.leases.clear()
    assert await second.attempt("engine") is None
    clock.pass_by(timedelta(seconds=15))
    held = await second.attempt("engine")
    assert held is not None
    assert held.epoch == 2


async def test_a_removal_is_waited_out_from_when_it_was_seen() -> None:
    server, clock = Server(), RigClock()
    first, second = elector(server, "one", clock), elector(server, "two", clock)
    await first.attempt("engine")
    await second.attempt("engine")
    clock.pass_by(timedelta(seconds=9))
    await first.attempt("engine")  # a renewal that the other never sees
    server.leases.clear()
    clock.pass_by(timedelta(seconds=7))
    assert await second.attempt("engine") is None
    assert first.holding("engine") is not None


async def test_an_answer_that_was_lost_is_no_belief_and_no_double_epoch() -> None:
    server, clock = Server(), RigClock()
    first = elector(server, "one", clock)
    server.loses = [True]
    with pytest.raises(Timeout):
        await first.attempt("engine")
    assert first.holding("engine") is None
    held = await first.attempt("engine")
    assert held is not None
    assert held.epoch == 1


@pytest.mark.looptime
@pytest.mark.parametrize("seed", range(3))
async def test_at_most_one_believes_and_epochs_grow(seed: int) -> None:
    """Three electors with skewed walls, interrupted at random and losing answers, for an hour."""
    loop, server, draw = asyncio.get_running_loop(), Server(), random.Random(seed)
    clocks = [SimClock(loop, boot=at * 1e5, wall=at * -4000.0) for at in range(3)]
    electors = [elector(server, f"e{at}", clock) for at, clock in enumerate(clocks)]
    epochs = list[tuple[int, int]]()

    def check() -> None:
        held = [
            (at, holding.epoch)
            for at, each in enumerate(electors)
            if (holding := each.holding("engine")) is not None
        ]
        assert len(held) <= 1
        if held and (not epochs or epochs[-1] != held[0]):
            epochs.append(held[0])

    async def live(each: Elector) -> None:
        while True:
            try:
                await asyncio.sleep(draw.choice([1.0, 2.0, 2.0, 3.0, 30.0]))
                server.loses = [draw.random() < 0.2]
                await each.attempt("engine")
            except Timeout:
                continue

    async def an_hour() -> None:
        async with asyncio.timeout(3600), asyncio.TaskGroup() as group:
            for each in electors:
                group.create_task(live(each))
            while True:
                await asyncio.sleep(0.5)
                check()

    with pytest.raises(TimeoutError):
        await an_hour()
    assert len(epochs) > 5
    holders: dict[int, int] = {}
    for at, epoch in epochs:
        assert holders.setdefault(epoch, at) == at
    assert [epoch for _, epoch in epochs] == sorted(epoch for _, epoch in epochs)


class Hanging(Server):
    """Answers, but for the calls of which the numbers are in `hung`: those hang for half a minute.

    So does a client whose connection leads to a computer that is no more.
    """

    def __init__(self, *hung: int) -> None:
        super().__init__()
        self.hung, self.asked = hung, 0

    async def get(self, resource: Resource[Lease], key: Key) -> Lease:
        self.asked += 1
        if self.asked in self.hung:
            await asyncio.sleep(30)
        return await super().get(resource, key)


@pytest.mark.looptime
async def test_one_call_that_hangs_costs_no_lease() -> None:
    server, clock = Hanging(5, 20), SimClock(asyncio.get_running_loop())
    each = elector(server, "one", clock)
    running = asyncio.get_running_loop().create_task(each.run(["engine"]))
    await asyncio.sleep(0.1)
    for _ in range(600):
        assert each.holding("engine") is not None
        await asyncio.sleep(0.2)
    assert server.asked > 20
    running.cancel()
    await asyncio.wait([running])


@pytest.mark.looptime
async def test_an_end_does_not_wait_for_a_server_that_hangs() -> None:
    server, loop = Hanging(*range(3, 100)), asyncio.get_running_loop()
    each = elector(server, "one", SimClock(loop))
    running = loop.create_task(each.run(["engine"]))
    await asyncio.sleep(1)
    server.asked = 2
    running.cancel()
    began = loop.time()
    await asyncio.wait([running])
    assert loop.time() - began < 10
    assert running.cancelled()


@pytest.mark.looptime
async def test_several_leases_are_renewed_and_given_back_at_the_end() -> None:
    server, clock = Server(), SimClock(asyncio.get_running_loop())
    each = elector(server, "one", clock)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(120):
            await each.run(["engine", "other"])
    assert [lease.spec.holder_identity for lease in server.leases.values()] == [None, None]
    assert each.holding("engine") is None
