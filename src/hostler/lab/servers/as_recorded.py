"""As recorded: what a ready machine's record tells people, beside what is true of its server.

Its address, what an hour of it costs, and what somebody is said to have changed of it, at rest: by
then every figure was observed. What local disks cost is an assumption of either side, and of the
price of machines that have one nothing is said.
"""

from hostler.domain.model.machine import Machine
from hostler.simulators.scaleway.state.records import State
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

from .address_pool import bare
from .promptness import server_of

_CENT = 0.0001
_DRIFT = "drift: "
"""How the fact begins that something differs from what was made."""


def misstated(world: World, machine: Machine) -> Found:
    """Return what a record says of a machine that is as it was asked for, and is not so."""
    wrong = _of_server(world, machine) or _of_money(world, machine) or _of_drift(machine)
    text = f"{machine.id} is ready, and {wrong}"
    return (Violation(invariant="L1", text=text, machine=machine.id),) if wrong else ()


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
