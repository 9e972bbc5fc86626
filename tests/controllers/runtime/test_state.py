"""What a process remembers of an account: observations, and when an adoption may be taken up."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.controllers.runtime.settings import Account
from hostler.controllers.runtime.state import AccountState
from hostler.domain.ids import AccountName, ResourceId, Zone, machine_id
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.resource import Observation, ObservedScope, Resource, Scope
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, FLEET, WEB, ZONE, machine
from hostler.testing.scenes.hosts import box, on_host

S = timedelta(seconds=1)
ASKED = BEGIN + 100 * S


def state(kind: RequestKind, *listed: float) -> AccountState:
    """Return one with a request, and whole listings begun so many seconds after it."""
    account = Account(name=AccountName("main"), provider=FakeScene(FLEET).provider, fleets=(FLEET,))
    made = AccountState(account)
    made.requests = (Request(number=1, kind=kind, fleet=WEB, at=ASKED, actor="ann"),)
    whole: dict[tuple[Zone, str], datetime] = {
        (Zone(f"z-{place}"), "server"): ASKED + at * S for place, at in enumerate(listed)
    }
    made.inventory = Inventory(whole=whole)
    return made


@pytest.mark.parametrize(
    ("listed", "passed", "waits"),
    [
        ((), 0, True),
        ((-1.0,), 1, True),
        ((-1.0, 1.0), 1, True),
        ((0.0, 1.0), 1, False),
        ((-1.0, 1.0), 59, True),
        ((-1.0, 1.0), 60, False),
        ((-1.0,), -5, False),
    ],
)
async def test_adoption_waits_for_listings_of_everything_begun_since_but_not_for_ever(
    listed: tuple[float, ...], passed: int, *, waits: bool
) -> None:
    since = state(RequestKind.ADOPT, *listed).adoption(ASKED + passed * S)
    assert since == (ASKED if waits else None)


async def test_other_requests_wait_for_nothing() -> None:
    assert state(RequestKind.SCALE).adoption(ASKED) is None


async def test_an_adoption_that_is_asked_for_again_and_again_waits_no_longer_for_that() -> None:
    made = state(RequestKind.ADOPT, -1.0)
    (first,) = made.requests
    again = replace(first, number=2, at=ASKED + 60 * S)
    made.requests = (first, again)
    now = ASKED + 60 * S
    assert [made.awaits_listing(one, now) for one in made.requests] == [False, True]


def listing(at: datetime, *resources: Resource) -> Observation:
    """Return a whole observation of hosts and of what machines have of them."""
    scopes = (Scope(ZONE, "host"), Scope(ZONE, "server"))
    observed = tuple(ObservedScope(scope=one, begun=at, complete=True) for one in scopes)
    return Observation(observed=observed, resources=resources)


@pytest.mark.parametrize("is_host_shown", [False, True])
async def test_what_a_machine_had_of_a_host_that_is_shown_without_it_is_over(
    *, is_host_shown: bool
) -> None:
    """A person let another installation have the host: it was reached as this machine's still."""
    machine, host = on_host(), box()
    (place,) = machine.places
    assert place.bound is not None
    mine = replace(host, id=place.bound, slot=place.slot)
    known = state(RequestKind.SCALE)
    known.keep(machine)
    known.learn(listing(BEGIN, host, mine))
    assert known.unseen == {}
    known.learn(listing(BEGIN + S))
    assert known.unseen == {mine.id: mine}
    if is_host_shown:
        known.learn(listing(BEGIN + 2 * S, host))
    assert known.unseen == ({} if is_host_shown else {mine.id: mine})
    known.learn(listing(BEGIN + 3 * S, host, mine))
    known.learn(listing(BEGIN + 4 * S, *([host] if is_host_shown else [])))
    assert known.unseen == ({} if is_host_shown else {mine.id: mine})


async def test_what_a_machine_has_is_remembered_as_it_was_seen_last_while_listings_lack_it() -> (
    None
):
    """What is listed again, and what no machine has, is no more remembered."""
    made = state(RequestKind.SCALE)
    made.inventory = Inventory()
    made.keep(machine(1))
    mine = Resource(id=ResourceId(f"server-{machine_id(1)}"), slot=SERVER, zone=ZONE, address="a")
    moved = replace(mine, address="b")
    strange = replace(mine, id=ResourceId("strange"))
    looks: tuple[tuple[tuple[Resource, ...], dict[ResourceId, Resource]], ...] = (
        ((mine, strange), {}),
        ((moved, strange), {}),
        ((), {mine.id: moved}),
        ((strange,), {mine.id: moved}),
        ((mine, strange), {}),
        ((strange,), {mine.id: mine}),
    )
    for after, (listed, unseen) in enumerate(looks):
        begun = BEGIN + after * 60 * S
        whole = ObservedScope(scope=Scope(ZONE, "server"), begun=begun, complete=True)
        made.learn(Observation(observed=(whole,), resources=listed))
        assert made.unseen == unseen
    made.forget_observations()
    assert made.unseen == {}
