"""A crash or a failure at any call of a claim or a release: the host ends up whole, and clean."""

import pytest

from hostler.domain.ids import InstallationId
from hostler.lab.scenes.macs import CLAIM, RELEASE, Crash, MacRig, changes, play_macs
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.stores.memory import MemoryStore

CALLS = tuple(range(1, len(CLAIM) + len(RELEASE) + 1))
STEPS = (
    ("mac.update", 1),
    ("mac.reinstall", 1),
    ("mac.update", 2),
    ("mac.update", 3),
    ("mac.reinstall", 2),
    ("mac.update", 4),
    ("mac.update", 5),
)
"""Pending, wiped, claimed; releasing, wiped, wiping, back in the pool."""
HARM = (
    "reply_lost",
    "request_lost",
    "failed_500_after",
    "hung_after",
    "effect_delayed",
    "mac_transient_409",
    "mac_precondition_412",
    "mac_precondition_untyped",
    "rate_limited_429",
    "html_5xx",
    "locked_423",
    "not_found_flicker",
    "duplicate_delivery",
)


def test_a_claim_and_a_release_are_seven_calls() -> None:
    """What the other tests of this file cut at is what is really asked for."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        assert changes(s.rig) == list(CLAIM)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert changes(s.rig) == [*CLAIM, *RELEASE]
        await hostler.scale(1)
        await s.ready(hostler, 1)
        proved_clean = ["mac.update", "mac.update"]
        assert changes(s.rig) == [*CLAIM, *RELEASE, *proved_clean]

    play_macs(scene)


@pytest.mark.parametrize("effect", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", CALLS)
def test_a_crash_at_each_call_converges(nth: int, effect: bool) -> None:
    """Killed before its n-th change is sent, or after its effect; another engine goes on."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        crash = Crash(hostler, nth, effect=effect)
        if nth > len(CLAIM):
            await s.ready(hostler, 1)
            await hostler.scale(0)
        await crash.happened.wait()
        s.truth.hostlers.remove(hostler)
        heir = s.hostler(store=hostler.store)
        if nth <= len(CLAIM):
            await s.ready(heir, 1)
            await heir.scale(0)
        await s.all_free(heir)
        await heir.scale(1)
        await s.ready(heir, 1)

    play_macs(scene)


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize(("route", "nth"), STEPS)
def test_a_failure_at_each_call_converges(route: str, nth: int, harm: str) -> None:
    """Struck once, the host is claimed and released all the same, and wiped as often as it must."""

    async def scene(s: MacRig) -> None:
        s.rig.world.script(Rule(fault=harm, route=route, after=nth))
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.rig.world.faults.get(harm, 0) >= 1
        assert s.mac().installs >= 3, "wiped for the claim, and after it"
        await hostler.scale(1)
        await s.ready(hostler, 1)

    play_macs(scene)


def test_two_replicas_claim_one_host_once() -> None:
    """Two engines on one store: the second takes over when the first is killed in mid-claim."""

    async def scene(s: MacRig) -> None:
        store = MemoryStore(InstallationId("shared"), exclusive=False)
        first = s.hostler(store=store)
        second = s.hostler(store=store)
        crash = Crash(first, 1, effect=True)
        await crash.happened.wait()
        s.truth.hostlers.remove(first)
        await s.ready(second, 1)
        (machine,) = await second.machines()
        assert await store.bindings() == ((machine.host, machine.id),)
        await second.scale(0)
        await s.all_free(second)

    play_macs(scene, count=2)
