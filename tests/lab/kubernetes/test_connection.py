"""Our client over the simulated API server, in simulated time, while things go wrong."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from random import Random

import msgspec
import pytest

from hostler.kubernetes.client import Client
from hostler.kubernetes.election import Candidate, Elector, Terms
from hostler.kubernetes.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    Timeout,
    TooManyRequests,
    Unavailable,
)
from hostler.kubernetes.informer import Informer, Surroundings
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import Deletion, Selection, merge_patch
from hostler.kubernetes.resources import Resource
from hostler.lab.kubernetes.connection import Connection
from hostler.simulators.kubernetes.faults import Fault, Faults
from hostler.simulators.kubernetes.gateway import BEHIND, Gateway
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A ConfigMap."""

    metadata: Metadata
    data: dict[str, str] = {}


MAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap", model=Settings)
HERE = Selection(namespace="default")


@dataclass(slots=True)
class World:
    """A server behind a gateway, a clock, and a client."""

    server: KubernetesServer
    gateway: Gateway
    clock: SimClock
    client: Client

    def names(self) -> set[str]:
        found = self.server.cluster.storage.everything("configmaps", "default")
        return {item["metadata"]["name"] for item in found}


def a_world(seed: int = 1) -> World:
    clock = SimClock(asyncio.get_running_loop())
    server = KubernetesServer(clock, Random(seed))
    gateway = Gateway(server, Faults(Random(seed)))
    client = Client(session=Connection(gateway), deadline=timedelta(seconds=10))
    return World(server, gateway, clock, client)


def a_map(name: str, **data: str) -> Settings:
    return Settings(metadata=Metadata(name=name, namespace="default"), data=data)


@pytest.mark.parametrize(
    ("fault", "error", "done"),
    [
        (Fault.RESET, Unavailable, False),
        (Fault.REPLY_LOST, Unavailable, True),
        (Fault.HUNG, Timeout, True),
        (Fault.UNAVAILABLE, Unavailable, False),
        (Fault.OVERLOADED, TooManyRequests, False),
        (Fault.INTERNAL, Unavailable, False),
        (Fault.TIMED_OUT, Timeout, True),
        (Fault.WEBHOOK_REFUSES, Forbidden, False),
        (Fault.WEBHOOK_DOWN, Unavailable, False),
    ],
)
async def test_a_fault_is_one_error_and_has_its_effect_or_none(
    fault: Fault, error: type[ApiError], *, done: bool
) -> None:
    world = a_world()
    world.gateway.faults.script(fault, "POST")
    with pytest.raises(error) as refused:
        await world.client.create(MAPS, a_map("one"))
    assert ("one" in world.names()) == done
    assert refused.value.unknown or not done
    assert world.gateway.faults.counts == {fault: 1}


async def test_a_conflict_is_another_writer() -> None:
    world = a_world()
    made = await world.client.create(MAPS, a_map("one"))
    world.gateway.faults.script(Fault.CONFLICT, "PUT")
    with pytest.raises(Conflict):
        await world.client.replace(MAPS, made)
    newer = await world.client.get(MAPS, Key("default", "one"))
    assert newer.metadata.resource_version != made.metadata.resource_version


async def test_an_outage_ends() -> None:
    world = a_world()
    world.gateway.take_down()
    with pytest.raises(Unavailable) as refused:
        await world.client.create(MAPS, a_map("one"))
    assert not refused.value.unknown
    world.gateway.bring_up()
    await world.client.create(MAPS, a_map("one"))


async def test_a_person_deletes_by_force_what_finalizers_hold() -> None:
    world = a_world()
    held = Metadata(name="held", namespace="default", finalizers=("example.com/a",))
    await world.client.create(MAPS, Settings(metadata=held))
    key = Key("default", "held")
    await world.client.delete(MAPS, key, Deletion())
    assert (await world.client.get(MAPS, key)).metadata.deletion_timestamp is not None
    assert world.gateway.delete_by_force("configmaps", "default", "held")
    with pytest.raises(NotFound):
        await world.client.get(MAPS, key)
    assert not world.gateway.delete_by_force("configmaps", "default", "held")


