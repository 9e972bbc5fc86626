"""Checks of actions: what becomes of power, and what is said of it."""

from hostler.domain.model.calls import Done, Outcome, Refusal, Refused, Unknown
from hostler.ports.power import Power, PowerAction, PowerState
from hostler.testing.fakes.power import PowerFault

from .rig import NotApplicable, PowerRig, befall


async def on_gives_power(rig: PowerRig) -> None:
    """What is off is on once the action settled, and a reading says so."""
    await _switched(rig, PowerAction.ON, before=False, after=True)


async def a_hard_off_takes_it(rig: PowerRig) -> None:
    """What is on is off, and a reading says so."""
    await _switched(rig, PowerAction.OFF_HARD, before=True, after=False)


async def a_soft_off_takes_it(rig: PowerRig) -> None:
    """What is on and obeys is off, and a reading says so."""
    await _switched(rig, PowerAction.OFF_SOFT, before=True, after=False)


async def a_cycle_ends_on(rig: PowerRig) -> None:
    """What is on is on again."""
    await _switched(rig, PowerAction.CYCLE, before=True, after=True)


async def what_stands_already_is_done(rig: PowerRig) -> None:
    """To switch on what is on, or off what is off, is no error."""
    power = rig.open()
    for action, on in ((PowerAction.ON, True), (PowerAction.OFF_HARD, False)):
        if action in power.capabilities.actions:
            rig.set_power(on=on)
            outcome = await power.act(action)
            assert isinstance(outcome, Done), f"{action} of what is so already: {outcome}"


async def what_it_cannot_do_is_refused(rig: PowerRig) -> None:
    """An action that the method has not is refused as invalid, and nothing is sent."""
    power = rig.open()
    lacking = [action for action in PowerAction if action not in power.capabilities.actions]
    if not lacking:
        raise NotApplicable("it can do everything")
    for action in lacking:
        _refused(await power.act(action), Refusal.INVALID)
    assert not rig.arrived(), f"it was sent all the same: {rig.arrived()}"


async def what_is_ignored_is_not_made_up(rig: PowerRig) -> None:
    """An endpoint may accept and do nothing: the next reading must say how it really stands."""
    power, action, on = _some(rig)
    befall(rig, PowerFault.IGNORED)
    outcome = await power.act(action)
    assert not isinstance(outcome, Refused), f"it was accepted, and said to be {outcome}"
    await rig.pass_by(power.capabilities.settles)
    assert rig.has_power() is not on, "the rig let it have its effect"
    await _reads(power, on=not on)


async def a_late_effect_settles(rig: PowerRig) -> None:
    """An effect that comes after its answer has come when `settles` is over."""
    power, action, on = _some(rig)
    befall(rig, PowerFault.LATE)
    await power.act(action)
    await rig.pass_by(power.capabilities.settles)
    assert rig.has_power() is on, f"the effect came later than {power.capabilities.settles}"
    await _reads(power, on=on)


async def a_hung_endpoint_leaves_it_unknown_in_time(rig: PowerRig) -> None:
    """Where no answer comes, nobody knows; that is said when the deadline is over."""
    power, action, _ = _some(rig)
    befall(rig, PowerFault.HUNG)
    begun = rig.now()
    outcome = await power.act(action)
    took, most = rig.now() - begun, power.capabilities.deadline
    assert isinstance(outcome, Unknown), f"nothing answered, and yet: {outcome}"
    assert took <= most * 1.1, f"it took {took}, and its deadline is {most}"


async def a_lost_answer_is_not_refused(rig: PowerRig) -> None:
    """An action whose answer is lost had its effect, and is not said to have had none."""
    power, action, on = _some(rig)
    befall(rig, PowerFault.LOST)
    outcome = await power.act(action)
    assert not isinstance(outcome, Refused), f"it had its effect, and was said to be {outcome}"
    await rig.pass_by(power.capabilities.settles)
    assert rig.has_power() is on, "the rig let it have no effect"


