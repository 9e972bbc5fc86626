"""An address of a pool, whose tags somebody takes away while a machine has it.

It became the machine's own, and was deleted with it; or its machine was replaced, as if it were
gone.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from hostler.controllers.plan import plan
from hostler.domain.ids import ResourceId
from hostler.domain.model.resource import taken_id
from hostler.lab.scenes.servers import PLAIN, ZONE, Hostler, Rig, play

from .servers_by_hand import ask

S, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
POOL = "kept"
TEMPLATE = dataclasses.replace(PLAIN, pool=POOL)
Taken = Callable[[Rig, Hostler, str], Awaitable[Hostler]]
"""Takes the tags of an address away at some time; returns the hostler that then runs."""
IPS = f"/instance/v1/zones/{ZONE}/ips"


def stocked(rig: Rig) -> str:
    """Return the one address that somebody keeps in the pool from now on."""
    project = rig.world.options.project
    made = ask(rig, "POST", IPS, {"type": "routed_ipv4", "tags": [POOL], "project": project})
    return str(made["ip"]["id"])


async def while_it_starts(rig: Rig, hostler: Hostler, address: str) -> Hostler:
    while not rig.servers():
        await rig.clock.sleep(S / 10)
    ask(rig, "PATCH", f"{IPS}/{address}", {"tags": []})
    return hostler


async def while_it_is_ready(rig: Rig, hostler: Hostler, address: str) -> Hostler:
    await hostler.rests(1, 10 * MINUTE)
    ask(rig, "PATCH", f"{IPS}/{address}", {"tags": []})
    return hostler


async def while_no_engine_runs(rig: Rig, hostler: Hostler, address: str) -> Hostler:
    await hostler.rests(1, 10 * MINUTE)
    await hostler.stop()
    ask(rig, "PATCH", f"{IPS}/{address}", {"tags": []})
    return rig.hostler(store=hostler.store, template=TEMPLATE)


@pytest.mark.parametrize("taken", [while_it_starts, while_it_is_ready, while_no_engine_runs])
def test_it_stays_its_machines_and_goes_back_to_its_pool(taken: Taken) -> None:
    async def scene(rig: Rig) -> None:
        address = stocked(rig)
        hostler = await taken(rig, rig.hostler(template=TEMPLATE), address)
        await rig.clock.sleep(10 * MINUTE)
        assert rig.world.calls["server.create"] == 1
        assert await hostler.ready() == 1
        (tagged,) = rig.world.cloud.addresses
        assert {POOL, f"hostler-pool={POOL}"} < {*tagged.tags}
        await hostler.scale(0)
        await rig.clock.sleep(10 * MINUTE)
        assert await hostler.machines() == ()
        (free,) = rig.world.cloud.addresses
        assert (free.id, list(free.tags), free.server) == (address, [POOL], None)

    play(scene)


def test_a_plan_knows_it_though_it_has_read_nothing_before() -> None:
    """`hostler plan` observes once, with no memory of what machines took."""

    async def scene(rig: Rig) -> None:
        address = stocked(rig)
        hostler = await while_it_is_ready(rig, rig.hostler(template=TEMPLATE), address)
        assert hostler.engine is not None
        account = hostler.engine.loops[0].state.account
        planned = await plan(hostler.ports(), account, hostler.fleet, rig.settings)
        (machine,) = await hostler.machines()
        assert taken_id(address, machine.id) in planned.snapshot.inventory.sightings
        assert ResourceId(address) not in planned.snapshot.inventory.sightings

    play(scene)
