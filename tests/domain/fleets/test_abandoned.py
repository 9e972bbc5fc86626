"""Machines that nobody asks for are reported, and end only where everything allows for it."""

import pytest
from msgspec.structs import replace

from hostler.domain.model.commands import REQUEST_REFUSED
from hostler.domain.model.fleet import Caps
from hostler.domain.model.machine import Protection
from hostler.domain.model.requester import Requester
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.testing.scenes.builders import FLEET, MIN, machine
from hostler.testing.scenes.fleet import Scene

K = RequestKind
GRACE = FLEET.timers.grace
ANN = Requester(frontend="cluster-api", kind="HostlerMachine", namespace="fleet", name="w-1")
BOB = replace(ANN, name="w-2")


def scene(*, reclaim: bool = True, since: bool = True) -> Scene:
    """Return a fleet of machines by id, the first of which nobody asks for any more."""
    made = Scene(fleet=replace(FLEET, size=0, maximum=100, renews=False, reclaim=reclaim))
    made.furnish(*(machine(number) for number in range(1, 4)))
    made.observe()
    first = made.machines[machine(1).id]
    first = replace(first, spec=replace(first.spec, requester=ANN))
    made.machines[first.id] = first.with_health(abandoned=made.now if since else None)
    made.later(GRACE)
    made.observe()
    return made


def asked(of: Scene, kind: RequestKind, requester: Requester = ANN) -> list[str]:
    """Ask this of the first machine; return why it was refused."""
    made: Request = of.request(kind, machine(1).id)
    of.requests[-1] = replace(made, requester=requester)
    of.events.clear()
    of.reconcile()
    return [event.detail for event in of.events if event.kind == REQUEST_REFUSED]


def first(of: Scene) -> object:
    return of.machines[machine(1).id].deletion


def test_a_machine_that_nobody_asks_for_is_an_orphan_with_its_owner() -> None:
    made = scene(reclaim=False)
    made.reconcile()
    (orphan,) = (one for one in made.orphans.values() if one.cls is OrphanClass.ABANDONED)
    assert orphan.machine == machine(1).id
    assert orphan.owner == "HostlerMachine fleet/w-1 (gone)"
    assert "report only" in orphan.blocked


def test_it_ends_where_its_fleet_reclaims() -> None:
    made = scene()
    assert asked(made, K.RECLAIM) == []
    assert first(made) is not None


@pytest.mark.parametrize("kind", [K.RECLAIM, K.DISOWN])
def test_nothing_is_done_to_a_machine_that_another_one_asks_for_by_now(kind: RequestKind) -> None:
    made = scene()
    assert asked(made, kind, BOB) == ["somebody else asks for it by now"]
    assert first(made) is None


def test_a_machine_that_somebody_asks_for_is_not_reclaimed() -> None:
    made = scene(since=False)
    assert asked(made, K.RECLAIM) == ["somebody asks for it"]
    assert first(made) is None


def test_a_machine_that_is_asked_for_again_is_no_orphan() -> None:
    made = scene()
    made.reconcile()
    assert made.orphans
    assert asked(made, K.OWN, BOB) == []
    made.later(FLEET.timers.absence_gap + MIN)
    made.observe()
    made.reconcile()
    assert not made.orphans
    assert made.machines[machine(1).id].spec.requester == BOB


def test_protected_young_and_capped_machines_are_not_reclaimed() -> None:
    protected, young, capped = scene(), scene(), scene()
    one = protected.machines[machine(1).id]
    until = protected.now + 60 * MIN
    protection = Protection(until=until, why="mine", actor="ann")
    protected.machines[one.id] = replace(one, protection=protection)
    young.machines[one.id] = young.machines[one.id].with_health(abandoned=young.now - MIN)
    capped.fleet = replace(capped.fleet, caps=Caps(per_hour=1))
    capped.row = replace(capped.row, destructions=(capped.now - MIN,))
    taken = scene()
    taken.took = taken.now  # another engine's clock may have said since when nobody asks for it
    made = (protected, young, taken, capped)
    reasons = [asked(one, K.RECLAIM) for one in made]
    assert all(reasons), reasons
    words = ("mine", "grace", "grace", "cap")
    assert all(word in why[0] for word, why in zip(words, reasons, strict=True))
    assert [first(one) for one in made] == [None] * 4
