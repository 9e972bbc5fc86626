"""Spellings: how schemas write what we mean by states, systems, protocols and verdicts.

A word here is compared whole, in lower case and without punctuation.
"""

from collections.abc import Mapping

from hostler.frontends.fleeting.contract import State

from .naming import word_set

STATES: Mapping[State, tuple[str, ...]] = {
    State.CREATING: ("creating",),
    State.RUNNING: ("running",),
    State.DELETING: ("deleting",),
    State.DELETED: ("deleted",),
    State.TIMEOUT: ("timeout", "timedout"),
    State.STOPPED: ("stopped",),
    State.SUSPENDING: ("suspending",),
    State.SUSPENDED: ("suspended",),
    State.RESUMING: ("resuming",),
}
"""The names of states, in enums and as texts; the first is what is written where it is a text."""
STATE_HINTS: Mapping[State, tuple[str, ...]] = {
    State.CREATING: ("provisioning", "launching", "starting", "pending", "booting", "new"),
    State.RUNNING: ("active", "up", "ready", "started", "available", "online"),
    State.DELETING: ("terminating", "removing", "destroying", "ending", "stopping"),
}
"""What is proposed, and never taken, for a state that nothing works without."""
UNSAID = frozenset({State.STOPPED})
"""Not offered where states are texts: nobody was seen to use it (reference/fleeting.md 3.2)."""

ENUM_WORDS: Mapping[str, tuple[str, ...]] = {
    "os": ("linux", "windows", "darwin", "macos", "freebsd"),
    "arch": ("amd64", "arm64", "x8664", "x86", "arm", "aarch64", "386"),
    "protocol": ("ssh", "winrm", "winrmhttp", "winrmhttps"),
}
"""What an enum must have one of, to stand for one of these."""
SPELT: Mapping[str, str] = {
    "x8664": "amd64",
    "aarch64": "arm64",
    "macos": "darwin",
    "winrmhttp": "winrm",
    "winrmhttps": "winrm+https",
}
"""Words of enums that we write otherwise."""

VERDICTS = word_set("status result outcome verdict health code")
"""Names of enums in an answer that say how it went, and say their first value while unset."""
GOOD = word_set(
    """
    ok okay success succeeded successful none noerror healthy alive good well fine accepted done
    """
)
"""What such an enum may say without our doing."""
