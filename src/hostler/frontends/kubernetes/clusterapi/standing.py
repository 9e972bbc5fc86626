"""Standing: all that one decision about a HostlerMachine may know, as plain values."""

import ipaddress
from datetime import datetime

from msgspec import Struct, field

from hostler.domain.ids import MachineId, Zone
from hostler.domain.model.calls import Shows
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine, MachineSpec
from hostler.domain.model.provider import Capabilities
from hostler.ports.provider import Connection

from .bootstrap import BootstrapPlace
from .identity import id_of
from .names import FINALIZER, FORMER_RELEASE_POLICY, RELEASE_POLICY, TERMINATE
from .objects import Address, Cluster, CoreMachine, HostlerMachine, MachineStatus, MachineWants


class Standing(Struct, frozen=True, kw_only=True):
    """How the engine stands to the machine that an object names.

    `known` says that the engine has read its records; without `fleet` it has none of that name.
    `capabilities` are what is true of the fleet's machines, where that is known.
    `machine` is the record, living or in the history; `requested` that it was asked for and is not
    on record yet, `deleting` that its end was. `issued` says that the id was used up by a machine
    whose record may be forgotten since. `blocker` is why no machine more is accepted now, `refused`
    why the engine refused this one, and `condition` what holds up those of the fleet that wait.
    `words` are why the machine was refused for good, where its record has them no more. `asker` is
    another object that asked for the machine, and is there: this one is a copy.
    """

    known: bool = True
    fleet: Fleet | None = None
    capabilities: Capabilities | None = None
    machine: Machine | None = None
    requested: bool = False
    deleting: bool = False
    issued: bool = False
    asker: str = ""
    blocker: str = ""
    refused: str = ""
    words: str = ""
    condition: str = ""
    provider_id: str = ""
    addresses: tuple[Address, ...] = ()


class View(Struct, frozen=True, kw_only=True):
    """A HostlerMachine, the objects around it, and its machine, at one moment.

    `bootstrap` is where the bootstrap data is kept: None as long as there is none, or while it is
    no matter (`needs_bootstrap`). `rival` is another object that has the providerID of this one's
    machine.
    """

    item: HostlerMachine
    now: datetime
    owner: CoreMachine | None = None
    cluster: Cluster | None = None
    bootstrap: BootstrapPlace | None = None
    standing: Standing = field(default=Standing())
    rival: str = ""

    @property
    def wants(self) -> MachineWants:
        """What the object's spec says."""
        return self.item.spec or MachineWants()

    @property
    def status(self) -> MachineStatus:
        """What its status says."""
        return self.item.status or MachineStatus()

    @property
    def id(self) -> MachineId | None:
        """The id that was written down to ask under."""
        return id_of(self.wants.machine_id)

    @property
    def holds(self) -> bool:
        """Whether the object stays until we let it go."""
        return FINALIZER in (self.item.metadata.finalizers or ())

    @property
    def needs_bootstrap(self) -> bool:
        """Whether the bootstrap data matters now.

        Nothing was asked for yet; or a machine's start failed before it was first switched on.
        """
        machine = self.standing.machine
        if machine is None:
            return not self.standing.requested and not self.wants.provider_id
        if machine.host is not None:  # it is read when somebody logs in; what came of that is told
            return False
        switched_on = any(asked.shows is Shows.POWER for asked in machine.asked)
        return bool(machine.spec.bootstrap and machine.error) and not switched_on

    @property
    def terminates(self) -> bool:
        """Whether the host is given up with the machine."""
        annotations = self.item.metadata.annotations or {}
        policy = annotations.get(RELEASE_POLICY) or annotations.get(FORMER_RELEASE_POLICY)
        return policy == TERMINATE

    @property
    def spec(self) -> MachineSpec:
        """What is asked of the machine beyond its fleet's template."""
        wants, owner = self.wants, self.owner.spec if self.owner is not None else None
        bootstrap = self.bootstrap or BootstrapPlace()
        return MachineSpec(
            type=wants.type,
            zone=Zone(wants.zone) if wants.zone else None,
            failure_domain=owner.failure_domain if owner is not None else "",
            image=wants.image,
            bootstrap=bootstrap.place,
            bootstrap_format=bootstrap.format,
        )


def addresses(machine: Machine, connection: Connection | None) -> tuple[Address, ...]:
    """Return where a machine is reached, as core names the sorts of addresses."""
    known = (machine.address, connection.address, connection.internal) if connection else ()
    texts = dict.fromkeys(text for text in known or (machine.address,) if text)
    return tuple(Address(type=_sort(text), address=text) for text in texts)


def _sort(address: str) -> str:
    try:
        private = ipaddress.ip_address(address).is_private
    except ValueError:
        return "ExternalDNS"
    return "InternalIP" if private else "ExternalIP"
