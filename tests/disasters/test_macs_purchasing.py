"""Hosts that are ordered: no more than are lacking, however seldom and late somebody looks."""

import asyncio

from hostler.lab.demo.macs.engines import QUIET, TESTS, Engines
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.testing.time.loop import SimLoop


def test_what_was_ordered_is_waited_for_though_the_next_observation_is_overdue() -> None:
    """A fleet's turn comes before that in which a new host gets its record: its name is enough."""
    engines, found = Engines(SimLoop(), 1), list[Mac]()

    async def scene() -> None:
        engines.start()
        await asyncio.sleep(QUIET.total_seconds() + 60)
        await engines.scale(TESTS, 1)
        await asyncio.sleep(3 * 3600)
        engines.check()
        found.extend(engines.world.cloud.macs)
        await engines.end()

    engines.loop.run_until_complete(scene())
    engines.loop.close()
    names = sorted(mac.name.rpartition(".m-")[0] for mac in found)
    assert names == [*["hostler.claimed.demo.ios"] * 2, "hostler.claimed.demo.tests"]
