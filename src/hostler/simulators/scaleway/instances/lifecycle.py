"""How servers go from state to state over time, and what becomes of what they hold."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.state.catalogue import TYPES
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import (
    Address,
    BlockVolume,
    LocalVolume,
    Server,
    State,
)
from hostler.simulators.scaleway.state.timeline import Spread
from hostler.simulators.scaleway.vpc import private_ips

from .network import addresses
from .storage import local_volumes, volumes

DELETED = "deleted"
Step = Callable[[Cloud, Server], None]
UNBILLED = (State.STOPPED,)
DYNAMIC_STAYS = 5.0  # seconds into a power-off for which a dynamic address stays


def enter(cloud: Cloud, server: Server, state: State, detail: str = "") -> None:
    """Put a server in a state; whatever was under way for it is overtaken."""
    server.state, server.detail = state, detail
    server.turn += 1
    touch(cloud, server)
    price = 0.0 if state in UNBILLED else TYPES[server.commercial_type].price / 3600
    cloud.ledger.meter(server.id, price, cloud.now)
    if state != State.RUNNING and server.guest_up:
        addresses.silence(cloud, server)
        server.guest_up = False


def plan(cloud: Cloud, server: Server, seconds: float, step: Step) -> Callable[[], None]:
    """Plan the next step of a server, unless another transition overtakes it; return the step."""
    planned = partial(unless_overtaken, cloud, server, server.turn, step)
    cloud.after(seconds, planned)
    return planned


def unless_overtaken(cloud: Cloud, server: Server, turn: int, step: Step) -> None:
    """Take a step of a server that is where it was when the step was planned."""
    if server.turn == turn and server.ended is None:
        step(cloud, server)


def linger(cloud: Cloud, server: Server, seconds: float, step: Step) -> None:
    """Plan a step far off; `cloud.stuck` holds it, so that the end of faults can end the wait."""
    cloud.stuck[server.id] = plan(cloud, server, seconds, step)


def start(cloud: Cloud, server: Server, *, falls_back: bool, stuck: float) -> None:
    """Begin to start a server; it may fall back to stopped, or be stuck for so many seconds."""
    standby = server.state == State.IN_PLACE
    seconds, detail = start_path(cloud, standby=standby)
    server.goal = State.RUNNING
    enter(cloud, server, State.STARTING, "stopped in place" if standby else "allocating node")
    lend_address(cloud, server)
    step = stopped if falls_back else running
    if stuck:
        linger(cloud, server, seconds + stuck, step)
        return
    if detail:
        plan(cloud, server, seconds * 0.1, partial(detailed, detail=detail))
    plan(cloud, server, seconds, step)


def start_path(cloud: Cloud, *, standby: bool) -> tuple[float, str]:
    """Draw how long a start takes and which further detail it shows on its way."""
    if standby:
        return cloud.lasts("start.standby"), ""
    chance = cloud.dice.random()
    if chance < 0.17:
        return cloud.lasts("start.provisioning"), "provisioning node"
    if chance < 0.22:
        return cloud.lasts("start.slow"), "starting"
    return cloud.lasts("start"), ""


def detailed(cloud: Cloud, server: Server, detail: str) -> None:
    """Show another detail of the same state."""
    server.detail = detail
    touch(cloud, server)


def running(cloud: Cloud, server: Server) -> None:
    """Let a server run: its kernel boots, its guest will be up a while later."""
    enter(cloud, server, State.RUNNING, "booting kernel")
    if server.location is None:
        dice = cloud.dice
        server.location = {
            "zone_id": server.zone,
            "platform_id": str(dice.randint(1, 40)),
            "cluster_id": str(dice.randint(1, 99)),
            "hypervisor_id": str(dice.randint(100, 999)),
            "node_id": str(dice.randint(1, 60)),
        }
    for address in server.addresses:
        address.state = "attached"
    options = cloud.options
    boot = Spread(options.boot, max(options.boot_slow, options.boot)).draw(cloud.dice)
    plan(cloud, server, boot, guest_up)


def guest_up(cloud: Cloud, server: Server) -> None:
    """Let the guest answer on its addresses."""
    server.guest_up = True
    addresses.announce(cloud, server)


def stopped(cloud: Cloud, server: Server) -> None:
    """Let a server be off, without a place."""
    enter(cloud, server, State.STOPPED)
    server.location = None
    drop_dynamic(cloud, server)
    touch(cloud, server)


def in_place(cloud: Cloud, server: Server) -> None:
    """Let a server be off while it keeps its place, and costs."""
    enter(cloud, server, State.IN_PLACE, State.IN_PLACE)


def power_off(cloud: Cloud, server: Server, stuck: float) -> None:
    """Begin to stop a server."""
    seconds = cloud.lasts("poweroff.standby" if server.state == State.IN_PLACE else "poweroff")
    server.goal = State.STOPPED
    enter(cloud, server, State.STOPPING, "stopping")
    plan(cloud, server, DYNAMIC_STAYS * cloud.options.pace, drop_dynamic)
    finish(cloud, server, seconds, stopped, stuck)


def finish(cloud: Cloud, server: Server, seconds: float, step: Step, stuck: float) -> None:
    """Plan the end of a stop."""
    if stuck:
        linger(cloud, server, seconds + stuck, step)
    else:
        plan(cloud, server, seconds, step)


def stop_in_place(cloud: Cloud, server: Server, stuck: float) -> None:
    """Begin to stop a server that shall keep its place; one that terminates goes on to do so."""
    if server.state == State.STOPPING and server.goal == DELETED:
        return
    server.goal = State.IN_PLACE
    enter(cloud, server, State.STOPPING, "stopping in place")
    finish(cloud, server, cloud.lasts("stop_in_place"), in_place, stuck)


def reboot(cloud: Cloud, server: Server) -> None:
    """Begin a reboot: stopping, starting, running."""
    seconds = cloud.lasts("reboot")
    server.goal = State.RUNNING
    enter(cloud, server, State.STOPPING, "rebooting")
    plan(cloud, server, seconds * 0.4, partial(reboot_up, seconds=seconds * 0.6))


def reboot_up(cloud: Cloud, server: Server, seconds: float) -> None:
    """Go on with a reboot."""
    enter(cloud, server, State.STARTING, "rebooting")
    plan(cloud, server, seconds, running)


def terminate(cloud: Cloud, server: Server, stuck: float) -> None:
    """Begin to destroy a server; its local volumes go with it."""
    server.goal = DELETED
    enter(cloud, server, State.STOPPING, "terminating")
    for volume in server.volumes.values():
        if isinstance(volume, LocalVolume):
            volume.state = "deleting"
    finish(cloud, server, cloud.lasts("terminate"), terminated, stuck)


def terminated(cloud: Cloud, server: Server) -> None:
    """End a termination: Block Storage volumes are free from this moment on, addresses too."""
    for volume in list(server.volumes.values()):
        if isinstance(volume, LocalVolume):
            local_volumes.remove(cloud, volume)
        else:
            volumes.detach(cloud, volume, "now")
    vanish(cloud, server)


def delete(cloud: Cloud, server: Server) -> None:
    """Destroy a stopped server at once; all its volumes stay."""
    for volume in list(server.volumes.values()):
        free(cloud, volume, "detach.deleted")
    vanish(cloud, server)


def free(cloud: Cloud, volume: BlockVolume | LocalVolume, how: str) -> None:
    """Take a volume of either sort from its server."""
    if isinstance(volume, LocalVolume):
        local_volumes.detach(cloud, volume)
    else:
        volumes.detach(cloud, volume, how)


def vanish(cloud: Cloud, server: Server) -> None:
    """Take a server out of the world; its flexible addresses stay, its cards go."""
    addresses.silence(cloud, server)
    server.guest_up = False
    drop_dynamic(cloud, server)
    for address in list(server.addresses):
        addresses.detach(cloud, address)
    for nic in list(server.nics.values()):
        private_ips.give_back(cloud, nic.ips)
        cloud.nics.drop(nic, cloud.now)
    server.turn += 1
    cloud.stuck.pop(server.id, None)
    cloud.servers.drop(server, cloud.now)
    cloud.count(server.organization, server.commercial_type, -1)
    touch(cloud, server)


def lend_address(cloud: Cloud, server: Server) -> None:
    """Give a dynamic IPv4 address to a server that asks for one and has none."""
    has_one = any(address.kind == "routed_ipv4" for address in server.addresses)
    if server.dynamic_ip_required and not has_one:
        owner = server.owner
        lent = addresses.new_address(cloud, "routed_ipv4", owner, dynamic=True)
        addresses.attach(cloud, lent, server)


def drop_dynamic(cloud: Cloud, server: Server) -> None:
    """Take dynamic addresses away from a server."""
    lent: list[Address] = [address for address in server.addresses if address.dynamic]
    for address in lent:
        addresses.detach(cloud, address)
        cloud.networks.free(address.ip)
