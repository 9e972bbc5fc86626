"""Lifecycle: from nothing to up and back to nothing, with every call answered."""

from copy import deepcopy

from msgspec.structs import replace

from hostler.domain.model.calls import Done, Effect, Refused
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition

from .operator_actions import PAUSE, end, made_hand, new_hand
from .recorded import is_recorded
from .rig import Ability, Rig, need


async def creation_reaches_up(rig: Rig) -> None:
    """From nothing, the answers of the calls lead to a main resource that is observed up.

    Where our records alone say who has a host, the host is observed before anything is asked of it.
    """
    hand = await new_hand(rig)
    if is_recorded(hand.provider.capabilities):
        await hand.observe()
    calls = hand.ask(Goal.PRESENT)
    assert calls, "with no resources and the goal present, next_calls returns nothing to begin with"
    await hand.reach(Goal.PRESENT)
    main = hand.main
    assert main is not None, "the main resource is bound to no id, although the goal was reached"
    assert main.owner_tag is not None, f"the observation shows {main.id} without an owner tag"
    assert main.owner_tag.machine == hand.machine.id, (
        f"the owner tag names {main.owner_tag.machine} instead"
    )
    assert main.owner_tag.installation == rig.installation, (
        "the owner tag names another installation"
    )
    assert main.owner_tag.fleet == rig.fleet, (
        f"the owner tag names the fleet {main.owner_tag.fleet} instead"
    )
    assert await hand.things(), "the world has nothing of a machine that the observations call up"


async def creating_calls_are_once_and_numbered(rig: Rig) -> None:
    """Every call that makes something is *once*, numbered for its slot, and shown by observations.

    Where machines are allocations of hosts, the host that the call is for takes the number's place;
    where our records alone say who has a host, no call makes anything.
    """
    hand = await made_hand(rig)
    if is_recorded(hand.provider.capabilities):
        made = [str(call) for call in hand.journal.calls(Effect.MAKE)]
        assert not made, f"{made} would claim a host that our records alone give away"
        return
    for call in hand.journal.calls(Effect.MAKE):
        assert call.once, f"{call} makes something and is not *once*: a break would make it twice"
        if hand.provider.capabilities.hosts:
            assert call.arg("host") == hand.machine.host, f"{call} is for another host"
            return
        assert call.attempt >= 1, f"{call} has no attempt's number to be written into the owner tag"
    for place in hand.machine.places:
        for known in place.known:
            assert known.attempt, f"{known.id} in {place.slot} was made under no number"


async def nothing_is_left(rig: Rig) -> None:
    """After the goal absent, the world has nothing of the machine any more."""
    hand = await made_hand(rig)
    await end(hand)
    left = [thing.id for thing in await rig.things()]
    assert not left, f"the observations show nothing any longer, and the world still has {left}"


async def absent_again_asks_nothing(rig: Rig) -> None:
    """Cleaning what is clean makes no further call."""
    hand = await made_hand(rig)
    await end(hand)
    count = hand.count
    calls = hand.ask(Goal.ABSENT, ())
    assert not calls, f"nothing is left, and next_calls still wants {calls[0]}"
    await hand.step(Goal.ABSENT)
    assert hand.count == count, "cleaning again made a call, with nothing left to clean"


async def present_again_asks_nothing(rig: Rig) -> None:
    """What is up is left alone."""
    hand = await made_hand(rig)
    count = hand.count
    for _ in range(3):
        await rig.wait(PAUSE)
        await hand.step(Goal.PRESENT)
    assert hand.count == count, (
        f"the machine is up, and yet a call was made: {hand.journal.made[-1].call}"
    )


async def destroying_twice_is_done(rig: Rig) -> None:
    """A destructive call on what is gone is Done, and changes nothing else.

    A host outlives its allocations: what was decided for one of them may also be refused, for good.
    """
    hand, other = await made_hand(rig), await made_hand(rig, 2)
    others = await other.things()
    await end(hand)
    before = await rig.things()
    calls = hand.journal.calls(Effect.DESTROY)
    assert calls, "the machine came to its end without one destructive call"
    for call in calls:
        assert call.target is not None, f"{call.kind} destroys, and names no target for the gate"
        outcome = await hand.provider.do(call)
        definite = Done | Refused if hand.provider.capabilities.hosts else Done
        assert isinstance(outcome, definite), (
            f"{call} again, on what is gone, is no Done: {outcome}"
        )
    assert await rig.things() == before, "a destructive call on what is gone removed something else"
    assert await other.things() == others, "ending one machine took something of another"


async def next_calls_are_pure(rig: Rig) -> None:
    """The same arguments, the same calls: at once, later, and whatever was done in between."""
    hand = await made_hand(rig)
    await end(hand)
    for asked in hand.journal.asked:
        machine, resources = deepcopy(asked.machine), deepcopy(asked.resources)
        repeated = hand.provider.next_calls(asked.goal, asked.machine, asked.resources, asked.now)
        assert repeated == asked.calls, (
            f"asked again for {asked.goal} with the same arguments, next_calls says "
            f"{[str(c) for c in repeated]} and not {[str(c) for c in asked.calls]}"
        )
        unchanged = (asked.machine, asked.resources) == (machine, resources)
        assert unchanged, "next_calls changed its arguments"


async def surplus_goes_and_the_bound_stays(rig: Rig) -> None:
    """A second resource in a bound slot is removed, and the bound one goes on."""
    need(rig, Ability.PLANT, Ability.SURPLUS)
    hand = await made_hand(rig)
    main = hand.main
    assert main is not None
    assert main.owner_tag is not None, "the main resource carries no owner tag"
    place = hand.machine.place(main.slot)  # as it is saved before the call of each attempt
    hand.machine = hand.machine.with_place(replace(place, attempt=main.owner_tag.attempt + 3))
    planted = await rig.plant(replace(main.owner_tag, attempt=main.owner_tag.attempt + 3))
    await hand.observe()
    assert planted in {resource.id for resource in hand.resources}, (
        "a late resource with our owner tag is not seen"
    )
    for _ in range(24):
        await hand.step(Goal.PRESENT)
        await rig.wait(PAUSE)
    existing = {resource.id for resource in hand.resources if resource.slot == main.slot}
    assert planted not in existing, "a surplus resource was left standing"
    assert main.id in existing, "the bound resource was taken for the surplus one"
    after = hand.main
    assert after is not None
    assert after.condition is Condition.UP, f"removing the surplus left it {after.status}"


async def a_bound_slot_is_not_filled_again(rig: Rig) -> None:
    """Where the main resource was removed by hand, no other is made in its place: it failed."""
    need(rig, Ability.REMOVE)
    hand = await made_hand(rig)
    main = hand.main
    assert main is not None
    await rig.remove(main.id)
    count = len(hand.journal.calls(Effect.MAKE))
    for _ in range(24):
        await rig.wait(PAUSE)
        await hand.step(Goal.PRESENT)
    made = [str(call) for call in hand.journal.calls(Effect.MAKE)[count:]]
    assert not made, f"the bound {main.slot} is gone, and its slot was filled again: {made[0]}"
