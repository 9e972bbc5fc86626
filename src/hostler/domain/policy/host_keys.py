"""Pins: which host key is trusted. The first one that is shown, until a recorded reinstallation.

A key changes for two reasons: the disk was wiped, or somebody else answers. Only our own record of
a wipe tells them apart, so only that opens a pin again, and once: whatever key is then accepted is
dated anew.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The fingerprint of a host's key (`SHA256:…`), and when it was last put on file."""

    key: str
    at: datetime


class Ruling(StrEnum):
    """What is to be done about the key that a host showed."""

    ACCEPT = "accept"
    PIN = "pin"
    REPIN = "re-pin"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A ruling, the pin that must be on file from now on, and why, in a sentence."""

    ruling: Ruling
    pin: Pin | None
    why: str = ""


def expected(pin: Pin | None, wiped: datetime | None) -> str:
    """Return the fingerprint that the host must show now; empty where the first one is trusted.

    `wiped` is when the host's last recorded wipe was seen finished. `judge` refuses no other keys
    than those that differ from this.
    """
    return "" if pin is None or _reopened(pin, wiped) else pin.key


def judge(pin: Pin | None, wiped: datetime | None, shown: str, now: datetime) -> Judgement:
    """Rule on the key that was shown. Total; what has no key is refused, and a pin never lost."""
    if not shown:
        return Judgement(ruling=Ruling.REFUSE, pin=pin, why="the host showed no key")
    if pin is None:
        return Judgement(
            ruling=Ruling.PIN, pin=Pin(key=shown, at=now), why=f"the first key it shows: {shown}"
        )
    if shown == pin.key:
        dated = Pin(key=shown, at=now) if _reopened(pin, wiped) else pin
        return Judgement(ruling=Ruling.ACCEPT, pin=dated)
    if _reopened(pin, wiped):
        return Judgement(
            ruling=Ruling.REPIN,
            pin=Pin(key=shown, at=now),
            why=f"it was reinstalled since {pin.key} was pinned, and shows {shown} now",
        )
    return Judgement(ruling=Ruling.REFUSE, pin=pin, why=_refused(pin, wiped, shown))


def _reopened(pin: Pin, wiped: datetime | None) -> bool:
    """Tell whether a recorded wipe lies between the pin and now."""
    return wiped is not None and wiped > pin.at


def _refused(pin: Pin, wiped: datetime | None, shown: str) -> str:
    last = "none is on record" if wiped is None else f"the last one on record was before, {wiped}"
    return (
        f"it shows the key {shown}, pinned is {pin.key} since {pin.at}, and no reinstallation of "
        f"ours lies between ({last}): either somebody reinstalled it by hand, or somebody else "
        "answers at its address; nothing was sent"
    )
