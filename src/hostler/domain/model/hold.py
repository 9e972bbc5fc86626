"""Hold: what a person wants of a host for a while, whatever the fleets want of it."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class HoldKind(StrEnum):
    """What is wanted of the host until the hold ends.

    RESERVED: no further machine takes it, and its power stays as it is. MAINTENANCE: as reserved,
    and nothing else is done to it either. ON: it is on while nobody uses it. OFF: no further
    machine takes it, and it is off.
    """

    RESERVED = "reserved"
    MAINTENANCE = "maintenance"
    ON = "on"
    OFF = "off"

    @property
    def bars_machines(self) -> bool:
        """Whether no further machine takes the host."""
        return self is not HoldKind.ON


_WORDS = {
    HoldKind.RESERVED: "reserved",
    HoldKind.MAINTENANCE: "in maintenance",
    HoldKind.ON: "to stay on",
    HoldKind.OFF: "to stay off",
}


class Hold(Struct, frozen=True, kw_only=True):
    """One hold: until when, whose, and why."""

    kind: HoldKind
    until: datetime
    actor: str
    why: str = ""

    def __str__(self) -> str:
        """Return it as a clause: "in maintenance until … (by …: …)"."""
        why = f": {self.why}" if self.why else ""
        return f"{_WORDS[self.kind]} until {self.until:%Y-%m-%d %H:%M} UTC (by {self.actor}{why})"
