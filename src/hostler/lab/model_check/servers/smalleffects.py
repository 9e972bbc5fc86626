"""Smalleffects: what a call does to the small world, and its answer."""

from dataclasses import replace

from hostler.domain.ids import MachineId, PartId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.resource import Condition, Mark, Part
from hostler.testing.fakes.planner import POWER_ON, SERVER, TERMINATE
from hostler.testing.scenes.builders import HOME, WEB, ZONE

from .actions import answered, becomes, removed, standing
from .state import State, Violated

_WANTED = {POWER_ON: Condition.OFF, TERMINATE: Condition.UP}
"""How a server must stand for a call to do anything."""


def effect_of(state: State, call: Call) -> tuple[State, Outcome]:
    """Return the world after a call, and its answer."""
    if call.effect is Effect.MAKE:
        return _make(state, call)
    part = next((p for p in state.parts if p.id == call.target), None)
    if part is None and call.effect is Effect.DESTROY and call.target is not None:
        return state, Done(gone=(call.target,), missing=True)
    wanted = _WANTED.get(call.kind)
    if part is None or wanted not in {None, part.condition}:
        return state, Refused(why=Refusal.WRONG_STATE, text="it does not stand so")
    if call.effect is Effect.CHANGE:
        return answered(becomes(state, part, Condition.STARTING), part)
    _may_go(state, part)
    if call.kind == TERMINATE:
        return answered(becomes(state, part, Condition.STOPPING), part)
    return removed(state, part), Done(gone=(part.id,))


def _make(state: State, call: Call) -> tuple[State, Outcome]:
    server = call.slot == SERVER
    part = Part(
        id=PartId(f"{call.slot.kind}-{state.names:06d}"),
        slot=call.slot,
        zone=ZONE,
        mark=Mark(
            installation=HOME,
            fleet=WEB,
            machine=MachineId(str(call.arg("machine"))),
            attempt=call.attempt,
        ),
        created=state.now,
    )
    part = standing(part, Condition.OFF if server else Condition.FREE)
    made = replace(state, parts=(*state.parts, part), names=state.names + 1)
    for address in call.arg("addresses") if server else ():  # type: ignore[union-attr]
        parts = tuple(replace(p, owner=part.id) if p.id == address else p for p in made.parts)
        made = replace(made, parts=parts)
    return made, Done(parts=(part,))


def _may_go(state: State, part: Part) -> None:
    """What a wanted record is bound to must never be destroyed."""
    for machine in state.machines:
        if machine.wanted and machine.bound(part.slot) == part.id:
            raise Violated(f"S5: {part.id} is bound in {machine.id}, which is {machine.phase}")
