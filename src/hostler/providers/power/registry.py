"""Methods by name: the built-in ones and those of installed packages."""

from collections.abc import Callable, Mapping

from hostler.ports.plugins import Plugins
from hostler.ports.power import METHODS as GROUP
from hostler.ports.power import PowerMethod


def _command() -> PowerMethod:
    from .methods.command import Command

    return Command()


def _ipmi() -> PowerMethod:
    from .methods.ipmi import Ipmi

    return Ipmi()


def _job() -> PowerMethod:
    from .methods.job import Job

    return Job()


def _libvirt() -> PowerMethod:
    from .methods.libvirt import Libvirt

    return Libvirt()


def _mqtt() -> PowerMethod:
    from .methods.mqtt import Mqtt

    return Mqtt()


def _proxmox() -> PowerMethod:
    from .methods.proxmox import Proxmox

    return Proxmox()


def _reachability() -> PowerMethod:
    from .methods.reachability import Reachability

    return Reachability()


def _redfish() -> PowerMethod:
    from .methods.redfish import Redfish

    return Redfish()


def _shelly() -> PowerMethod:
    from .methods.shelly import Shelly

    return Shelly()


def _snmp() -> PowerMethod:
    from .methods.snmp import Snmp

    return Snmp()


def _ssh() -> PowerMethod:
    from .methods.ssh import Ssh

    return Ssh()


def _tasmota() -> PowerMethod:
    from .methods.tasmota import Tasmota

    return Tasmota()


def _wake_on_lan() -> PowerMethod:
    from .methods.wake_on_lan import WakeOnLan

    return WakeOnLan()


def _webhook() -> PowerMethod:
    from .methods.webhook import Webhook

    return Webhook()


BUILT_IN: Mapping[str, Callable[[], PowerMethod]] = {
    "command": _command,
    "ipmi": _ipmi,
    "job": _job,
    "libvirt": _libvirt,
    "mqtt": _mqtt,
    "proxmox": _proxmox,
    "reachability": _reachability,
    "redfish": _redfish,
    "shelly": _shelly,
    "snmp": _snmp,
    "ssh": _ssh,
    "tasmota": _tasmota,
    "wake-on-lan": _wake_on_lan,
    "webhook": _webhook,
}

METHODS = Plugins(BUILT_IN, GROUP, "power method")
"""The methods, each imported when it is called for."""
