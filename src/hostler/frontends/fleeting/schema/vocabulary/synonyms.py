"""Synonyms: how schemas write what we mean, and words that mean something else or nothing.

A word here is compared whole, in lower case and without punctuation.
"""

from collections.abc import Mapping

from hostler.frontends.fleeting.contract import State

from .naming import word_set, words

NEUTRAL = word_set("value values result results item items payload data body content entries list")
"""Names that say nothing: enough for the only field of its type where only one thing is meant."""

NEVER = word_set(
    """
    desired wanted want was were generation token failed fail fails failing failure failures
    rejected reject refused denied declined error errors err errcode code skipped ignored missing
    invalid unknown
    unhealthy dead broken bad lost orphan orphans previous prev old older last former stale
    initial original total remaining remainder rest current expected requested min minimum revision
    epoch nonce cookie etag checksum digest hash signature cursor offset page reason warning
    warnings deprecated reserved legacy obsolete not no un non except excluding exclude excluded
    without proxy bastion jump gateway tunnel relay fallback backup default defaults template
    example parent owner peer sibling next other others spare dry trace span correlation label
    labels tag tags annotation annotations meta metadata zone zones region regions
    """
)
"""Words that no proposed field may have in its name, nor in the names around it."""

_SHORTEST_PART = 5


def barring(name: str) -> str:
    """Return the word for which a name is never proposed, or an empty string."""
    parts = words(name)
    whole = "".join(parts)
    for word in sorted(NEVER):
        if word in parts or (len(word) >= _SHORTEST_PART and word in whole):
            return word
    return ""


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
    State.CREATING: ("provisioning", "launching", "starting", "booting"),
    State.RUNNING: ("active", "up", "ready", "started", "available", "online"),
    State.DELETING: ("terminating", "removing", "destroying", "ending"),
}
"""What is proposed, and never taken, for a state that nothing works without."""
OTHERS_STATES = word_set("target goal planned intended job task run build")
"""Prefixes by which the values of an enum are what shall be, or of something else than machines."""
READY = word_set("ready available online active up idle busy serving inservice")
"""What an enum says beside *running* where that says less than that jobs may come."""
UNSAID = frozenset({State.STOPPED})
"""Not offered where states are texts: nobody was seen to use it (reference/fleeting.md 3.2)."""

ENUM_WORDS: Mapping[str, tuple[str, ...]] = {
    "os": ("linux", "windows", "darwin", "macos", "freebsd"),
    "arch": ("amd64", "arm64", "x8664", "x86", "arm", "aarch64", "386"),
    "protocol": ("ssh", "winrm", "winrmhttp", "winrmhttps"),
}
"""What an enum must have one of, to stand for one of these."""
CANONICAL: Mapping[str, str] = {
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
    ok okay success succeeded successful healthy alive good well fine accepted done
    """
)
"""What such an enum says of a call that went well; one value alone may be of these."""
NONE_WRONG = word_set("none noerror ok okay success no nothing")
"""What an enum of errors says where there is none."""
NOERROR = word_set("noerror")
"""What says by its whole word that nothing is wrong, whatever it is the value of."""
UNSETTLED = word_set(
    """
    partial partially partly some mixed incomplete pending progress queued processing waiting
    scheduled ongoing limited throttled capped clamped truncated reduced degraded short
    """
)
"""What an enum may say of a call that went well in part, or not yet: beside it nobody knows."""
UNSET = word_set(
    "unspecified unknown none unset undefined default any unset notset notspecified nil null"
)
"""What an enum says of a value that is not known."""
VERDICT_WORDS = word_set(
    """
    ok okay success successful succeeded accepted done found ready initialized initialised healthy
    alive well valid complete completed passed status result outcome verdict health acknowledged ack
    """
)
"""Words by which a flag or an enum in a message that we leave out would say how a call went."""
WELL_WORDS = VERDICT_WORDS - VERDICTS
"""Those of them that say that it went well: what is named so says the opposite by being missing."""
LISTED_WORDS = WELL_WORDS | word_set(
    """
    removed deleted gone terminated destroyed departed vanished dropped running active available
    online current existing created added launched started made granted provisioned new live idle
    busy up service serving known
    """
)
"""Words by which an empty list beside ours would say that there is none of the kind."""
OF_INSTANCES = word_set(
    """
    instance instances machine machines server servers node nodes vm vms host hosts member members
    id ids name names state states status statuses count counts all list
    """
)
"""Words of which the name of a list of instances is made: empty, it says that there are none."""
COUNTED_WORDS = (
    (OF_INSTANCES - word_set("id ids name names state states status statuses list"))
    | LISTED_WORDS
    | word_set("total size length num number creating deleting stopped suspended of")
)
"""Words of which the name of a number of instances is made: zero, it says that there are none."""
LEFT_WORDS = word_set("left leftover leftovers remaining remainder rest survivors")
"""Words by which a number or a list says what is left: zero or empty, it says that nothing is."""
REST_WORDS = LEFT_WORDS | word_set(
    """
    failed fail fails failing failure failures rejected refused denied declined skipped ignored
    missing not no non un error errors lost short shortfall deficit lacking unmet unfulfilled
    outstanding pending total requested expected desired wanted current capacity
    """
)
"""Words by which a number beside what was accepted says what was not, or what there is."""
