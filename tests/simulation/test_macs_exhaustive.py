"""Every state of a small world of Macs: claims and releases by installations, faults, a person."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import Epoch
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.resource import Resource, Stage
from hostler.lab.model_check.macs.calls import HOSTS, next_of
from hostler.lab.model_check.macs.cycles import Actor
from hostler.lab.model_check.macs.explore import PERSON, QUICK, explore
from hostler.lab.model_check.macs.model import World
from hostler.lab.model_check.macs.values import Setting
from hostler.providers.scaleway.macs.plan import host_calls, machine_calls
from hostler.providers.scaleway.macs.plan.read import SERVER
from hostler.testing.scenes.builders import BEGIN

RACE = Setting(ends=0, overlaps=False)
ALONE = Setting(homes=1, hosts=1, overlaps=False)


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Forget what deeds came to: a test may have broken them."""
    next_of.cache_clear()
    yield
    next_of.cache_clear()


def yes(*_: object) -> bool:
    return True


def no(*_: object) -> bool:
    return False


@pytest.mark.parametrize("name", QUICK)
def test_nothing_breaks_in_any_state_and_each_has_a_way_out(name: str) -> None:
    found = explore(QUICK[name])
    assert found.wrong == "", "\n".join(found.path)
    assert found.finished
    assert found.states > 500
    assert found.rests > 1


@pytest.mark.parametrize("name", PERSON)
def test_nothing_breaks_where_a_person_renames_or_wipes_a_host(name: str) -> None:
    """The nearest 8,000 states of each: `make exhaustive` goes to the end."""
    found = explore(PERSON[name], 8_000)
    assert found.wrong == "", "\n".join(found.path)
    assert found.states > 8_000


def test_both_claimants_reach_for_the_same_host_first() -> None:
    """Without that, two claimants of two hosts would hardly ever meet."""
    world = World(RACE)
    for place in (0, 1):
        actor = Actor(RACE.home(place))
        side = actor.first()
        for _ in range(2):
            side, _ = actor.reconcile(
                actor.observe(side, world.one.sightings(world.first().boxes, side))
            )
        assert [host for host, _ in side.bindings] == [HOSTS[0]]


def test_two_worlds_whose_installations_changed_their_places_are_explored_once() -> None:
    """Neither is more than the other, so that whatever the one can do, the other can."""
    alike, told_apart = explore(RACE), explore(replace(RACE, mirrors=False))
    assert alike.wrong == told_apart.wrong == ""
    assert alike.states < told_apart.states


def single_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim with the claim's own name, as if nobody else could."""
    claim, owner_tag = machine_calls._claim, machine_calls._owner_tag

    def claimed(machine: Machine) -> Call:
        stage, call = str(Stage.CLAIMED), claim(machine)
        args = tuple(arg for arg in call.args if arg[0] != "stage")
        kind = machine_calls.tag_kind(Stage.CLAIMED)
        return replace(call, kind=kind, aim=stage, args=(*args, ("stage", stage)))

    def at_once(machine: Machine, resource: Resource, stage: Stage, *rest: Effect) -> Call:
        return owner_tag(
            machine, resource, Stage.CLAIMED if stage == Stage.PENDING else stage, *rest
        )

    monkeypatch.setattr(machine_calls, "_claim", claimed)
    monkeypatch.setattr(machine_calls, "_owner_tag", at_once)


def no_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe a pending tag as soon as it is read back."""
    monkeypatch.setattr(machine_calls.Way, "_settled", yes)


def claimed_dirty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a host as it is."""
    monkeypatch.setattr(machine_calls.Way, "_is_wiped", yes)


def pool_before_wipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a host its name of the pool as soon as it is nobody's, and wipe it later or never."""

    def freed(host: Host, resource: Resource, *_: object) -> tuple[Call, ...]:
        return (host_calls._free(host, resource),)

    def asked(_: machine_calls.Way) -> Asked:
        return _WIPED

    monkeypatch.setattr(host_calls, "_wiped", freed)
    monkeypatch.setattr(machine_calls.Way, "_last_wipe", asked)


def never_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records of what is no more."""
    monkeypatch.setattr("hostler.domain.machines.lifecycle.all_gone", no)


_WIPED = Asked(
    kind=machine_calls.REINSTALL,
    slot=SERVER,
    attempt=0,
    at=BEGIN,
    epoch=Epoch(1),
    shows=Shows.WIPE,
    call_state=CallState.DONE,
)

Break = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize(
    ("broken", "setting", "wrong"),
    [
        (single_rename, RACE, "S"),
        (no_settle, replace(RACE, clean=True), "S"),
        (claimed_dirty, RACE, "S12"),
        (pool_before_wipe, ALONE, "S12"),
        (never_gone, ALONE, "L1"),
    ],
)
def test_broken_protocol_is_found(
    broken: Break, setting: Setting, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    found = explore(setting, 150_000)
    assert found.wrong.startswith(wrong), found
    assert found.path


BEYOND = QUICK["1 host, 2 installations, a claim that comes too late"]


def date_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe a claim whenever its name is seen, as if no host showed when it was changed."""
    monkeypatch.setattr("hostler.domain.observation.effects._landed_late", no)


def test_a_claim_beyond_the_consistency_delay_is_believed_by_nobody_only_because_of_its_date(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answer was lost, and nobody looked between the consistency delay and its effect."""
    date_unread(monkeypatch)
    found = explore(BEYOND)
    assert found.wrong.startswith("S"), found


def ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Release a host whose claim has not settled: it may be another's by now."""
    absent = machine_calls.Way.absent

    def at_once(way: machine_calls.Way) -> tuple[Call, ...]:
        return absent(replace(way, consistency_delay=timedelta(0)))

    monkeypatch.setattr(machine_calls.Way, "absent", at_once)


def test_a_late_rename_that_hits_the_next_tenant_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes too late: an observation already said that it had no effect."""
    ends_at_once(monkeypatch)
    found = explore(replace(BEYOND, ends=1))
    assert found.wrong.startswith("S5"), found
    assert any("too_late" in step for step in found.path), found.path
