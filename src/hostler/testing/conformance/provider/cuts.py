"""Cuts: a process that dies at each call, on its way up and down, and the one that goes on."""

from collections.abc import AsyncIterator

from hostler.domain.model.calls import Effect, Refused
from hostler.domain.model.phases import Goal

from .operator_actions import PAUSE, Died, Hand, Side, end, going, made_hand, new_hand
from .rig import Ability, Rig, need


async def creation_goes_on_after_a_death(rig: Rig) -> None:
    """Cut at each call, before or after its effect, creation ends up the same: nothing double."""
    whole = await made_hand(rig)
    calls, expected = whole.count, await whole.things()
    await end(whole)
    async for hand, where in _cut_creations(rig, calls):
        await hand.reach(Goal.PRESENT)
        things = await hand.things()
        assert things == expected, f"cut {where}: {things} things instead of {expected}"
        await end(hand)
        await _nothing_left(rig, where)


async def rollback_leaves_nothing(rig: Rig) -> None:
    """Cut at each call of a creation, the goal absent removes whatever came to be."""
    whole = await made_hand(rig)
    calls = whole.count
    await end(whole)
    async for hand, where in _cut_creations(rig, calls):
        await end(hand)
        await _nothing_left(rig, where)


async def cleaning_goes_on_after_a_death(rig: Rig) -> None:
    """Cut at each call of a cleaning, the next process ends it."""
    number, died = 0, True
    while died:
        number += 1
        for side in Side:
            hand = await made_hand(rig, number)
            going(hand)
            hand.cut = (hand.count + number, side)
            died = await _dies(hand, Goal.ABSENT)
            if died:
                hand = await hand.reborn()
            await hand.reach(Goal.ABSENT)
            await _nothing_left(rig, f"{side} call {number} of the cleaning")
        assert number < 50, "a cleaning takes more than 50 calls"


async def _cut_creations(rig: Rig, calls: int) -> AsyncIterator[tuple[Hand, str]]:
    """Yield a hand of the next process for each call of a creation and each side of it."""
    number = 1
    for place in range(1, calls + 1):
        for side in Side:
            number += 1
            hand = await new_hand(rig, number)
            hand.cut = (place, side)
            where = f"{side} call {place} of {calls}"
            died = await _dies(hand, Goal.PRESENT)
            assert died, f"a creation took {calls} calls, and the next one never made its {where}"
            yield await hand.reborn(), where


async def _dies(hand: Hand, goal: Goal) -> bool:
    try:
        await hand.reach(goal)
    except Died:
        return True
    return False


async def _nothing_left(rig: Rig, where: str) -> None:
    left = [thing.id for thing in await rig.things()]
    assert not left, f"cut {where}: the world still has {left}"


async def cleaning_passes_a_refused_resource(rig: Rig) -> None:
    """A resource that cannot be removed keeps no other resource; when it can be, it goes too."""
    need(rig, Ability.REFUSE)
    hand = await made_hand(rig)
    going(hand)
    resources = hand.resources
    main = hand.main
    held = next(
        resource for resource in reversed(resources) if main is None or resource.id != main.id
    )
    await rig.refuse(held.id)
    for _ in range(60):
        await hand.step(Goal.ABSENT)
        await rig.wait(hand.provider.capabilities.deadline)
    left = {thing.id for thing in await rig.things()}
    others = {resource.id for resource in resources} - {held.id}
    assert not left & others, f"{held.id} was refused, and {sorted(left & others)} stayed with it"
    assert any(isinstance(m.outcome, Refused) for m in hand.journal.made), (
        f"the removal of {held.id} was never tried and refused"
    )
    await rig.refuse(None)
    await hand.reach(Goal.ABSENT)
    await _nothing_left(rig, "by a refused resource")


async def a_vanished_machine_is_cleaned(rig: Rig) -> None:
    """Where the main resource was taken away by hand, the goal absent removes the rest."""
    need(rig, Ability.REMOVE)
    hand = await made_hand(rig)
    main = hand.main
    assert main is not None
    await rig.remove(main.id)
    for _ in range(20):
        await rig.wait(PAUSE)
        await hand.observe()
    await end(hand)
    await _nothing_left(rig, "by somebody's hand")
    destroyed = {call.target for call in hand.journal.calls(Effect.DESTROY)}
    known = {known.id for place in hand.machine.places for known in place.known}
    assert destroyed <= known, f"cleaning touched what is not its own: {destroyed - known}"