@asynccontextmanager
async def informed(world: World) -> AsyncGenerator[Informer[Settings]]:
    around = Surroundings(clock=world.clock, draw=Random(2).random)
    informer = Informer(world.client, MAPS, around, HERE)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(informer.run())
        await informer.synced.wait()
        yield informer
        running.cancel()


async def test_a_watch_that_is_behind_brings_each_event_late_and_in_order() -> None:
    world = a_world()
    world.gateway.faults.script(Fault.WATCH_BEHIND)
    async with informed(world) as informer:
        for number in range(3):
            await world.client.create(MAPS, a_map(f"m-{number}"))
            assert len(informer.cache) == 0
        await asyncio.sleep(BEHIND[1] + 1)
        assert [one.metadata.name for one in informer.cache] == ["m-0", "m-1", "m-2"]


RATES = {
    Fault.RESET: 0.1,
    Fault.REPLY_LOST: 0.1,
    Fault.UNAVAILABLE: 0.1,
    Fault.OVERLOADED: 0.05,
    Fault.WATCH_EXPIRED: 0.2,
    Fault.WATCH_LATE: 0.3,
    Fault.WATCH_BEHIND: 0.3,
}


@pytest.mark.parametrize("seed", range(4))
async def test_an_informer_knows_in_the_end_what_is_there(seed: int) -> None:
    """Under cuts, expiries, outages and silence it misses nothing, and ends as the server is."""
    world, random = a_world(seed), Random(seed)
    world.gateway.faults.rates = RATES
    async with informed(world) as informer:
        for step in range(200):
            await asyncio.sleep(random.uniform(0, 5))
            await _disturb(world, random, step)
        world.gateway.faults.rates = {}
        world.gateway.bring_up()
        await asyncio.sleep(400)
        found = world.server.cluster.storage.everything("configmaps", "default")
        there = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in found}
        seen = {one.metadata.name: one.metadata.resource_version for one in informer.cache}
        assert seen == there
    assert len(world.gateway.faults.counts) >= 4


async def _disturb(world: World, random: Random, step: int) -> None:
    """Write something, and now and then let something go wrong."""
    names = sorted(world.names())
    chance = random.random()
    if chance < 0.04:
        world.gateway.cut_watches()
    elif chance < 0.06:
        world.server.cluster.storage.compact()
        world.gateway.cut_watches()
    elif chance < 0.08:
        world.gateway.take_down()
    elif chance < 0.2:
        world.gateway.bring_up()
    try:
        if names and random.random() < 0.3:
            await world.client.delete(MAPS, Key("default", random.choice(names)))
        elif names and random.random() < 0.5:
            key = Key("default", random.choice(names))
            await world.client.patch(MAPS, key, merge_patch({"data": {"step": str(step)}}))
        else:
            await world.client.create(MAPS, a_map(f"m-{step}"))
    except ApiError:
        pass


@pytest.mark.parametrize("seed", range(4))
async def test_a_lease_has_one_holder_at_a_time_whatever_goes_wrong(seed: int) -> None:
    world, random = a_world(seed), Random(seed)
    world.gateway.faults.rates = {**RATES, Fault.CONFLICT: 0.2, Fault.HUNG: 0.05}
    terms = Terms(
        duration=timedelta(seconds=15), belief=timedelta(seconds=10), retry=timedelta(seconds=2)
    )
    electors = [
        Elector(
            world.client.within(timedelta(seconds=3)),
            Candidate(identity=name, namespace="default", terms=terms),
            SimClock(asyncio.get_running_loop(), boot=1000.0 * number),
            Random(seed + number).random,
        )
        for number, name in enumerate(("a", "b", "c"))
    ]
    epochs = list[int]()

    async def strive(elector: Elector) -> None:
        while True:
            with suppress(ApiError):
                await elector.attempt("fleet")
            await asyncio.sleep(random.uniform(1, 3))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(strive(elector)) for elector in electors]
        for _ in range(2500):
            await asyncio.sleep(0.5)
            if random.random() < 0.005:
                world.gateway.take_down()
            elif random.random() < 0.03:
                world.gateway.bring_up()
            held = [one.holding("fleet") for one in electors]
            found = [one.epoch for one in held if one is not None]
            assert len(found) <= 1
            epochs += found
        for task in tasks:
            task.cancel()
    assert epochs == sorted(epochs)
    assert len(set(epochs)) > 1
