"""What a process remembers of an account: when an adoption may be taken up."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.controllers.runtime.settings import Account
from hostler.controllers.runtime.state import AccountState
from hostler.domain.ids import AccountName, Zone
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.scenes.builders import BEGIN, FLEET, WEB

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
