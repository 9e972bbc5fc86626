"""Plan: one observation and one decision, by the code that acts, and nothing done."""

from collections.abc import Collection, Iterator

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.decision.view import view_of
from hostler.domain.hosts.claims import CLEAN
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import HostPlanner
from hostler.domain.ids import CycleId, Epoch, HostId, MachineId, Zone
from hostler.domain.model.calls import Call
from hostler.domain.model.commands import Advance, Decision, Next, Reclaim, SaveFleet
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Free
from hostler.domain.model.inventory import merge
from hostler.domain.model.machine import Machine, MachineSpec, Offer
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import Scope
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition, Snapshot
from hostler.domain.observation.certainty import resources_of
from hostler.domain.observation.ready import Ready
from hostler.ports.store import Lease

from .expected_calls import HostSteps, MachineSteps, expected_calls
from .observe.account_observation import observe_account
from .observe.snapshot import Occasion, gather
from .runtime.leases import Tenure
from .runtime.settings import Account, Ports, Settings
from .runtime.state import AccountState, Steadiness

_PLAN = CycleId("plan")
"""The cycle of what is only planned."""

_ARRIVED = Ready()
"""No call is to be made, and nothing is waited for."""


class Planned(Struct, frozen=True, kw_only=True):
    """What would be done now for a machine, or for a host that no machine has.

    `subject` is None for a machine that would be made; `name` is a machine's offer, or what a host
    is called; `stands` is a machine's phase, or a host's goal. `ready` has the calls, and what is
    waited for after them.
    """

    subject: MachineId | HostId | None
    name: str
    stands: str
    reason: str
    ready: Ready = _ARRIVED

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that would be made now, with placeholders for answers."""
        return self.ready.calls

    @property
    def next(self) -> Next:
        """What comes next: the first call, or what is waited for and until when."""
        if self.calls:
            return Next(kind="call", detail=str(self.calls[0]))
        if self.ready.waits:
            return Next(kind="wait", detail=self.ready.waits, at=self.ready.at)
        return Next(kind="nothing")


class Plan(Struct, frozen=True, kw_only=True):
    """What one cycle would come to: the decision, and the very calls that would be made."""

    snapshot: Snapshot
    decision: Decision
    machines: tuple[Planned, ...]


async def observe_once(
    ports: Ports,
    account: Account,
    fleets: tuple[Fleet, ...],
    settings: Settings,
    beside: tuple[Zone, ...] = (),
) -> AccountSnapshot:
    """Return what a cycle would know now of these fleets and the account's hosts.

    Every zone is observed once in which the fleets have machines, or had, and those `beside` them;
    nothing is changed.
    """
    state, provider = AccountState(account, reads_only=True), account.provider
    zones = {*provider.capabilities.zones, *beside}
    for fleet in fleets:
        zones |= {offer.zone for offer in fleet.offers}
        zones |= {machine.offer.zone for machine in await ports.store.machines(fleet.name)}
    scopes = tuple(
        Scope(zone, kind) for zone in sorted(zones) for kind in provider.capabilities.kinds
    )
    state.inventory = merge(state.inventory, await observe_account(ports, state, scopes))
    state.requests = await ports.store.requests()
    occasion = Occasion(
        cycle=_PLAN,
        tenure=_powerless(account, ports),
        identity=await ports.store.identity(),
        fleets=fleets,
    )
    return await gather(ports, state, occasion, Steadiness(ports.clock, settings.jump))


def _powerless(account: Account, ports: Ports) -> Tenure:
    """Return the right to nothing: by it a plan is made, and nothing can be saved."""
    held = Lease(name=f"account/{account.name}", holder="plan", epoch=Epoch(0), beat=0)
    return Tenure(lease=held, until=0.0, took=ports.clock.now())


async def observe_fleet(
    ports: Ports,
    account: Account,
    fleet: Fleet,
    settings: Settings,
    beside: tuple[Zone, ...] = (),
) -> Snapshot:
    """Return what a cycle of this fleet would know now; and of zones beside its own, if asked."""
    facts = await observe_once(ports, account, (fleet,), settings, beside)
    return view_of(facts, fleet, AccountState(account).terms(fleet.name))


async def plan(ports: Ports, account: Account, fleet: Fleet, settings: Settings) -> Plan:
    """Observe everything once, decide, and list the calls; nothing is recorded or sent."""
    snapshot = await observe_fleet(ports, account, fleet, settings)
    decision = decide(snapshot, account.provider)
    now = tuple(planned_machines(decision, snapshot, account.provider))
    later = planned_later(decision, snapshot, {entry.subject for entry in now})
    return Plan(snapshot=snapshot, decision=decision, machines=(*now, *later))


def planned_later(
    decision: Decision, snapshot: Snapshot, known: Collection[MachineId | HostId | None]
) -> Iterator[Planned]:
    """Yield the machines that the engine moves on by itself when a time has come.

    No command of this cycle is about those that are not `known` yet.
    """
    moving = {v.machine: v.next for v in decision.verdicts if v.next.kind == "move"}
    for machine in snapshot.machines:
        step = moving.get(machine.id)
        if step is not None and machine.id not in known:
            yield _of(machine, Ready(waits=step.detail, at=step.at))


def planned_machines(decision: Decision, snapshot: Snapshot, planner: Planner) -> Iterator[Planned]:
    """Yield what a decision comes to for each machine, those included that it makes."""
    for command in decision.commands:
        match command:
            case Advance() if command.goal is not None:
                resources = resources_of(command.machine, snapshot)
                steps = MachineSteps(command.goal, snapshot, planner)
                yield _of(command.machine, expected_calls(command.machine, resources, steps))
            case Advance() if command.machine.phase is not _phase_before(command, snapshot):
                yield _of(command.machine, _after_drain(command.machine, snapshot, planner))
            case SaveFleet():
                others = replace(snapshot, free=_left(decision, snapshot))
                yield from (
                    _new(offer, place, command, others, planner)
                    for place, offer in enumerate(command.inserts)
                )
            case Reclaim():
                calls = planner.next_calls(
                    Goal.ABSENT, command.placeholder, command.resources, snapshot.now
                )
                yield replace(
                    _of(command.placeholder, Ready(calls=calls)),
                    name=str(command.placeholder.offer),
                    stands="orphan",
                    reason="no record explains it",
                )
            case _:
                pass


def _after_drain(machine: Machine, snapshot: Snapshot, planner: Planner) -> Ready:
    """Return what a machine that drains waits for, with the calls that follow; nothing else."""
    if machine.phase is not Phase.DRAINING:
        return _ARRIVED
    ended, resources = replace(machine, phase=Phase.STOPPING), resources_of(machine, snapshot)
    steps = MachineSteps(Goal.ABSENT, snapshot, planner)
    then = ", ".join(str(call) for call in expected_calls(ended, resources, steps).calls)
    return Ready(waits=f"nothing to run on it any more; then {then}" if then else "")


def _phase_before(advance: Advance, snapshot: Snapshot) -> Phase | None:
    return next((m.phase for m in snapshot.machines if m.id == advance.machine.id), None)


def _left(decision: Decision, snapshot: Snapshot) -> tuple[Free, ...]:
    """Return the free hosts that no machine on record takes by this decision."""
    advances = (command for command in decision.commands if isinstance(command, Advance))
    taken = {advance.machine.host for advance in advances}
    return tuple(free for free in snapshot.free if free.id not in taken)


def _of(machine: Machine, ready: Ready = _ARRIVED) -> Planned:
    return Planned(
        subject=machine.id,
        name=str(machine.offer),
        stands=machine.phase,
        reason=machine.reason,
        ready=ready,
    )


def _new(
    offer: Offer, place: int, command: SaveFleet, snapshot: Snapshot, planner: Planner
) -> Planned:
    known, specs = command.named[place : place + 1], command.specs[place : place + 1]
    machine = Machine(
        id=known[0] if known else MachineId(f"<machine {command.row.serial + place + 1}>"),
        fleet=snapshot.fleet.name,
        serial=command.row.serial + place + 1,
        created=snapshot.now,
        since=snapshot.now,
        phase=Phase.STARTING,
        offer=offer,
        spec=specs[0] if specs else MachineSpec(),
    )
    housed = _housed(machine, place, command, snapshot)
    steps = MachineSteps(Goal.PRESENT, snapshot, planner)
    made = _of(housed, expected_calls(housed, (), steps))
    return replace(made, subject=None, stands=Phase.PENDING, reason="made")


def _housed(machine: Machine, place: int, command: SaveFleet, snapshot: Snapshot) -> Machine:
    """Give a machine a host to plan with: the real one follows from its id, which is not known."""
    rank = command.inserts[:place].count(machine.offer)
    free = [free for free in snapshot.free if free.offer == machine.offer][rank : rank + 1]
    if not free:
        return machine
    housed = replace(machine, host=HostId(f"<host {place + 1}>"))
    return housed.with_fact(CLEAN, snapshot.now) if free[0].clean else housed


# ---------------------------------------------------------------- hosts


async def plan_hosts(ports: Ports, account: Account, settings: Settings) -> tuple[Planned, ...]:
    """Observe once, decide, and list the calls on hosts; nothing is recorded or sent."""
    keeps = AccountState(account).keeps
    if keeps is None:
        return ()
    facts = await observe_once(ports, account, account.fleets, settings)
    return tuple(planned_hosts(facts, keeps))


def planned_hosts(snapshot: AccountSnapshot, planner: HostPlanner) -> Iterator[Planned]:
    """Yield what would be done for each host that is on its way somewhere."""
    for transition in decide_hosts(snapshot):
        if transition.goal is not None and transition.resource is not None:
            steps = HostSteps(transition.goal, snapshot, planner)
            found = expected_calls(transition.host, (transition.resource,), steps)
            yield _of_host(transition, found)
        elif transition.blocker:
            yield _of_host(transition, Ready(waits=transition.blocker))
        elif transition.unbind is not None:
            waits = f"its binding to {transition.unbind}, which is deleted, to be removed"
            yield _of_host(transition, Ready(waits=waits))


def _of_host(transition: HostTransition, ready: Ready) -> Planned:
    host = transition.host
    return Planned(
        subject=host.id,
        name=host.ownership.name,
        stands=str(transition.goal or host.goal or ""),
        reason=host.reason,
        ready=ready,
    )
