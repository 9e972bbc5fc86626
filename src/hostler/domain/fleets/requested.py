"""Requested: machines that are asked for by id: which begin now, and which are tried again?

Where a fleet does not renew itself, whoever asked counts its machines under their ids. So nothing
is made or ended for the sake of a size; a start that fails is made again under the same id until
its deadline; and what was lost is not replaced behind the asker's back (docs/decisions/0009).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.machines.retry import start_deadline
from hostler.domain.model.fleet import Fleet, FleetRow, creations_left
from hostler.domain.model.machine import BootstrapFormat, Machine, MachineSpec
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, move
from hostler.domain.observation.blockers import paused

from .offers import begin_blocked, choose, fitting, unbegun_left, unfit, why_no_offer
from .requests import births, specs
from .scaling import Sizing


def resize(transitions: tuple[Transition, ...], row: FleetRow, snapshot: Snapshot) -> Sizing:
    """Return the machines that were wished by name, and which of those that wait begin now."""
    named, refused = _new(row, snapshot)
    asked = specs(snapshot)
    wanted = tuple(asked.get(machine, MachineSpec()) for machine in named)
    transitions = tuple(_too_late(transition, snapshot) for transition in transitions)
    waiting = [transition for transition in transitions if _waits(transition)]
    why, due = "", None
    begun = dict[MachineId, Transition]()
    if waiting:
        begun, why, due = _begin(waiting, transitions, row, snapshot)
    return Sizing(
        inserts=tuple(fitting(spec, snapshot).fleet.offers[0] for spec in wanted),
        named=named,
        specs=wanted,
        refused=refused,
        creations=sum(transition.machine.phase is Phase.STARTING for transition in begun.values()),
        transitions=tuple(
            begun.get(transition.machine.id, transition) for transition in transitions
        ),
        condition=why,
        due=due,
    )


def counted(row: FleetRow, sizing: Sizing) -> FleetRow:
    """Return the row with the size that comes of what was asked for, and is not lost."""
    size = sum(transition.machine.wanted for transition in sizing.transitions) + len(sizing.named)
    return row if row.size == size else replace(row, size=size)


def room(fleet: Fleet, row: FleetRow, machines: Iterable[Machine]) -> int:
    """Return how many machines may still be named under the fleet's maximum."""
    most = fleet.most(row.desired(fleet))
    stuck, held = 0, 0
    for machine in machines:
        stuck, held = stuck + machine.health.stuck, held + machine.in_maximum
    return max(0, most - held - max(0, stuck - fleet.caps.stuck))


def _new(
    row: FleetRow, snapshot: Snapshot
) -> tuple[tuple[MachineId, ...], tuple[tuple[MachineId, str], ...]]:
    """Return the ids to insert, no more than the maximum has room for, and those refused, and why.

    Frontends accept no more than there is room; it is kept here whatever they do.
    """
    known, asked = {machine.id for machine in snapshot.machines}, specs(snapshot)
    desired = tuple(machine for machine in births(snapshot) if machine not in known)
    why = {machine: unfit(asked[machine], snapshot) for machine in desired if machine in asked}
    fit = tuple(machine for machine in desired if not why.get(machine))
    refused = [(machine, text) for machine, text in why.items() if text]
    left = max(0, room(snapshot.fleet, row, snapshot.machines) - len(snapshot.reopening))
    full = f"the fleet has at most {snapshot.fleet.most(row.desired(snapshot.fleet))} machines"
    refused += [(machine, full) for machine in fit[left:]]
    return fit[:left], tuple(refused)


def _waits(transition: Transition) -> bool:
    return transition.machine.phase is Phase.PENDING and transition.machine.deletion is None


def _too_late(transition: Transition, snapshot: Snapshot) -> Transition:
    """Give up a machine that could not begin in time; nothing of it exists."""
    machine = transition.machine
    if not _waits(transition) or machine.is_protected(snapshot.now):
        return transition
    tried = machine.reason == Reason.MADE_AGAIN
    late = machine.elapsed(snapshot.now, snapshot.jumped) >= snapshot.fleet.timers.admit
    if late or (tried and snapshot.now >= start_deadline(machine, snapshot.fleet, snapshot.jumped)):
        return move(transition, Phase.DELETED, Reason.NOT_ADMITTED, snapshot)
    return transition


def _begin(
    waiting: list[Transition],
    transitions: tuple[Transition, ...],
    row: FleetRow,
    snapshot: Snapshot,
) -> tuple[dict[MachineId, Transition], str, datetime | None]:
    """Return the steps of those that wait, begun or told why not, and what holds the rest up."""
    why = paused(row, snapshot.now) or begin_blocked(transitions, row, snapshot)
    left = min(
        creations_left(snapshot.fleet, row, snapshot.now), unbegun_left(transitions, snapshot)
    )
    begin = _Beginning(transitions, row, snapshot, 0 if why else left, why)
    for spec, group in _alike(waiting).items():
        begin.all_of(spec, group)
    return begin.changed, begin.why or why, begin.due


def _alike(waiting: list[Transition]) -> dict[MachineSpec, list[Transition]]:
    """Return those that wait by what chooses their offers, in the order in which they wait."""
    groups = dict[MachineSpec, list[Transition]]()
    for transition in waiting:
        spec = replace(
            transition.machine.spec,
            template="",
            bootstrap="",
            bootstrap_format=BootstrapFormat.CLOUD_INIT,
            requester=None,
        )
        groups.setdefault(spec, []).append(transition)
    return groups


@dataclass(slots=True)
class _Beginning:
    """Which of those that wait begin: `left` may, unless `blocked` says what holds all of them up.

    `why` is what holds up any of them, and `due` until when.
    """

    transitions: tuple[Transition, ...]
    row: FleetRow
    snapshot: Snapshot
    left: int
    blocked: str
    why: str = ""
    due: datetime | None = None
    changed: dict[MachineId, Transition] = field(default_factory=dict[MachineId, Transition])

    def all_of(self, spec: MachineSpec, group: list[Transition]) -> None:
        """Begin those of which the same was asked, as far as there are offers for them."""
        many, fit = min(len(group), self.left), self._fit(spec)
        now = tuple(self.changed.get(t.machine.id, t) for t in self.transitions)
        offers = choose(now, self.row, many, fit) if many else ()
        blocker = self.blocked
        if many and not offers:
            blocker, due = (
                (unfit(spec, self.snapshot), None)
                if not fit.fleet.offers
                else (why_no_offer(self.row, fit))
            )
            self.why, self.due = self.why or blocker, self.due or due
        for transition, offer in zip(group, offers, strict=False):
            chosen = replace(transition, machine=replace(transition.machine, offer=offer))
            self._keep(move(chosen, Phase.STARTING, Reason.ADMITTED, self.snapshot))
        for transition in group[len(offers) :]:
            self._keep(replace(transition, blocker=blocker or "others begin first"))
        self.left -= len(offers)

    def _keep(self, transition: Transition) -> None:
        self.changed[transition.machine.id] = transition

    def _fit(self, spec: MachineSpec) -> Snapshot:
        """Return the offers that fit, and the hosts that fit and that nobody takes just now."""
        left = list(self.snapshot.free)
        for transition in self.changed.values():
            offer, starts = transition.machine.offer, transition.machine.phase is Phase.STARTING
            taken = next((free for free in left if starts and free.offer == offer), None)
            left = [free for free in left if free is not taken]
        same = len(left) == len(self.snapshot.free)
        rest = self.snapshot if same else replace(self.snapshot, free=tuple(left))
        return fitting(spec, rest)
