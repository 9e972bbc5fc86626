"""Times: those of a host's record that lie in the future were written before the clock jumped."""

from dataclasses import replace
from datetime import datetime

from hostler.domain.model.host import Host


def present(host: Host, now: datetime) -> Host:
    """Bring times that lie in the future back to now: the clock jumped back since they were set.

    Whatever counts from them begins anew, and does not wait until the clock has caught up.
    """
    times = (host.since, host.unknown_since, host.missing, host.wiping, host.power.since)
    calls = (at for asked in host.asked for at in (asked.at, asked.closed))
    if not any(at is not None and at > now for at in (*times, *calls)):
        return host
    return replace(
        host,
        since=_no_later(host.since, now),
        unknown_since=_no_later(host.unknown_since, now),
        missing=_no_later(host.missing, now),
        wiping=_no_later(host.wiping, now),
        power=replace(host.power, since=_no_later(host.power.since, now)),
        asked=tuple(
            replace(asked, at=min(asked.at, now), closed=_no_later(asked.closed, now))
            for asked in host.asked
        ),
    )


def _no_later(at: datetime | None, now: datetime) -> datetime | None:
    return None if at is None else min(at, now)
