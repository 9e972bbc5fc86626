"""Host keys: which SSH host key must a host show, where observations or logins show one?

The first one is put on its record. Only a wipe that we asked for, or its owner's own word, lets
another one follow: after any other cleaning it is the same installation.
"""

from collections.abc import Mapping
from datetime import datetime

from hostler.domain.ids import HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Resource
from hostler.domain.policy.host_keys import HostKey, Ruling, expected, judge


def reinstalled(host: Host, capabilities: Capabilities) -> datetime | None:
    """Return when the host was last seen wiped on our word: no other cleaning changes its key."""
    wipes = capabilities.hosts is None or capabilities.hosts.cleaning is Cleaning.WIPE
    return host.cleaning.cleaned if wipes else None


def wiped_for(machine: Machine, host: Host, capabilities: Capabilities) -> datetime | None:
    """Return when the disk of a machine's host was last seen wiped on our word, for it or before.

    Of the machine's wipes, those count that came after the one which the key on record followed:
    whatever their dates are beside the key's, which is dated in another record.
    """
    key, wipes = host.bootstrap.host_key, _wipes(machine)
    named = key.wipe if key is not None else ""
    followed = next((wipe.at for wipe in wipes if named and wipe.identity == named), None)
    later = [wipe.closed for wipe in wipes if followed is None or wipe.at > followed]
    before = reinstalled(host, capabilities)
    return max((at for at in (before, *later) if at is not None), default=None)


def last_wipe(machine: Machine) -> str:
    """Return the identity of the last wipe that a machine's host was seen to come through."""
    last = max(_wipes(machine), key=lambda wipe: wipe.at, default=None)
    return last.identity if last is not None else ""


def _wipes(machine: Machine) -> list[Asked]:
    return [a for a in machine.asked if a.shows is Shows.WIPE and a.call_state is CallState.DONE]


def expected_keys(hosts: Mapping[HostId, Host], capabilities: Capabilities) -> dict[HostId, str]:
    """Return the keys that hosts must show, by their ids; those that may show any are left out."""
    keys = {
        host.id: expected(host.bootstrap.host_key, reinstalled(host, capabilities))
        for host in hosts.values()
    }
    return {host: key for host, key in keys.items() if key}


def recorded(
    host: Host, resource: Resource, capabilities: Capabilities, now: datetime
) -> HostKey | None:
    """Return the key that is on record once an observation shows this host."""
    key = resource.host.host_key
    if not key:
        return host.bootstrap.host_key
    if resource.host.key_vouched and (
        host.bootstrap.host_key is None or host.bootstrap.host_key.key != key
    ):
        return HostKey(key=key, at=now)
    return judge(host.bootstrap.host_key, reinstalled(host, capabilities), key, now).host_key


def stranger(host: Host, resource: Resource, capabilities: Capabilities, now: datetime) -> str:
    """Return what is wrong with the key that a host shows: then nothing is done there."""
    key = resource.host.host_key
    if not key or resource.host.key_vouched:
        return ""
    judgement = judge(host.bootstrap.host_key, reinstalled(host, capabilities), key, now)
    return judgement.why if judgement.ruling is Ruling.REFUSE else ""
