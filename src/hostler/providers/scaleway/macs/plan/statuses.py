"""Statuses: those of a Mac in ours. Total: a word that the table lacks is *unknown*.

How an allocation stands follows from the stage that the host's name tells, and from its status.
"""

from collections.abc import Mapping

from hostler.domain.model.resource import Condition, Stage

STATUSES: Mapping[str, Condition] = {
    "starting": Condition.BUSY,
    "ready": Condition.UP,
    "error": Condition.FAILED,
    "rebooting": Condition.BUSY,
    "updating": Condition.BUSY,
    "locking": Condition.BUSY,
    "locked": Condition.LOCKED,
    "unlocking": Condition.BUSY,
    "reinstalling": Condition.WIPING,
    "busy": Condition.BUSY,
}
"""The statuses that the API documents, `unknown_status` apart: it is unknown to them too."""

_STAGES: Mapping[Stage, Condition] = {
    Stage.PENDING: Condition.STARTING,
    Stage.CLAIMED: Condition.UP,
    Stage.STANDBY: Condition.STOPPING,
    Stage.RESTED: Condition.STANDBY,
    Stage.RELEASING: Condition.STOPPING,
}


def condition(status: str) -> Condition:
    """Return how a host stands."""
    return STATUSES.get(status, Condition.UNKNOWN)


def allocation_condition(stage: Stage | None, status: str) -> Condition:
    """Return how an allocation stands; None is the stage of a host that somebody renamed.

    While a host is wiped for a claim or for standby, that is what its stage says; in use, a wipe is
    somebody else's.
    """
    stands = condition(status)
    if stage is None:
        return Condition.BUSY if stands is Condition.UP else stands
    if stands is Condition.UP:
        return _STAGES[stage]
    if stands is Condition.WIPING and stage is not Stage.CLAIMED:
        return Condition.STARTING if stage is Stage.PENDING else Condition.STOPPING
    return stands


def strange(status: str) -> str:
    """Return what to report of a status that our table lacks, or an empty string."""
    return "" if status in STATUSES else f"Mac status {status[:60]!r}"
