"""Stages: what the stage in a host's name says of whose the host is."""

TENANT = frozenset({"pending", "claimed", "resting", "rested", "releasing"})
"""The stages in which the name names a machine that holds the host, or is about to."""

WAITING = frozenset({"parked", "ordered"})
"""The stages in which a host that we pay for waits for its next machine."""

AT_HOME = WAITING | {"pool"}
"""The stages in which a host may be taken, if nothing else speaks against it."""

GIVEN_UP = frozenset({"quarantined", "retiring"})
"""The stages of hosts that no machine shall have, for a while or for good."""

KEPT = WAITING | GIVEN_UP | {"wiping"}
"""The stages in which a host is kept without being a machine's."""

OURS = TENANT | {"wiping", "parked"}
"""The stages that say that a host is this installation's, and not given up."""

OTHERS = frozenset({"foreign", "other", "unnamed"})
"""The stages of names that nobody of this installation wrote."""
