"""What servers are asked to do: `GET` and `POST …/servers/{id}/action`, and its refusals."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.bodies import STOPPING_ACTIONS, allowed_actions, task_body
from hostler.simulators.scaleway.api.checks import text_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import Server, State

from . import lifecycle
from .storage.snapshots import backup

PATH = "/instance/v1/zones/*/servers/*/action"
OLD_NAMES = {
    "poweron": "server_batch_poweron",
    "poweroff": "server_poweroff",
    "terminate": "server_terminate",
    "backup": "instance_backup",
}


def list_actions(cloud: Cloud, call: Call) -> Answer:
    """Show what may be asked of a server now."""
    server = cloud.server(call)
    return Answer(200, {"actions": list(allowed_actions(server))}, subject=server)


def act(cloud: Cloud, call: Call) -> Answer:
    """Begin an action; the answer is a task that says nothing."""
    server, action = cloud.server(call), text_of(call.body, "action")
    if action not in DOERS:
        raise errors.invalid(("action", "constraint", f"must be one of {', '.join(DOERS)}"))
    check(cloud, server, action)
    result = DOERS[action](cloud, server, call) or f"/servers/{server.id}"
    words = OLD_NAMES.get(action, f"server_{action}")
    hrefs = (f"/servers/{server.id}/action", result)
    return Answer(202, {"task": task_body(cloud, server.zone, words, hrefs)}, subject=server)


def check(cloud: Cloud, server: Server, action: str) -> None:
    """Refuse an action that the state of the server does not allow."""
    if server.state == State.LOCKED:
        raise errors.locked("instance_server", server.id)
    if server.protected and action in STOPPING_ACTIONS:
        words = "server is protected"
        raise errors.precondition(cloud.generation(), "protected_resource", words)
    if action in allowed_actions(server):
        return
    if server.state in (State.STARTING, State.STOPPING) or not allowed_actions(server):
        raise errors.transient("instance_server", server.id, server.state)
    if action == "poweron":
        words = "server should be stopped"
        raise errors.precondition(cloud.generation(), "resource_not_usable", words)
    if action in STOPPING_ACTIONS:
        raise errors.should_be_running(cloud.generation())
    raise errors.precondition(
        cloud.generation(), "unknown_precondition", "server has routed IPs already"
    )


def power_on(cloud: Cloud, server: Server, call: Call) -> None:
    """Start, unless there is no machine left for it."""
    short = cloud.availability(server.zone, server.commercial_type) == "shortage"
    policy = cloud.options.shortage if short else ""
    if call.takes("out_of_stock_start") or policy == "start":
        raise errors.out_of_stock(cloud.generation(), server.commercial_type)
    falls_back = call.takes("start_falls_back") or policy == "fall_back"
    stuck = call.struck["stuck_starting"] if call.takes("stuck_starting") else 0.0
    lifecycle.start(cloud, server, falls_back=falls_back, stuck=stuck)


def stuck_stopping(call: Call) -> float:
    """Return for how long a fault holds a stop up."""
    return call.struck["stuck_stopping"] if call.takes("stuck_stopping") else 0.0


def power_off(cloud: Cloud, server: Server, call: Call) -> None:
    """Stop."""
    lifecycle.power_off(cloud, server, stuck_stopping(call))


def stop_in_place(cloud: Cloud, server: Server, call: Call) -> None:
    """Stop, but keep the place."""
    lifecycle.stop_in_place(cloud, server, stuck_stopping(call))


def terminate(cloud: Cloud, server: Server, call: Call) -> None:
    """Destroy."""
    lifecycle.terminate(cloud, server, stuck_stopping(call))


def reboot(cloud: Cloud, server: Server, _call: Call) -> None:
    """Reboot."""
    lifecycle.reboot(cloud, server)


def refuse_routed(_cloud: Cloud, _server: Server, _call: Call) -> None:
    """Never reached: no state allows the old migration."""


DOERS: dict[str, Callable[[Cloud, Server, Call], str | None]] = {
    "poweron": power_on,
    "poweroff": power_off,
    "stop_in_place": stop_in_place,
    "reboot": reboot,
    "terminate": terminate,
    "backup": backup,
    "enable_routed_ip": refuse_routed,
}

ROUTES = (
    Route("server.actions", "GET", PATH, list_actions),
    Route("server.action", "POST", PATH, act),
)
