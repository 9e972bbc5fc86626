"""Settings: which boxes there are, how each is switched, and what a fleet asks of them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field, structs

from hostler.ports.kind import INVENTORY, LOCAL, POSITIVE
from hostler.ports.power import PowerAction

from .methods.command import CommandTable
from .methods.ipmi import IpmiTable
from .methods.job import JobTable
from .methods.libvirt import LibvirtTable
from .methods.mqtt import MqttTable
from .methods.proxmox import ProxmoxTable
from .methods.reachability import ReachabilityTable
from .methods.redfish import RedfishTable
from .methods.shelly import ShellyTable
from .methods.snmp import SnmpTable
from .methods.ssh import SshTable
from .methods.tasmota import TasmotaTable
from .methods.wake_on_lan import WakeOnLanTable
from .methods.webhook import WebhookTable

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
Name = Annotated[str, Meta(pattern=_NAME, extra={"expected": "letters, digits and . _ -"})]
Reason = Annotated[str, Meta(min_length=1)]
RACK, BOX = "rack", "box"

FIRST = (
    "redfish",
    "ipmi",
    "proxmox",
    "libvirt",
    "ssh",
    "wake-on-lan",
    "shelly",
    "tasmota",
    "mqtt",
    "snmp",
    "job",
    "webhook",
    "command",
    "reachability",
)
"""Which of a box's methods is used where several can do it: what knows most of the machine first,
what cuts its power last; what only guesses is asked after all."""


class BoxTable(Struct, frozen=True, kw_only=True):
    """One box of a [[provider.NAME.boxes]] list: who it is, and the ways to its power."""

    name: Annotated[Name, Meta(description="what it is called; its id, as long as it stands")]
    address: Annotated[
        str, Meta(description="its address or name in the network, for probes and logins")
    ] = ""
    zone: Annotated[Name, Meta(description="where it stands: one fuse, one room")] = RACK
    type: Annotated[Name, Meta(description="what sort of machine it is, as fleets ask for it")] = (
        BOX
    )
    price: Annotated[
        float, Meta(ge=0, le=1_000_000, description="euros an hour while it is on")
    ] = 0.0
    excluded: Annotated[
        Reason | None,
        Meta(
            description="why it is left alone: it is asked how it stands, nothing switches it, and "
            "no further machine takes it",
        ),
    ] = None
    stays_on: Annotated[
        bool,
        Meta(
            description="never switch it off, such as a node of a control plane; nor is the "
            "computer on which hostler runs"
        ),
    ] = False
    redfish: Annotated[
        RedfishTable | None, Meta(description="a management controller that speaks Redfish")
    ] = None
    ipmi: Annotated[
        IpmiTable | None, Meta(description="a management controller that speaks IPMI")
    ] = None
    proxmox: Annotated[
        ProxmoxTable | None, Meta(description="it is a guest of a Proxmox VE node")
    ] = None
    libvirt: Annotated[
        LibvirtTable | None, Meta(description="it is a guest of a host with libvirt, such as KVM")
    ] = None
    ssh: Annotated[SshTable | None, Meta(description="it is asked over SSH to shut down")] = None
    wake_on_lan: Annotated[
        WakeOnLanTable | None, Meta(description="its network card listens for a magic packet")
    ] = field(default=None, name="wake-on-lan")
    shelly: Annotated[
        ShellyTable | None, Meta(description="it hangs on a plug or relay of Shelly")
    ] = None
    tasmota: Annotated[
        TasmotaTable | None, Meta(description="it hangs on a plug or relay with Tasmota")
    ] = None
    mqtt: Annotated[
        MqttTable | None, Meta(description="it hangs on a plug or relay behind an MQTT broker")
    ] = None
    snmp: Annotated[
        SnmpTable | None, Meta(description="it hangs on an outlet of a strip that speaks SNMP")
    ] = None
    job: Annotated[JobTable | None, Meta(description="Jobs of a Kubernetes cluster switch it")] = (
        None
    )
    webhook: Annotated[
        WebhookTable | None,
        Meta(description="a device with an HTTP interface of its own switches it"),
    ] = None
    command: Annotated[
        CommandTable | None,
        Meta(description="programs of this computer switch it", extra=LOCAL),
    ] = None
    reachability: Annotated[
        ReachabilityTable | None,
        Meta(description="nothing tells how it stands but a port that answers, or is silent"),
    ] = None
    on: Annotated[
        tuple[str, ...], Meta(description="the methods that switch it on, the first one that can")
    ] = ()
    off: Annotated[tuple[str, ...], Meta(description="those that switch it off")] = ()
    query: Annotated[
        tuple[str, ...],
        Meta(description="those that are asked how it stands, until one knows"),
    ] = ()

    packaged: ClassVar[tuple[str, ...]] = ()
    """The methods of installed packages: whoever installs one means it, so that they come first."""

    def methods(self) -> dict[str, object]:
        """Return the tables of its methods by their names, the preferred ones first."""
        fields = _names(type(self))
        named = ((key, getattr(self, fields[key])) for key in (*self.packaged, *FIRST))
        return {key: table for key, table in named if table is not None}

    def order(self, what: PowerAction | None) -> tuple[str, ...]:
        """Return the methods in the order in which they are used for an action, or a query."""
        named = {PowerAction.ON: self.on, None: self.query}.get(what, self.off)
        return named or tuple(self.methods())

    def unknown(self) -> Iterator[tuple[str, str]]:
        """Yield each key that names a method which the box has not, with that name."""
        for key, names in (("on", self.on), ("off", self.off), ("query", self.query)):
            yield from ((key, name) for name in names if name not in self.methods())


@cache
def _names(table: type[BoxTable]) -> Mapping[str, str]:
    """Return the name of the field behind each key: to ask a table each time takes long."""
    return {one.encode_name: one.name for one in structs.fields(table)}


class PowerTable(Struct, frozen=True, kw_only=True):
    """A [provider.NAME] table of kind `power`."""

    boxes: Annotated[tuple[BoxTable, ...], Meta(extra=INVENTORY, description="the boxes")]
    cleaning: Annotated[
        Literal["power-cycle", "trusted"],
        Meta(
            description="how a box that was used becomes clean: it is seen off, or it is trusted "
            "as it is left"
        ),
    ] = "power-cycle"
    least_on: Annotated[
        timedelta, Meta(description="how long a box stays on at least, once it is")
    ] = timedelta(0)
    least_off: Annotated[
        timedelta, Meta(description="how long a box stays off at least, once it is")
    ] = timedelta(0)
    parallel_starts: Annotated[
        int, Meta(ge=1, le=1000, description="how many boxes of a zone may be starting at a time")
    ] = 1000
    start_gap: Annotated[
        timedelta, Meta(description="how long after one box of a zone the next one may start")
    ] = timedelta(0)
    quiet: Annotated[
        timedelta,
        Meta(
            description="how long no box is asked for how it stands while nothing is expected; the "
            "engine's own pause, where that is longer"
        ),
    ] = timedelta(minutes=1)
    stay_on: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="how many boxes of each zone and type stay on while nobody uses them, so "
            "that a machine has one at once",
        ),
    ] = 0
    prefer: Annotated[
        tuple[Literal["on", "cost", "longest-off", "wear"], ...],
        Meta(
            description="which box a machine takes, the first difference counts: one that is on, "
            "the cheapest, the one that rested longest, the one that was started least often; "
            "before all that, one that failed less often"
        ),
    ] = ("on", "cost", "longest-off", "wear")
    exercise: Annotated[
        timedelta | None,
        Meta(
            extra=POSITIVE,
            description="how long a box may be off before it is switched on for once, to find out "
            "whether it still starts; unset: for ever",
        ),
    ] = None
    exercise_time: Annotated[
        timedelta,
        Meta(extra=POSITIVE, description="how long a box stays on that is switched on for that"),
    ] = timedelta(minutes=10)
    start: Annotated[
        timedelta,
        Meta(
            extra=POSITIVE,
            description="how long a box that nobody uses may take until it is seen on; then it "
            "counts as a failure, and two of them quarantine it for a day",
        ),
    ] = timedelta(minutes=15)
    soft_wait: Annotated[
        timedelta,
        Meta(
            extra=POSITIVE,
            description="how long a box that was asked to shut down may take, before its power is "
            "cut where a method can do that",
        ),
    ] = timedelta(minutes=5)
    patience: Annotated[
        timedelta,
        Meta(
            extra=POSITIVE,
            description="how long all boxes wait for one that does not answer: it is unknown then",
        ),
    ] = timedelta(seconds=8)


class PowerTemplate(Struct, frozen=True, kw_only=True):
    """What a [fleet.NAME] table says of boxes."""

    types: Annotated[
        tuple[Name, ...], Meta(min_length=1, description="the types to take, in order")
    ] = (BOX,)
    zones: Annotated[
        tuple[Name, ...], Meta(min_length=1, description="the zones to take from, in order")
    ] = (RACK,)
    user: Annotated[str, Meta(min_length=1, description="the login of probes that log in")] = "root"
    port: Annotated[int, Meta(ge=1, le=65535, description="the port of probes")] = 22
