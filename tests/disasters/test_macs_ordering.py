"""Hosts that are ordered: no more than are lacking, however seldom and late somebody looks."""

import asyncio

from hostler.lab.demo.macs.engines import QUIET, TESTS, Cast
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.testing.time.loop import SimLoop


def test_an_order_is_waited_for_though_the_next_observation_comes_after_it_had_to_show() -> None:
    """A fleet's turn comes before that in which a new host gets its record: its name is enough."""
    cast, found = Cast(SimLoop(), 1), list[Mac]()

    async def scene() -> None:
        cast.start()
        await asyncio.sleep(QUIET.total_seconds() + 60)
        await cast.scale(TESTS, 1)
        await asyncio.sleep(3 * 3600)
        cast.check()
        found.extend(cast.world.estate.macs)
        await cast.end()

    cast.loop.run_until_complete(scene())
    cast.loop.close()
    names = sorted(mac.name.rpartition(".m-")[0] for mac in found)
    assert names == [*["hostler.claimed.demo.ios"] * 2, "hostler.claimed.demo.tests"]
