"""Calls: the calls of this provider by name, and how their arguments are written and read back."""

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.calls import Argument, Call
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.providers.scaleway.common.owner_tags import Claim

SERVER = Slot("server")

MAKE_ADDRESS = "ip.create"
TAKE_ADDRESS = "ip.take"
RELEASE_ADDRESS = "ip.release"
ATTACH_ADDRESS = "ip.attach"
DELETE_ADDRESS = "ip.delete"
MAKE_SERVER = "server.create"
SET_USER_DATA = "server.user_data"
ATTACH_NETWORK = "server.nic"
POWER_ON = "server.poweron"
STAND_BY = "server.standby"
TERMINATE = "server.terminate"
NOTE_VOLUMES = "server.volumes"
PROTECT, UNPROTECT = "server.protect", "server.unprotect"
DELETE_SERVER = "server.delete"
TAG_VOLUME = "volume.tag"
TAG_ADDRESS = "ip.tag"
TAG_SERVER = "server.tag"
BOOTSTRAP = "bootstrap"
"""The argument that says where a machine's own bootstrap data is kept."""

LOOK_AT = "look_at"
"""What only a person can do: never sent."""
DELETE_VOLUME = "volume.delete"

Arguments = tuple[tuple[str, Argument], ...]


def whose(machine: Machine) -> Arguments:
    """Return the arguments that say whose a call is."""
    return (("fleet", str(machine.fleet)), ("machine", str(machine.id)))


def bootstrap(machine: Machine) -> Arguments:
    """Return the argument that says where a machine's own bootstrap data is, if it has some."""
    return ((BOOTSTRAP, machine.spec.bootstrap),) if machine.spec.bootstrap else ()


def text(call: Call, name: str) -> str:
    """Return an argument that is a text, or an empty string."""
    value = call.arg(name)
    return value if isinstance(value, str) else ""


def texts(call: Call, name: str) -> tuple[str, ...]:
    """Return an argument that is a tuple of texts, or an empty tuple."""
    value = call.arg(name)
    return value if isinstance(value, tuple) else ()


def fleet_of(call: Call) -> FleetName:
    """Return the fleet that a call is for."""
    return FleetName(text(call, "fleet"))


def claim_for(call: Call, slot: Slot, installation: InstallationId) -> Claim:
    """Return the owner tag that a call writes for a slot: its attempt is the call's."""
    owner_tag = OwnerTag(
        installation=installation,
        fleet=fleet_of(call),
        machine=MachineId(text(call, "machine")),
        attempt=call.attempt,
    )
    return Claim(owner_tag, slot)
