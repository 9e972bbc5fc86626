"""Evidence: what is known of a call at the very moment of sending it, for the gate."""

from dataclasses import dataclass, replace
from datetime import datetime

from hostler.controllers.runtime.state import AccountState
from hostler.domain.machines.drain import bars
from hostler.domain.machines.replacement import REPLACE
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Seen
from hostler.domain.observation.blockers import protection
from hostler.domain.policy.gate import Act, Evidence
from hostler.ports.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A call on behalf of a machine, as decided in a turn, under a lease until a boot time."""

    call: Call
    machine: Machine
    seen: Seen
    lease_until: float


def act_of(call: Call, machine: Machine) -> Act:
    """Return what kind of act this call is: a destruction is judged by why the machine goes."""
    if call.effect is Effect.MAKE:
        return Act.CREATE
    if call.effect is Effect.CHANGE:
        return Act.CHANGE
    surplus = call.target is not None and machine.bound(call.slot) not in {None, call.target}
    if surplus or machine.was_ready is None:
        return Act.ROLLBACK
    if machine.ending is None:
        return Act.REPAIR
    return Act.REPLACE if machine.ending.actor == REPLACE else Act.END


def evidence_for(asking: Asking, state: AccountState, clock: Clock) -> Evidence:
    """Return the evidence for one call of a machine that has a record."""
    call, machine, seen = asking.call, asking.machine, asking.seen
    fleet = seen.fleet
    return Evidence(
        act=act_of(call, machine),
        now=clock.now(),
        boot=clock.boot(),
        lease_until=asking.lease_until,
        deadline=seen.traits.deadline,
        ours=_is_ours(call, machine, state, seen),
        looked=_looked(call, machine, state),
        look_limit=fleet.timers.look_limit,
        hold=_hold(machine, state, replace(seen, now=clock.now())),
        granted=machine.fact("allowed") is not None,
        world=state.world.get(fleet.name, ""),
        wave=state.wave.get(fleet.name, False),
        proved=machine.fact("loss_proved") is not None,
        floor_allowed=False,
    )


def _is_ours(call: Call, machine: Machine, state: AccountState, seen: Seen) -> bool:
    if call.target is None:
        return False
    part = state.view.part(call.target)
    if part is not None and part.mark is not None:
        return part.mark.installation in seen.ours and part.mark.machine == machine.id
    return call.target in machine.ids()


def _looked(call: Call, machine: Machine, state: AccountState) -> datetime | None:
    """Return when the target was last seen, in a look or in a definite answer."""
    if call.target is None:
        return None
    sighting = state.view.sightings.get(call.target)
    times = [known.since for known in machine.place(call.slot).known if known.id == call.target]
    times += [state.view.shown(sighting)] if sighting is not None else []
    return max(times, default=None)


def _hold(machine: Machine, state: AccountState, seen: Seen) -> str:
    """Return what holds the machine by the newest record, row and wishes, not by the turn's."""
    if held := state.held_by_wish(machine):
        return held
    row = state.rows.get(seen.fleet.name, seen.row)
    return protection(machine, row, seen) or bars(machine, seen)
