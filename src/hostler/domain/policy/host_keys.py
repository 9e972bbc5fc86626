"""Host keys: which one is trusted. The first one that is shown, until a recorded reinstallation.

A key changes for two reasons: the disk was wiped, or somebody else answers. Only our own record of
a wipe tells them apart, so only that opens a pin again, and once: whatever key is then accepted is
dated again.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class HostKey(Struct, frozen=True, kw_only=True):
    """The fingerprint of a host's key (`SHA256:…`), and when it was last put on file.

    `wipe` is the identity of the last wipe by its machine that it came after: once a clock jumped
    back, the dates of two records no longer tell which was first.
    """

    key: str
    at: datetime
    wipe: str = ""


class Ruling(StrEnum):
    """What is to be done about the key that a host showed."""

    ACCEPT = "accept"
    HOST_KEY = "pin"
    REPIN = "re-pin"
    REFUSE = "refuse"


class Judgement(Struct, frozen=True, kw_only=True):
    """A ruling, the pin that must be on file from now on, and why, in a sentence."""

    ruling: Ruling
    host_key: HostKey | None
    why: str = ""


def expected(host_key: HostKey | None, wiped: datetime | None) -> str:
    """Return the fingerprint that the host must show now; empty where the first one is trusted.

    `wiped` is when the host's last recorded wipe was seen finished. `judge` refuses no other keys
    than those that differ from this.
    """
    return "" if host_key is None or _reopened(host_key, wiped) else host_key.key


def judge(
    host_key: HostKey | None, wiped: datetime | None, observed_key: str, now: datetime
) -> Judgement:
    """Rule on the key that was shown. Total; what has no key is refused, and a pin never lost."""
    if not observed_key:
        return Judgement(ruling=Ruling.REFUSE, host_key=host_key, why="the host showed no key")
    if host_key is None:
        return Judgement(
            ruling=Ruling.HOST_KEY,
            host_key=HostKey(key=observed_key, at=now),
            why=f"the first key it shows: {observed_key}",
        )
    if observed_key == host_key.key:
        dated = HostKey(key=observed_key, at=now) if _reopened(host_key, wiped) else host_key
        return Judgement(ruling=Ruling.ACCEPT, host_key=dated)
    if _reopened(host_key, wiped):
        return Judgement(
            ruling=Ruling.REPIN,
            host_key=HostKey(key=observed_key, at=now),
            why=f"it was reinstalled since {host_key.key} was pinned, and shows {observed_key} now",
        )
    return Judgement(
        ruling=Ruling.REFUSE, host_key=host_key, why=_refused(host_key, wiped, observed_key)
    )


def _reopened(host_key: HostKey, wiped: datetime | None) -> bool:
    """Tell whether a recorded wipe lies between the pin and now."""
    return wiped is not None and wiped > host_key.at


def _refused(host_key: HostKey, wiped: datetime | None, observed_key: str) -> str:
    last = "none is on record" if wiped is None else f"the last one was before, at {_utc(wiped)}"
    return (
        f"it shows the key {observed_key}, pinned is {host_key.key} since {_utc(host_key.at)}, and "
        f"no reinstallation of ours lies between ({last}): either somebody reinstalled it "
        "by hand, or somebody else answers at its address; nothing was sent"
    )


def _utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
