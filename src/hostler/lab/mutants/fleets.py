"""Mutants of Fleets and Hosts as objects: each must be caught by their simulation."""

from collections.abc import Mapping
from typing import Any

from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.kubernetes.fleets.edits import Edit, Write

from .clusterapi import Alone
from .mutant import Mutant

_MINUTE = 60.0
_EDITS = (
    Edit(at=10.0, write=Write.MAKE, who=0, value=2),
    Edit(at=10.0, write=Write.MAKE, who=1, value=1),
    Edit(at=8 * _MINUTE, write=Write.LOCK, who=3),
    Edit(at=10 * _MINUTE, write=Write.SCALE, who=0, value=1),
    Edit(at=20 * _MINUTE, write=Write.END, who=1),
    Edit(at=40 * _MINUTE, write=Write.MAKE, who=1, value=0),
)
_ALONE = Alone(edits=_EDITS)


def _always(_: Any) -> Any:
    """Take each status for another one than is there."""

    def differs(*_arguments: object) -> bool:
        return True

    return differs


def _never_releases(_: Any) -> Any:
    """Take no finalizer off."""

    async def release(*_arguments: object) -> None:
        return None

    return release


def _asks_nothing(_: Any) -> Any:
    """Ask for no end of a fleet whose object was deleted."""

    def about_end(*_arguments: object) -> None:
        return None

    return about_end


def _leaves_locks(good: Any) -> Any:
    """Leave a lock on a host where nothing is done to its power."""

    def annotations_for(present: Any, operation: Any, now: Any) -> Any:
        return {} if operation is None else good(present, operation, now)

    return annotations_for


def _always_something(_: Any) -> Any:
    """Take a fleet for one that still holds something."""

    async def holds_nothing(*_arguments: object) -> bool:
        return False

    return holds_nothing


_FLEETS = "frontends.kubernetes.fleets"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "status-written-anew": Mutant(
        summary="each status is written again and again, though it says the same",
        puts=((f"{_FLEETS}.writing:differs", _always),),
        scenario=_ALONE,
        caught=("fight",),
    ),
    "finalizer-stays": Mutant(
        summary="our finalizer is never taken off a Fleet that was deleted",
        puts=((f"{_FLEETS}.writing:Writer.release", _never_releases),),
        scenario=_ALONE,
        caught=("leaves",),
    ),
    "fleet-end-not-asked": Mutant(
        summary="the machines of a Fleet that was deleted to end are kept for ever",
        puts=((f"{_FLEETS}.reporting:about_end", _asks_nothing),),
        scenario=_ALONE,
        caught=("leaves", "L1"),
    ),
    "lock-stays": Mutant(
        summary="the lock that an operation shows on a Host stays when it is over",
        puts=((f"{_FLEETS}.reporting:annotations_for", _leaves_locks),),
        scenario=_ALONE,
        caught=("status",),
    ),
    "empty-fleet-forgotten": Mutant(
        summary="a Fleet that was deleted and holds nothing waits for an engine to note it",
        puts=((f"{_FLEETS}.reporting:Reporter._holds_nothing", _always_something),),
        scenario=_ALONE,
        caught=("leaves",),
    ),
}
"""Every one of them, by name."""
