"""Protocols: each way to a machine of the rack: what is served, and what a fleet file says of it.

To add a protocol is to add an entry to PROTOCOLS.
"""

import importlib.util
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncssh
from msgspec import Struct, field

from hostler.simulators.power import mqtt, snmp
from hostler.simulators.power.ipmi import controller as ipmi
from hostler.simulators.power.ipmi.sessions import Sessions
from hostler.simulators.power.plugs import shelly, tasmota
from hostler.simulators.power.proxmox import TOKEN_ID, proxmox
from hostler.simulators.power.redfish import Bmc
from hostler.simulators.power.snmp import Strip

from .machine import Machine
from .place import KEY_FILE, SECRET_FILE, USER, Place, serving

Table = Mapping[str, object]


class Tables(Struct, frozen=True):
    """What a fleet file says of a box: a table for each method, and which is used for what."""

    methods: Mapping[str, Table]
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


Serve = Callable[[Machine, Place], AbstractAsyncContextManager[Tables]]

_APC = (1, 3, 6, 1, 4, 1, 318, 1, 1, 12)
_LOGIN: Table = {"user": "admin", "password_file": SECRET_FILE}


@asynccontextmanager
async def _redfish(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    app = Bmc(box=machine, password=place.keys.secret).app()
    async with serving(app, place) as url:
        yield Tables({"redfish": {"url": url, **_LOGIN}})


@asynccontextmanager
async def _proxmox(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    async with serving(proxmox(machine, place.keys.secret), place) as url:
        token: Table = {"user": TOKEN_ID, "password_file": SECRET_FILE}
        yield Tables({"proxmox": {"url": url, **token, "node": "pve", "guest": 100}})


@asynccontextmanager
async def _shelly_1(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    async with serving(shelly(machine, place.keys.secret, generation=1), place) as url:
        yield Tables({"shelly": {"url": url, **_LOGIN}})


@asynccontextmanager
async def _shelly_2(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    async with serving(shelly(machine, place.keys.secret), place) as url:
        yield Tables({"shelly": {"url": url, **_LOGIN}})


@asynccontextmanager
async def _tasmota(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    async with serving(tasmota(machine, place.keys.secret), place) as url:
        yield Tables({"tasmota": {"url": url, **_LOGIN, "watts": True}})


@asynccontextmanager
async def _snmp(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    control = (*_APC, 3, 3, 1, 1, 4, 1)
    strip = Strip(
        product=_APC,
        write=control,
        write_off=control,
        numbers=(1, 2),
        read=control,
        reads=(1, 2),
        community=place.keys.secret.encode(),
    )
    async with snmp.listening(machine, strip, (place.outlet, place.port)) as port:
        outlet: Table = {"address": place.outlet, "port": port, "outlet": 1, "model": "apc"}
        yield Tables({"snmp": {**outlet, "community_file": SECRET_FILE}})


@asynccontextmanager
async def _mqtt(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    where = (place.outlet, place.port)
    async with mqtt.listening(machine, place.keys.secret, machine.name, where) as port:
        device: Table = {"broker": place.outlet, "port": port, "topic": machine.name}
        yield Tables({"mqtt": {**device, **_LOGIN}})


@asynccontextmanager
async def _ipmi(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    sessions = Sessions(user="admin", password=place.keys.secret)
    async with ipmi.listening(machine, sessions, (place.outlet, place.port)) as port:
        yield Tables({"ipmi": {"address": place.outlet, "port": port, **_LOGIN}})


@asynccontextmanager
async def _wake_on_lan(machine: Machine, place: Place) -> AsyncGenerator[Tables]:
    """On by a magic packet, off by a login, asked how it stands at its controller."""
    mac = bytes.fromhex(f"525400{place.number:06x}")
    place.cards.machines[mac] = machine
    async with _redfish(machine, place) as bmc, _ssh(machine, place) as login:
        order = {"on": ("wake-on-lan",), "off": ("ssh", "redfish"), "query": ("redfish",)}
        card: Table = {"mac": mac.hex(":"), "broadcast": "127.0.0.1", "port": place.port}
        packet: Table = {**card, "repeats": 3}
        yield Tables({"wake-on-lan": packet, "ssh": login, **bmc.methods}, order)


@asynccontextmanager
async def _ssh(machine: Machine, place: Place) -> AsyncGenerator[Table]:
    """Let one login shut the system down, while it is up."""

    class Door(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            if not machine.is_up():
                conn.abort()

    async def shut_down(process: "asyncssh.SSHServerProcess[str]") -> None:
        machine.shut_down()
        process.exit(0)

    server = await asyncssh.create_server(
        Door,
        machine.address,
        place.port,
        server_host_keys=[place.keys.host],
        authorized_client_keys=asyncssh.import_authorized_keys(
            place.keys.user.export_public_key().decode()
        ),
        process_factory=shut_down,
    )
    async with server:
        yield {
            "address": machine.address,
            "port": place.port,
            "user": USER,
            "key": KEY_FILE,
            "fingerprint": place.keys.host.get_fingerprint(),
        }


PROTOCOLS: Mapping[str, Serve] = {
    "redfish": _redfish,
    "wake-on-lan": _wake_on_lan,
    "shelly-gen2": _shelly_2,
    "proxmox": _proxmox,
    "tasmota": _tasmota,
    "snmp": _snmp,
    "shelly-gen1": _shelly_1,
    "ipmi": _ipmi,
    "mqtt": _mqtt,
}
"""What machines are switched by, in turn: the first by the first, and so on."""


def spoken() -> tuple[str, ...]:
    """Return the protocols that an engine of this computer speaks: some take an extra for that."""
    here = {
        "ipmi": importlib.util.find_spec("pyipmi") is not None or shutil.which("ipmitool"),
        "mqtt": importlib.util.find_spec("aiomqtt") is not None,
    }
    return tuple(name for name in PROTOCOLS if here.get(name, True))
