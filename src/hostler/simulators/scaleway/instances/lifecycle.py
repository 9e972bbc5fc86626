"""How servers go from state to state over time, and what becomes of what they hold."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.state.catalogue import TYPES
from hostler.simulators.scaleway.state.inventory import Estate, touch
from hostler.simulators.scaleway.state.records import (
    Address,
    BlockVolume,
    LocalVolume,
    Server,
    State,
)
from hostler.simulators.scaleway.state.timeline import Spread

from .network import addresses
from .storage import local_volumes, volumes

GONE = "gone"
Step = Callable[[Estate, Server], None]
UNBILLED = (State.STOPPED,)
DYNAMIC_KEPT = 5.0  # seconds into a power-off for which a dynamic address stays


def enter(estate: Estate, server: Server, state: State, detail: str = "") -> None:
    """Put a server in a state; whatever was under way for it is overtaken."""
    server.state, server.detail = state, detail
    server.turn += 1
    touch(estate, server)
    price = 0.0 if state in UNBILLED else TYPES[server.commercial_type].price / 3600
    estate.ledger.meter(server.id, price, estate.now)
    if state != State.RUNNING and server.guest_up:
        addresses.silence(estate, server)
        server.guest_up = False


def plan(estate: Estate, server: Server, seconds: float, step: Step) -> Callable[[], None]:
    """Plan the next step of a server, unless another transition overtakes it; return the step."""
    planned = partial(unless_overtaken, estate, server, server.turn, step)
    estate.after(seconds, planned)
    return planned


def unless_overtaken(estate: Estate, server: Server, turn: int, step: Step) -> None:
    """Take a step of a server that is where it was when the step was planned."""
    if server.turn == turn and server.ended is None:
        step(estate, server)


def linger(estate: Estate, server: Server, seconds: float, step: Step) -> None:
    """Plan a step far off; `estate.stuck` holds it, so that the end of faults can end the wait."""
    estate.stuck[server.id] = plan(estate, server, seconds, step)


def start(estate: Estate, server: Server, *, falls_back: bool, stuck: float) -> None:
    """Begin to start a server; it may fall back to stopped, or be stuck for so many seconds."""
    standby = server.state == State.IN_PLACE
    seconds, detail = start_path(estate, standby=standby)
    server.goal = State.RUNNING
    enter(estate, server, State.STARTING, "stopped in place" if standby else "allocating node")
    lend_address(estate, server)
    step = stopped if falls_back else running
    if stuck:
        linger(estate, server, seconds + stuck, step)
        return
    if detail:
        plan(estate, server, seconds * 0.1, partial(detailed, detail=detail))
    plan(estate, server, seconds, step)


def start_path(estate: Estate, *, standby: bool) -> tuple[float, str]:
    """Draw how long a start takes and which further detail it shows on its way."""
    if standby:
        return estate.lasts("start.standby"), ""
    chance = estate.dice.random()
    if chance < 0.17:
        return estate.lasts("start.provisioning"), "provisioning node"
    if chance < 0.22:
        return estate.lasts("start.slow"), "starting"
    return estate.lasts("start"), ""


def detailed(estate: Estate, server: Server, detail: str) -> None:
    """Show another detail of the same state."""
    server.detail = detail
    touch(estate, server)


def running(estate: Estate, server: Server) -> None:
    """Let a server run: its kernel boots, its guest will be up a while later."""
    enter(estate, server, State.RUNNING, "booting kernel")
    if server.location is None:
        dice = estate.dice
        server.location = {
            "zone_id": server.zone,
            "platform_id": str(dice.randint(1, 40)),
            "cluster_id": str(dice.randint(1, 99)),
            "hypervisor_id": str(dice.randint(100, 999)),
            "node_id": str(dice.randint(1, 60)),
        }
    for address in server.addresses:
        address.state = "attached"
    options = estate.options
    boot = Spread(options.boot, max(options.boot_slow, options.boot)).draw(estate.dice)
    plan(estate, server, boot, guest_up)


def guest_up(estate: Estate, server: Server) -> None:
    """Let the guest answer on its addresses."""
    server.guest_up = True
    addresses.announce(estate, server)


def stopped(estate: Estate, server: Server) -> None:
    """Let a server be off, without a place."""
    enter(estate, server, State.STOPPED)
    server.location = None
    drop_dynamic(estate, server)
    touch(estate, server)


def in_place(estate: Estate, server: Server) -> None:
    """Let a server be off while it keeps its place, and costs."""
    enter(estate, server, State.IN_PLACE, "")


def power_off(estate: Estate, server: Server, stuck: float) -> None:
    """Begin to stop a server."""
    seconds = estate.lasts("poweroff.standby" if server.state == State.IN_PLACE else "poweroff")
    server.goal = State.STOPPED
    enter(estate, server, State.STOPPING, "stopping")
    plan(estate, server, DYNAMIC_KEPT * estate.options.pace, drop_dynamic)
    finish(estate, server, seconds, stopped, stuck)


def finish(estate: Estate, server: Server, seconds: float, step: Step, stuck: float) -> None:
    """Plan the end of a stop."""
    if stuck:
        linger(estate, server, seconds + stuck, step)
    else:
        plan(estate, server, seconds, step)


def stop_in_place(estate: Estate, server: Server, stuck: float) -> None:
    """Begin to stop a server that shall keep its place; one that terminates goes on to do so."""
    if server.state == State.STOPPING and server.goal == GONE:
        return
    server.goal = State.IN_PLACE
    enter(estate, server, State.STOPPING, "stopping in place")
    finish(estate, server, estate.lasts("stop_in_place"), in_place, stuck)


def reboot(estate: Estate, server: Server) -> None:
    """Begin a reboot: stopping, starting, running."""
    seconds = estate.lasts("reboot")
    server.goal = State.RUNNING
    enter(estate, server, State.STOPPING, "rebooting")
    plan(estate, server, seconds * 0.4, partial(reboot_up, seconds=seconds * 0.6))


def reboot_up(estate: Estate, server: Server, seconds: float) -> None:
    """Go on with a reboot."""
    enter(estate, server, State.STARTING, "rebooting")
    plan(estate, server, seconds, running)


def terminate(estate: Estate, server: Server, stuck: float) -> None:
    """Begin to destroy a server; its local volumes go with it."""
    server.goal = GONE
    enter(estate, server, State.STOPPING, "terminating")
    for volume in server.volumes.values():
        if isinstance(volume, LocalVolume):
            volume.state = "deleting"
    finish(estate, server, estate.lasts("terminate"), terminated, stuck)


def terminated(estate: Estate, server: Server) -> None:
    """End a termination: Block Storage volumes are free from this moment on, addresses too."""
    for volume in list(server.volumes.values()):
        if isinstance(volume, LocalVolume):
            local_volumes.remove(estate, volume)
        else:
            volumes.detach(estate, volume, "now")
    vanish(estate, server)


def delete(estate: Estate, server: Server) -> None:
    """Destroy a stopped server at once; all its volumes stay."""
    for volume in list(server.volumes.values()):
        free(estate, volume, "detach.deleted")
    vanish(estate, server)


def free(estate: Estate, volume: BlockVolume | LocalVolume, how: str) -> None:
    """Take a volume of either sort from its server."""
    if isinstance(volume, LocalVolume):
        local_volumes.detach(estate, volume)
    else:
        volumes.detach(estate, volume, how)


def vanish(estate: Estate, server: Server) -> None:
    """Take a server out of the world; its flexible addresses stay, its cards go."""
    addresses.silence(estate, server)
    server.guest_up = False
    drop_dynamic(estate, server)
    for address in list(server.addresses):
        addresses.detach(estate, address)
    for nic in server.nics.values():
        estate.nics.drop(nic, estate.now)
    server.turn += 1
    estate.stuck.pop(server.id, None)
    estate.servers.drop(server, estate.now)
    estate.count(server.organization, server.commercial_type, -1)
    touch(estate, server)


def lend_address(estate: Estate, server: Server) -> None:
    """Give a dynamic IPv4 address to a server that asks for one and has none."""
    has_one = any(address.kind == "routed_ipv4" for address in server.addresses)
    if server.dynamic_ip_required and not has_one:
        owner = server.owner
        lent = addresses.new_address(estate, "routed_ipv4", owner, dynamic=True)
        addresses.attach(estate, lent, server)


def drop_dynamic(estate: Estate, server: Server) -> None:
    """Take dynamic addresses away from a server."""
    lent: list[Address] = [address for address in server.addresses if address.dynamic]
    for address in lent:
        addresses.detach(estate, address)
        estate.networks.free(address.ip)
