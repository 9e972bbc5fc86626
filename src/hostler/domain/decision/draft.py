"""Draft: a decision in the making, which grows from stage to stage."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.fleets.answers import RequestAnswer
from hostler.domain.fleets.scaling import Sizing
from hostler.domain.ids import InstallationId, Zone
from hostler.domain.model.commands import (
    Bind,
    Event,
    OrderHosts,
    Provable,
    Reclaim,
    SaveHost,
    SaveOrphans,
)
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition

from .cache import DecisionCache


class Context(Struct, frozen=True, kw_only=True):
    """What a stage may read: the snapshot, the provider's planner, and what was decided before."""

    snapshot: Snapshot
    planner: Planner
    cache: DecisionCache

    def after(self, draft: "Draft") -> "Context":
        """Return what the stages after this may read: no request that was refused.

        What is not ours shows on the way too.
        """
        snapshot = self.snapshot
        refused = [answer.request for answer in draft.answers if answer.refusal]
        left = tuple(request for request in snapshot.requests if request not in refused)
        if len(left) < len(snapshot.requests):
            snapshot = replace(snapshot, requests=left)
        if draft.unissued and draft.unissued[0] not in snapshot.unissued:
            snapshot = replace(snapshot, unissued=(*snapshot.unissued, *draft.unissued))
        return self if snapshot is self.snapshot else replace(self, snapshot=snapshot)


class Draft(Struct, frozen=True, kw_only=True):
    """What is decided so far.

    `row` is the fleet's as it will be saved; `machines` are the records as this cycle's requests
    leave them, `answers` what becomes of each request, and `transitions` of each machine;
    `unissued` carry the owner tags of some of them, and were made by another store. `target` is how
    many machines are desired, and `sizing` what that comes to (its transitions are here). `hosts`
    are records of hosts to be saved, `adopted` new records of what exists already, and `reopened`
    are machines of the history whose ends begin once more with what was adopted.
    """

    row: FleetRow
    machines: tuple[Machine, ...]
    answers: tuple[RequestAnswer, ...] = ()
    transitions: tuple[Transition, ...] = ()
    unissued: tuple[Resource, ...] = ()
    target: int = 0
    sizing: Sizing = Sizing()
    binds: tuple[Bind, ...] = ()
    hosts: tuple[SaveHost, ...] = ()
    order: OrderHosts | None = None
    adopted: tuple[Machine, ...] = ()
    reopened: tuple[Machine, ...] = ()
    installations: tuple[InstallationId, ...] = ()
    orphan_report: SaveOrphans = SaveOrphans()
    reclaims: tuple[Reclaim, ...] = ()
    events: tuple[Event, ...] = ()
    due: tuple[datetime | None, ...] = ()
    alarms: tuple[str, ...] = ()
    provable: Provable = field(default_factory=dict[tuple[Zone, str], datetime])


DecisionStage = Callable[[Draft, Context], Draft]
"""One question of a decision: it returns the draft with its answer in it."""
