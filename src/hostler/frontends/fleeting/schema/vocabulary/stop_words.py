"""Never: words that say another thing than the one that is meant, or that say nothing.

Names are compared whole, in lower case and without punctuation.
"""

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
    epoch nonce cookie etag checksum digest hash signature cursor offset limit page reason warning
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
