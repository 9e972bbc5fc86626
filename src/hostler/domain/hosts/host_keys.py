"""Host keys: which SSH host key must a host show, where observations or logins show one?

The first one is put on its record. Only a wipe that we asked for, or its owner's own word, lets
another one follow: after any other cleaning it is the same installation.
"""

from collections.abc import Mapping
from datetime import datetime

from hostler.domain.ids import HostId
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import Host
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Resource
from hostler.domain.policy.host_keys import HostKey, Ruling, expected, judge


def reinstalled(host: Host, capabilities: Capabilities) -> datetime | None:
    """Return when the host was last seen wiped on our word: no other cleaning changes its key."""
    wipes = capabilities.hosts is None or capabilities.hosts.cleaning is Cleaning.WIPE
    return host.cleaning.cleaned if wipes else None


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
