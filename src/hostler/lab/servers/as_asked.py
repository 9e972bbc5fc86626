"""As asked: what a ready machine has in the world, beside what its fleet says that it is to have.

Read from the world alone. What differs is told at rest: by then everything that a program can mend
has been mended, or the machine replaced.
"""

from collections.abc import Iterator
from itertools import chain
from random import Random

from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.lab.scaleway.owner_tags import owned_by
from hostler.lab.scenario.faults import Scenario
from hostler.simulators.scaleway.state.records import Server
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

from .address_pool import POOL, bare

CLOUD_INIT = "#cloud-config\n"
"""What is to be written for the first boot of every server."""

NETWORK = "5d1b4b2e-3c19-4f6a-9c86-0d94d7f2a111"
"""The private network that servers join, in seeds that draw one."""

GIGABYTE = 1_000_000_000
ROOT, FURTHER = 10, 5
"""Gigabytes of the root disk, and of each other one."""


_SHARE = 0.1


def with_network(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with a private network, where the seed is one of those."""
    return replace(scenario, network=Random(f"{dice}: {scenario.seed}").random() < _SHARE)


def differs(world: World, scenario: Scenario, fleet: Fleet, machine: Machine) -> Found:
    """Return how a ready machine is not what its fleet asks for, or nothing."""
    bound = {str(p.bound) for p in machine.places if p.slot.kind == "server"}
    server = next((s for s in world.cloud.servers if s.id in bound), None)
    if server is None:
        text = f"{machine.id} is ready, and has no server"
        return (Violation(invariant="L1", text=text, machine=machine.id),)
    of_server = chain(_of_server(server, scenario, fleet), _of_tags(server, machine))
    first = next(chain(of_server, _of_addresses(world, server, scenario, machine)), None)
    if first is None:
        return ()
    text = f"{machine.id} is ready, and {first}"
    return (Violation(invariant="L1", text=text, machine=machine.id),)


def _of_server(server: Server, scenario: Scenario, fleet: Fleet) -> Iterator[str]:
    if server.commercial_type not in {offer.type for offer in fleet.offers}:
        yield f"its server is a {server.commercial_type}"
    if server.user_data.get("cloud-init", b"").decode() != CLOUD_INIT:
        yield "its server was told nothing before its first boot"
    sizes = sorted(volume.size // GIGABYTE for volume in server.volumes.values())
    if sizes != sorted((ROOT, *(FURTHER,) * scenario.disks)):
        yield f"its disks have {sizes} GB"
    networks = sorted(nic.network_id for nic in server.nics.values())
    if networks != ([NETWORK] if scenario.network else []):
        yield f"its server is in the private networks {networks}"
    if scenario.protected and not server.protected:
        yield "its server is not protected"


def _of_tags(server: Server, machine: Machine) -> Iterator[str]:
    volumes = (("volume", volume.id, volume.tags) for volume in server.volumes.values())
    for kind, id_, tags in (("server", server.id, server.tags), *volumes):
        owned = owned_by(tuple(tags), "", kind)
        if owned is None or owned.owner_tag.machine != machine.id:
            yield f"the tags of its {kind} {id_} do not say whose it is"


def _of_addresses(
    world: World, server: Server, scenario: Scenario, machine: Machine
) -> Iterator[str]:
    bound = {bare(place.bound) for place in machine.places if place.bound}
    addresses = [a for a in world.cloud.addresses if a.id in bound]
    kinds = sorted(address.kind for address in addresses)
    if kinds != ["routed_ipv4", *(["routed_ipv6"] if scenario.ipv6 else [])]:
        yield f"its addresses are {kinds}"
    for address in addresses:
        if address.server is not server:
            yield f"its address {address.id} hangs on {address.server and address.server.id}"
        owned = owned_by(tuple(address.tags), "", "address")
        if owned is None or owned.owner_tag.machine != machine.id:
            yield f"its address {address.id} does not say whose it is"
        if scenario.address_pool and address.kind == "routed_ipv4" and POOL not in address.tags:
            yield f"its address {address.id} is none of the pool"
