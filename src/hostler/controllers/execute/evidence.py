"""Evidence: what is known of a call at the very moment of sending it, for the gate."""

from dataclasses import dataclass, replace
from datetime import datetime

from hostler.controllers.runtime.state import AccountState
from hostler.domain.machines.drain import bars
from hostler.domain.machines.replacement import REPLACE
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import protection
from hostler.domain.policy.gate import Act, Evidence
from hostler.ports.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A call on behalf of a machine, as decided in a cycle, under a lease until a boot time."""

    call: Call
    machine: Machine
    snapshot: Snapshot
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
    if machine.deletion is None:
        return Act.REPAIR
    return Act.REPLACE if machine.deletion.actor == REPLACE else Act.DELETE


def evidence_for(asking: Asking, state: AccountState, clock: Clock) -> Evidence:
    """Return the evidence for one call of a machine that has a record."""
    call, machine, snapshot = asking.call, asking.machine, asking.snapshot
    fleet = snapshot.fleet
    return Evidence(
        act=act_of(call, machine),
        now=clock.now(),
        boot=clock.boot(),
        lease_until=asking.lease_until,
        deadline=snapshot.capabilities.deadline,
        ours=_is_ours(call, machine, state, snapshot),
        observed=_observed(call, machine, state),
        observation_limit=fleet.timers.observation_limit,
        protection=_protection(machine, state, replace(snapshot, now=clock.now())),
        granted=machine.fact("allowed") is not None,
        world=state.world.get(fleet.name, ""),
        wave=state.wave.get(fleet.name, False),
        proved=machine.fact("loss_proved") is not None,
        floor_allowed=False,
    )


def _is_ours(call: Call, machine: Machine, state: AccountState, snapshot: Snapshot) -> bool:
    if call.target is None:
        return False
    resource = state.inventory.resource(call.target)
    if resource is not None and resource.owner_tag is not None:
        return (
            resource.owner_tag.installation in snapshot.ours
            and resource.owner_tag.machine == machine.id
        )
    return call.target in machine.ids()


def _observed(call: Call, machine: Machine, state: AccountState) -> datetime | None:
    """Return when the target was last seen, in an observation or in a definite answer."""
    if call.target is None:
        return None
    sighting = state.inventory.sightings.get(call.target)
    times = [known.since for known in machine.place(call.slot).known if known.id == call.target]
    times += [state.inventory.observed_at(sighting)] if sighting is not None else []
    return max(times, default=None)


def _protection(machine: Machine, state: AccountState, snapshot: Snapshot) -> str:
    """Return what protects the machine by the newest record, row and requests."""
    if held := state.protected_by_request(machine):
        return held
    row = state.rows.get(snapshot.fleet.name, snapshot.row)
    return protection(machine, row, snapshot) or bars(machine, snapshot)
