"""Standby: from a server that is up to one in standby, which keeps its host and its name. Pure.

Scaleway calls it `stop_in_place`: the server is `stopped in place`, on the bill as before, and
comes back in seconds (reference/scaleway-instances.md, actions and timings).
"""

from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.resource import Condition, Resource

from .calls import SERVER, STAND_BY, whose


def stand_by(machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
    """Return the call that sends the machine's server to standby, once, while it is up."""
    bound = machine.bound(SERVER)
    server = next((resource for resource in resources if resource.id == bound), None)
    if server is None or server.condition is not Condition.UP:
        return ()
    asked = machine.last_asked(SERVER, STAND_BY)
    if (
        asked is not None
        and asked.at >= machine.since
        and asked.call_state in {CallState.DONE, CallState.OPEN}
    ):
        return ()
    if "stop_in_place" not in server.allowed:
        return ()
    return (
        Call(
            kind=STAND_BY,
            slot=SERVER,
            zone=server.zone,
            effect=Effect.CHANGE,
            target=server.id,
            attempt=machine.place(SERVER).attempt,
            once=True,
            shows=Shows.REST,
            args=whose(machine),
        ),
    )
