"""Stages: what the stage in a host's name says of whose the host is."""

TENANT = frozenset({"pending", "claimed", "resting", "rested", "releasing"})
"""The stages in which the name names a machine that holds the host, or is about to."""

AT_HOME = frozenset({"pool", "parked", "ordered"})
"""The stages in which a host may be taken, if nothing else speaks against it."""

OURS = TENANT | {"wiping", "parked"}
"""The stages that say that a host is this installation's, and not given up."""

OTHERS = frozenset({"foreign", "other", "unnamed"})
"""The stages of names that nobody of this installation wrote."""
