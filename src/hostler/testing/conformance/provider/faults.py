"""Faults: what a provider says of a call whose request or answer was hurt on its way."""

from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.host import HOST
from hostler.domain.model.phases import Goal
from hostler.domain.model.subject import ask
from hostler.domain.observation.outcomes import apply_outcome

from .operator_actions import PAUSE, Hand, end, going, made_hand, new_hand
from .recorded import is_recorded
from .rig import Ability, Fault, Rig, need

_PASSING = frozenset({Refusal.BUSY, Refusal.RATE, Refusal.WRONG_STATE, Refusal.NOT_SENT})


async def a_lost_answer_is_not_refused(rig: Rig) -> None:
    """A call that had its effect, and whose answer is lost, is never Refused."""
    need(rig, Fault.AFTER)
    await _not_refused(rig, Fault.AFTER)


async def a_nonsense_answer_is_not_refused(rig: Rig) -> None:
    """A call that had its effect, and whose answer makes no sense, is never Refused."""
    need(rig, Fault.GARBAGE)
    await _not_refused(rig, Fault.GARBAGE)


async def _not_refused(rig: Rig, fault: Fault) -> None:
    hand = await new_hand(rig)
    call, before = await _first_make(hand), await rig.things()
    outcome = await _struck(hand, call, fault)
    had_effect = await rig.things() != before
    assert not (had_effect and isinstance(outcome, Refused)), (
        f"{call} had its effect, its answer was hurt ({fault}), and yet it is Refused: {outcome}"
    )
    await _goes_on(hand, call, outcome)


async def a_lost_request_is_not_done(rig: Rig) -> None:
    """A call that was lost on its way is never Done."""
    need(rig, Fault.BEFORE)
    hand = await new_hand(rig)
    call, before = await _first_make(hand), await rig.things()
    outcome = await _struck(hand, call, Fault.BEFORE)
    had_effect = await rig.things() != before
    assert had_effect or not isinstance(outcome, Done), (
        f"{call} never arrived, and yet it is Done: {outcome}"
    )
    await _goes_on(hand, call, outcome)


async def busy_passes_by_itself(rig: Rig) -> None:
    """What is refused for the moment is Refused, in a class that time heals, without effect."""
    need(rig, Fault.BUSY)
    hand = await new_hand(rig)
    call, before = await _first_make(hand), await rig.things()
    outcome = await _struck(hand, call, Fault.BUSY)
    assert isinstance(outcome, Refused), f"{call} was refused, and yet the outcome is {outcome}"
    assert outcome.why in _PASSING, f"{call} was only busy, and is refused for good: {outcome.why}"
    assert await rig.things() == before, f"{call} is Refused, and had its effect"
    await _goes_on(hand, call, outcome)


async def busy_removals_pass_by_themselves(rig: Rig) -> None:
    """A removal that is refused for the moment is Refused, and done when asked again."""
    need(rig, Fault.BUSY)
    hand = await made_hand(rig)
    before = await rig.things()
    call = await _first_removal(hand)
    outcome = await _struck(hand, call, Fault.BUSY)
    assert isinstance(outcome, Refused), f"{call} was refused, and yet the outcome is {outcome}"
    assert outcome.why in _PASSING, f"{call} was only busy, and is refused for good: {outcome.why}"
    assert await rig.things() == before, f"{call} is Refused, and had its effect"
    await end(hand)


async def _first_removal(hand: Hand) -> Call:
    """Return the first call that ends what a machine has.

    Where our records alone say who has a host, nothing outside can refuse that it is let go of; the
    first call that can be refused is then one for the host.
    """
    call = next((c for c in hand.ask(Goal.ABSENT) if c.effect is Effect.DESTROY), None)
    assert call is not None, "a machine that is up gives the goal absent nothing to destroy"
    if not is_recorded(hand.provider.capabilities):
        return call
    going(hand)
    for _ in range(64):
        await hand.step(Goal.ABSENT)
        if hand.arrived(Goal.ABSENT) and (calls := hand.host_calls()):
            return calls[0]
        await hand.rig.wait(PAUSE)
    raise AssertionError("a host that was let go of is asked for nothing")


async def _first_make(hand: Hand) -> Call:
    """Lead the machine up to the first call that makes something, and return that call.

    Where our records alone say who has a host, that is the first call of all: it switches it on.
    """
    recorded = is_recorded(hand.provider.capabilities)
    await hand.observe()
    for _ in range(64):
        call = next(iter(hand.ask(Goal.PRESENT)), None)
        assert call is not None, "no creating call was ever asked for"
        if call.effect is Effect.MAKE or recorded:
            return call
        await hand.make(call)
    raise AssertionError("no creating call was ever asked for")


async def _struck(hand: Hand, call: Call, fault: Fault) -> Outcome:
    await hand.rig.strike(fault)
    if call.slot == HOST and hand.host is not None:
        hand.host = ask(hand.host, call, hand.rig.clock.now(), hand.epoch)
    elif call.once:
        hand.machine = ask(hand.machine, call, hand.rig.clock.now(), hand.epoch)
    hand.saved = hand.machine
    return await hand.provider.do(call)


async def _goes_on(hand: Hand, call: Call, outcome: Outcome) -> None:
    """Check that the machine still gets up after the hurt call, once, and then away."""
    hand.machine = apply_outcome(hand.machine, call, outcome, hand.rig.clock.now())
    hand.saved = hand.machine
    await hand.reach(Goal.PRESENT)
    things = await hand.things()
    fresh = await made_hand(hand.rig, 77)
    expected = await fresh.things()
    assert things == expected, f"after a hurt {call} there are {things} things, not {expected}"
    await end(hand)
    await end(fresh)
    left = [thing.id for thing in await hand.rig.things()]
    assert not left, f"after a hurt {call} the world still has {left}"


async def a_dead_outside_raises_nothing(rig: Rig) -> None:
    """Where nothing answers, observations are incomplete and say why, and no call is Done."""
    need(rig, Ability.DEATH)
    hand = await made_hand(rig)
    creation = hand.journal.calls()
    cleaning = _outside(hand, hand.ask(Goal.ABSENT))
    await rig.die()
    observation = await hand.observe()
    for observed in observation.observed:
        assert not observed.complete, f"nothing answers, and {observed.scope} was seen whole"
        assert observed.error, f"{observed.scope} is incomplete, and no error says why"
    for call in (*creation, *cleaning):
        outcome = await hand.provider.do(call)
        assert not isinstance(outcome, Done), f"nothing answers, and {call} is Done"


def _outside(hand: Hand, calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Return the calls that anything outside is to answer; what our records say needs no answer."""
    recorded = is_recorded(hand.provider.capabilities)
    return tuple(call for call in calls if not recorded or call.effect is not Effect.DESTROY)
