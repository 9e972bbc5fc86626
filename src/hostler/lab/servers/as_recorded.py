"""As recorded: what a ready machine's record tells people, beside what is true of its server.

Its address, what an hour of it costs, and what somebody is said to have changed of it, at rest: by
then every figure was observed. Of what is reported, what it costs and since when it is there. What
local disks cost is an assumption of either side, and of the price of machines that have one nothing
is said.
"""

from collections.abc import Iterable

from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan
from hostler.simulators.scaleway.state.ledger import Leak
from hostler.simulators.scaleway.state.records import State
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .address_pool import bare
from .promptness import server_of

_CENT = 0.0001
_SECOND = 1.0
_DRIFT = "drift: "
"""How the fact begins that something differs from what was made."""


def misstated(world: World, machine: Machine) -> Found:
    """Return what a record says of a machine that is as it was asked for, and is not so."""
    wrong = _of_server(world, machine) or _of_money(world, machine) or _of_drift(machine)
    text = f"{machine.id} is ready, and {wrong}"
    return (Violation(invariant="L1", text=text, machine=machine.id),) if wrong else ()


def misreported(world: World, orphans: Iterable[Orphan]) -> Found:
    """Return what a report says of an orphan's price or age, and is not so; of local disks nothing.

    What is gone stays in the report until a listing proves that.
    """
    local = {volume.id for volume in world.cloud.locals}
    leaks = {leak.id: leak for leak in world.leaks() if leak.id not in local}
    for orphan in orphans:
        leak = leaks.get(bare(orphan.resource))
        wrong = _of_orphan(orphan, leak) if leak is not None else ""
        if wrong:
            text = f"{orphan.kind} {orphan.resource} is reported, and {wrong}"
            return (Violation(invariant="L1", text=text, machine=orphan.machine),)
    return ()


def _of_orphan(orphan: Orphan, leak: Leak) -> str:
    if abs(leak.cost_per_hour - orphan.price) > _CENT:
        return f"an hour costs {leak.cost_per_hour:.4f}, not {orphan.price:.4f}"
    created = (orphan.created - BEGINNING).total_seconds() if orphan.created else None
    if created is None and orphan.kind == "address":  # nobody is told when one was made
        return ""
    if created is None or abs(created - leak.created) > _SECOND:
        return f"it was made at {leak.created:.0f} s, not {created} s"
    return ""


def _of_server(world: World, machine: Machine) -> str:
    server = server_of(world, machine)
    if server is None or server.state != State.RUNNING:
        return f"its server is {server and server.state}"
    displayed = [address.ip for address in server.addresses if address.kind == "routed_ipv4"]
    return (
        f"its address is {displayed}, not {machine.address}"
        if machine.address not in displayed
        else ""
    )


def _of_money(world: World, machine: Machine) -> str:
    bound = {bare(place.bound) for place in machine.places if place.bound}
    if any(volume.id in bound for volume in world.cloud.locals):
        return ""
    costs = sum(leak.cost_per_hour for leak in world.leaks() if leak.id in bound)
    price = machine.billing.price
    return f"an hour costs {costs:.4f}, not {price:.4f}" if abs(costs - price) > _CENT else ""


def _of_drift(machine: Machine) -> str:
    noted = [fact.name for fact in machine.facts if fact.name.startswith(_DRIFT)]
    return f"nothing differs, and this is noted: {noted[0]}" if noted else ""
