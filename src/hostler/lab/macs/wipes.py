"""Wipes that fail: how often one installation sends a host into one, whatever comes of it (S4).

A machine that claims a host wipes it again and again for as long as it may start, which is
three quarters of an hour here: six times at most. Then the host's own ladder begins, which
quarantines it for a day with the fourth failure; two more are what a call under way and a record
that could not be written may add. A wipe that goes well ends the row.
"""

from collections import deque
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, InstallationId
from hostler.testing.invariants import Found, Violation

FAILS, IGNORED = "mac_reinstall_fails", "mac_reinstall_ignored"
_MOST = 12
_DAY = 86_400.0


@dataclass(slots=True)
class FailedWipes:
    """When each host was sent into wipes that failed, in a row, by each installation."""

    rows: dict[tuple[InstallationId, HostId], deque[float]] = field(
        default_factory=dict[tuple[InstallationId, HostId], "deque[float]"]
    )

    def answered(self, own: InstallationId, host: HostId, fault: str, now: float) -> Found:
        """Note a wipe that was accepted, and which fault of the world it met."""
        if IGNORED in fault:
            return ()
        row = self.rows.setdefault((own, host), deque())
        if FAILS not in fault:
            row.clear()
            return ()
        row.append(now)
        while now - row[0] > _DAY:
            row.popleft()
        if len(row) <= _MOST:
            return ()
        text = f"{len(row)} wipes of host {host} failed within a day, and another was asked for"
        return (Violation(invariant="S4", text=text),)
