"""Times: those of a host's record that lie in the future were written before the clock jumped."""

from dataclasses import replace
from datetime import datetime

from hostler.domain.model.host import Host
from hostler.domain.model.machine import Asked


def present(host: Host, now: datetime) -> Host:
    """Bring times that lie in the future back to now: the clock jumped back since they were set.

    Whatever counts from them begins anew, and does not wait until the clock has caught up.
    """
    missing, wiping, switched = host.health.missing, host.cleaning.wiping, host.power.since
    times = (host.since, host.unknown_since, missing, wiping, switched)
    calls = (at for asked in host.asked for at in (asked.at, asked.closed))
    if not any(at is not None and at > now for at in (*times, *calls)):
        return host
    present = replace(
        host,
        since=_no_later(host.since, now),
        unknown_since=_no_later(host.unknown_since, now),
        power=replace(host.power, since=_no_later(switched, now)),
        asked=tuple(_asked(asked, now) for asked in host.asked),
    )
    present = present.with_health(missing=_no_later(missing, now))
    return present.with_cleaning(wiping=_no_later(wiping, now))


def _asked(asked: Asked, now: datetime) -> Asked:
    return replace(asked, at=min(asked.at, now), closed=_no_later(asked.closed, now))


def _no_later(at: datetime | None, now: datetime) -> datetime | None:
    return None if at is None else min(at, now)
