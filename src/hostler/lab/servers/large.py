"""Large fleets: some seeds draw forty machines and more, for a shorter time, and may lose half.

Whether a seed does is thrown for apart, so that every other one draws what it always drew.
"""

from random import Random

from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.lab.scenario.faults import Disruption, Scenario, Size, on_wire
from hostler.lab.scenario.file_faults import FileDice, with_file_edits
from hostler.lab.scenario.store_faults import (
    with_pruned_history,
    with_records_removed,
    with_store_by_hand,
    with_twin,
)
from hostler.simulators.scaleway.world import World

from .address_pool import with_address_pool
from .as_asked import with_network
from .faults import draw_servers
from .ground_truth import things_in

HALF_DELETED = "half_deleted"
"""Somebody deletes half of the servers at once."""

LEAST, _MOST = 40, 80
_SHARE = 0.04
_WIRED = 0.1
_FILE_DICE = FileDice(
    removed="hostler file of servers 3",
    protected="hostler protected fleets of servers 36",
    replaced="hostler replacements of servers 138",
)
_REMOVED_DICE = "hostler records removed of servers 54"
_POOL_DICE = "hostler address pool 18"
_NETWORK_DICE = "hostler private network 416"
_SHORTER = 8.0
"""By how much: a seed costs its machines times its time, and somewhat more for growing."""


def draw_any_servers(seed: int, size: Size) -> Scenario:
    """Draw the scenario of a seed, large or not; where a size is asked for, it is that one."""
    rng = Random(f"hostler large fleet: {seed}")
    if size.machines is not None or rng.random() >= _SHARE:
        scenario = with_twin(with_pruned_history(with_store_by_hand(draw_servers(seed, size))))
        scenario = with_records_removed(with_file_edits(scenario, _FILE_DICE), _REMOVED_DICE)
        scenario = with_network(with_address_pool(scenario, _POOL_DICE), _NETWORK_DICE)
        by_hand = scenario.address_pool or scenario.network
        return replace(scenario, wired=on_wire(seed, _WIRED) and not by_hand)
    large = Size(machines=rng.randint(LEAST, _MOST), days=size.days / _SHORTER)
    return _with_loss(draw_servers(seed, large), rng)


def _with_loss(scenario: Scenario, rng: Random) -> Scenario:
    """Return a scenario in which half is lost once the fleet stands, unless all is to be calm."""
    at = rng.uniform(0.4, 0.9) * scenario.span
    if scenario.severity == "calm":
        return scenario
    return scenario.befallen((Disruption(at=at, fault=HALF_DELETED),))


def delete_half(world: World, own: InstallationId) -> bool:
    """Let somebody delete every other server of an installation; tell whether there were any."""
    world.advance()  # what is due to go by now is there to be deleted no more
    servers = sorted(
        thing.id
        for thing, _ in things_in(world)
        if thing.kind == "server"
        and thing.owner_tag is not None
        and thing.owner_tag.installation == own
    )
    for server in servers[::2]:
        world.act("server_deleted_by_hand", server)
    return bool(servers)