async def a_nonsense_answer_is_unknown(rig: PowerRig) -> None:
    """An answer that means nothing says nothing about the effect."""
    power, action, _ = _some(rig)
    befall(rig, PowerFault.NONSENSE)
    outcome = await power.act(action)
    assert isinstance(outcome, Unknown), f"the answer made no sense, and yet: {outcome}"


async def wrong_credentials_are_denied_once(rig: PowerRig) -> None:
    """Wrong credentials are tried once, by whatever way, and not for a time: endpoints lock out."""
    power, action, on = _some(rig)
    befall(rig, PowerFault.DENIED)
    outcome = _refused(await power.act(action), Refusal.DENIED)
    assert outcome.after is None, "time does not heal wrong credentials"
    await rig.pass_by(power.capabilities.deadline)
    for way in (power, rig.open()):
        _refused(await way.act(action), Refusal.DENIED)
        assert (await way.query()).state is PowerState.UNKNOWN, "nobody was let in, and it is known"
    assert len(rig.arrived()) <= 1, f"it was tried {len(rig.arrived())} times: {rig.arrived()}"
    assert rig.has_power() is not on, "it was denied, and had its effect"


async def busy_passes_by_itself(rig: PowerRig) -> None:
    """What is at something else refuses, without effect, and obeys the next time."""
    power, action, on = _some(rig)
    befall(rig, PowerFault.BUSY)
    _refused(await power.act(action), Refusal.BUSY, Refusal.RATE)
    assert rig.has_power() is not on, "it was refused, and had its effect"
    again = await power.act(action)
    assert isinstance(again, Done), f"it is at nothing else any more, and yet: {again}"


async def what_cannot_be_reached_has_no_effect(rig: PowerRig) -> None:
    """Where nothing could be sent, that is said; where nobody can tell, nothing is promised."""
    power, action, on = _some(rig)
    befall(rig, PowerFault.UNREACHABLE)
    outcome = await power.act(action)
    if not isinstance(outcome, Unknown):
        _refused(outcome, Refusal.NOT_SENT)
    assert rig.has_power() is not on, "it could not be reached, and had its effect"


async def _switched(rig: PowerRig, action: PowerAction, *, before: bool, after: bool) -> None:
    power = rig.open()
    if action not in power.capabilities.actions:
        raise NotApplicable(f"it cannot do {action}")
    rig.set_power(on=before)
    outcome = await power.act(action)
    assert isinstance(outcome, Done), f"{action} came to {outcome}"
    await rig.pass_by(power.capabilities.settles)
    assert rig.has_power() is after, f"{action} was done, and had no effect"
    assert str(action) in rig.arrived(), f"{action} never arrived: {rig.arrived()}"
    await _reads(power, on=after)


async def _reads(power: Power, *, on: bool) -> None:
    if power.capabilities.query:
        reading = await power.query()
        wanted = PowerState.ON if on else PowerState.OFF
        assert reading.state is wanted, f"it is {wanted}, and was read as {reading.state}"


def _some(rig: PowerRig) -> tuple[Power, PowerAction, bool]:
    """Return a method with an action of it, where it ends, and the endpoint the other way."""
    power = rig.open()
    actions = power.capabilities.actions
    if not actions:
        raise NotApplicable("it switches nothing")
    action = next(a for a in (PowerAction.ON, PowerAction.OFF_HARD, *PowerAction) if a in actions)
    on = action in {PowerAction.ON, PowerAction.CYCLE}
    rig.set_power(on=not on)
    return power, action, on


def _refused(outcome: Outcome, *whys: Refusal) -> Refused:
    wanted = " or ".join(whys)
    assert isinstance(outcome, Refused), f"it must be refused ({wanted}), and came to {outcome}"
    assert outcome.why in whys, f"it must be refused as {wanted}, and was as {outcome.why}"
    return outcome
