"""Checks of readings and manners: what is not known is unknown, and one call goes at a time."""

import asyncio
from datetime import timedelta

from hostler.ports.power import Power, PowerAction, PowerState
from hostler.testing.fakes.power import PowerFault

from .rig import NotApplicable, PowerRig, befall


async def capabilities_are_sane(rig: PowerRig) -> None:
    """What it can do can be reckoned with, and stays what it is."""
    power = rig.open()
    declared, zero = power.capabilities, timedelta(0)
    assert declared.actions or declared.query, "it can do nothing at all"
    assert declared.settles >= zero, "an effect cannot settle before its answer"
    assert declared.deadline > zero, "the deadline of a call must be longer than nothing"
    assert declared.query or not declared.watts, "the draw is told by readings, and it has none"
    assert power.capabilities == declared, "its capabilities changed"


async def a_reading_says_how_it_stands(rig: PowerRig) -> None:
    """Whoever switched it: on is read as on, and off as off; the draw only where it is measured."""
    power = _asked(rig)
    for on, state in ((True, PowerState.ON), (False, PowerState.OFF)):
        rig.set_power(on=on)
        begun = rig.now()
        reading = await power.query()
        assert reading.state is state, f"it is {state}, and was read as {reading.state}"
        assert begun <= reading.at <= rig.now(), f"the reading is of {reading.at}, not of now"
        assert power.capabilities.watts or reading.watts is None, "it measures no draw, and told it"


async def a_reading_changes_nothing(rig: PowerRig) -> None:
    """To ask is not to act."""
    power = _asked(rig)
    for on in (True, False):
        rig.set_power(on=on)
        await power.query()
        assert rig.has_power() is on, "a reading switched it"
    assert set(rig.arrived()) <= {"query"}, f"a reading sent {rig.arrived()}"


async def what_cannot_be_asked_is_unknown(rig: PowerRig) -> None:
    """A method that cannot ask never says that a machine is on or off."""
    power = rig.open()
    if power.capabilities.query:
        raise NotApplicable("it can be asked")
    for on in (True, False):
        rig.set_power(on=on)
        reading = await power.query()
        assert reading.state is PowerState.UNKNOWN, f"it cannot know that it is {reading.state}"


async def silence_is_not_off(rig: PowerRig) -> None:
    """An endpoint that does not answer, or nonsense, leaves the state unknown, in time."""
    await _unknown(rig, PowerFault.HUNG)


async def nonsense_is_not_off(rig: PowerRig) -> None:
    """An answer that means nothing leaves the state unknown."""
    await _unknown(rig, PowerFault.NONSENSE)


async def a_denied_reading_is_unknown(rig: PowerRig) -> None:
    """Wrong credentials leave the state unknown."""
    await _unknown(rig, PowerFault.DENIED)


async def an_unreachable_endpoint_is_unknown(rig: PowerRig) -> None:
    """What cannot be reached is not off."""
    await _unknown(rig, PowerFault.UNREACHABLE)


async def one_call_at_a_time(rig: PowerRig) -> None:
    """However many objects lead to an endpoint, its calls follow each other."""
    ways = [rig.open() for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        for power in ways:
            group.create_task(power.query())
            for action in power.capabilities.actions & {PowerAction.ON, PowerAction.CYCLE}:
                group.create_task(power.act(action))
    assert rig.most_at_once() <= 1, f"{rig.most_at_once()} calls were under way together"


async def a_hung_call_keeps_no_later_one(rig: PowerRig) -> None:
    """Once the deadline is over, the endpoint is asked again."""
    power = _asked(rig)
    befall(rig, PowerFault.HUNG)
    await power.query()
    rig.set_power(on=True)
    reading = await power.query()
    assert reading.state is PowerState.ON, f"it answers again, and is read as {reading.state}"


async def a_cancelled_call_keeps_no_later_one(rig: PowerRig) -> None:
    """A call that nobody waits for any more lets the next one in."""
    power = _asked(rig)
    befall(rig, PowerFault.HUNG)
    assert not await _ends(power, timedelta(milliseconds=1)), "the endpoint did not hang"
    most = power.capabilities.deadline * 2
    assert await _ends(power, most), f"the next call did not end within {most}"


async def secrets_stay_secret(rig: PowerRig) -> None:
    """No capability, outcome, reading or object shows a secret, whatever befalls."""
    if not rig.secrets:
        raise NotApplicable("it has no secret")
    power = rig.open()
    printed: list[object] = [power, power.capabilities, await power.query()]
    for fault in PowerFault:
        if fault not in rig.lacks:
            rig.befall(fault)
            printed += [await power.act(action) for action in power.capabilities.actions]
            rig.befall(fault)
            printed.append(await power.query())
    for text in (form for thing in printed for form in (repr(thing), str(thing))):
        for secret in rig.secrets:
            assert secret not in text, "a secret is shown"


async def closing_twice_is_fine(rig: PowerRig) -> None:
    """A method can be closed, used or not, and closed again."""
    power = rig.open()
    await power.close()
    await power.close()


def _asked(rig: PowerRig) -> Power:
    power = rig.open()
    if not power.capabilities.query:
        raise NotApplicable("it cannot be asked")
    return power


async def _unknown(rig: PowerRig, fault: PowerFault) -> None:
    power = _asked(rig)
    rig.set_power(on=True)
    befall(rig, fault)
    begun = rig.now()
    reading = await power.query()
    took, most = rig.now() - begun, power.capabilities.deadline
    assert reading.state is PowerState.UNKNOWN, f"{fault}: it was read as {reading.state}"
    assert reading.text, f"{fault}: nothing is said of why nobody knows"
    assert took <= most * 1.1, f"it took {took}, and its deadline is {most}"


async def _ends(power: Power, most: timedelta) -> bool:
    """Tell whether a reading comes to its end in this time; else it is given up."""
    try:
        async with asyncio.timeout(most.total_seconds()):
            await power.query()
    except TimeoutError:
        return False
    return True
