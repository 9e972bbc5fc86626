"""S3: the judge's own account of listings, and what may rest on them."""

import dataclasses
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from hostler.domain.ids import InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.commands import Advance, OrderHosts, Reclaim, Verdict
from hostler.domain.model.fleet import Order
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.lab.checks.listings import Counts, Listings
from hostler.lab.checks.shadow_store import shadow_for
from hostler.lab.checks.trace import Trace
from hostler.lab.scaleway.listings import INSTANCES, Pages
from hostler.lab.scaleway.world import open_world
from hostler.lab.scenario.faults import Size
from hostler.lab.servers.address_pool import AddressPool
from hostler.lab.servers.checker import ServerChecker
from hostler.lab.servers.faults import draw_servers
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.scaleway.state.options import Options
from hostler.testing.scenes.builders import FLEET, OFFER, ZONE, machine, server
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

_A, OWN = "a.1", InstallationId("i1")
_SERVERS = f"/instance/v1/zones/{ZONE}/servers"
_LIMIT = FLEET.timers.observation_limit.total_seconds()
WAITS = replace(machine(1), phase=Phase.PENDING)
BEGINS = replace(WAITS, version=WAITS.version + 1, phase=Phase.STARTING)
THING = server(machine(7))


def page(ids: range, total: int, status: int = 200) -> Response:
    body = {"servers": [{"id": f"s-{number}"} for number in ids]}
    headers = (("X-Total-Count", str(total)),)
    return Response(status=status, headers=headers, body=msgspec.json.encode(body))


def asked(number: int, **query: str) -> HttpRequest:
    words = {"project": "p", "page": str(number), "per_page": "100", **query}
    return HttpRequest(method="GET", path=_SERVERS, query=tuple(words.items()))


def listed(*answers: tuple[HttpRequest, Response]) -> Mapping[tuple[str, Zone, str], float]:
    """Return what is known to be whole after these answers, to requests a second apart."""
    listings = Listings()
    pages = Pages(listings)
    for begun, (request, response) in enumerate(answers, start=1):
        pages.answered(_A, request, response, (float(begun), begun + 0.5))
    return listings.whole


KEY = (_A, ZONE, "instance servers")


def test_only_what_its_own_processes_were_listed_just_now_counts_as_looking() -> None:
    listings, shadow = Listings(), shadow_for(OWN, (FLEET,), 30.0)
    shadow.runs |= {_A, "a.2"}
    names = ("instance servers", "instance ips")
    listings.got(_A, ZONE, "instance servers", 100.0, 110.0)
    listings.got("z.1", ZONE, "instance ips", 100.0, 110.0)
    assert not shadow.looking(ZONE, listings, names, 120.0)
    listings.got("a.2", ZONE, "instance ips", 100.0, 130.0)
    assert shadow.looking(ZONE, listings, names, 110.0 + shadow.fresh - 1)
    assert not shadow.looking(ZONE, listings, names, 110.0 + shadow.fresh)
    assert not shadow.looking(Zone("nl-ams-1"), listings, names, 120.0)


def test_a_zone_was_looked_at_once_servers_addresses_and_both_kinds_of_volumes_were() -> None:
    with closing(SimLoop()) as loop:
        world = open_world(Options(epoch=BEGINNING), loop, Random(1))
        scenario = draw_servers(1, Size())
        checker = ServerChecker(world, Trace(loop.time), 60.0, AddressPool(world), scenario)
        shadow = shadow_for(OWN, (FLEET,), 30.0)
        shadow.runs.add(_A)
        for name in ("instance servers", "instance ips", "instance volumes", "block volumes"):
            assert not checker.looking(shadow, ZONE), name
            checker.known_counts.listings.got(_A, ZONE, name, 0.0, 0.0)
        assert checker.looking(shadow, ZONE)


def test_thing_is_read_when_its_id_was_answered_to_a_process_of_the_installation() -> None:
    listings, shadow = Listings(), shadow_for(OWN, (FLEET,), 30.0)
    pages, name = Pages(listings), "499aa43f-fcff-4d84-a589-dc2eeaed28c8"
    one = HttpRequest(method="GET", path=f"{_SERVERS}/{name}")
    pages.answered(_A, one, Response(status=404, headers=(), body=b""), (1.0, 2.0))
    pages.answered(_A, one, Response(status=200, headers=(), body=b"{}"), (3.0, 4.0))
    assert shadow.read_at(listings, ResourceId(name)) is None
    shadow.runs |= {_A, "a.2"}
    assert shadow.read_at(listings, ResourceId(name)) == 4.0
    pages.answered("a.2", one, Response(status=200, headers=(), body=b"{}"), (5.0, 6.0))
    assert shadow.read_at(listings, ResourceId(name)) == 6.0


# ---------------------------------------------------------------- what was answered


def test_listing_whose_pages_hold_all_is_whole_since_its_first_page() -> None:
    first, second = (asked(1), page(range(100), 150)), (asked(2), page(range(100, 150), 150))
    assert not listed(first)
    assert listed(first, second) == {KEY: 1.0}
    assert listed((asked(1), page(range(0), 0))) == {KEY: 1.0}


def test_listing_with_fewer_ids_than_it_says_is_not_whole() -> None:
    shuffled = (asked(2), page(range(60, 110), 150))
    assert not listed((asked(1), page(range(100), 150)), shuffled)
    assert not listed((asked(1), page(range(3), 6)))


def test_first_page_that_is_read_again_makes_a_listing_whole() -> None:
    answers = (
        (asked(1), page(range(100), 120)),
        (asked(2), page(range(95, 115), 120)),
        (asked(1), page(range(110, 120), 120)),
    )
    assert listed(*answers) == {KEY: 1.0}


@pytest.mark.parametrize(
    "answer",
    [
        (asked(1), page(range(2), 2, status=503)),
        (asked(1), Response(status=200, body=b"<html>")),
        (asked(1, tags="hostler-machine=m"), page(range(2), 2)),
        (dataclasses.replace(asked(1), method="POST"), page(range(2), 2)),
        (dataclasses.replace(asked(1), path=f"{_SERVERS}/s-1"), page(range(2), 2)),
    ],
)
def test_what_is_no_listing_of_all_is_none(answer: tuple[HttpRequest, Response]) -> None:
    assert not listed(answer)


def test_failure_in_between_ends_a_listing() -> None:
    first, second = (asked(1), page(range(100), 150)), (asked(2), page(range(100, 150), 150))
    assert not listed(first, (asked(2), page(range(0), 0, status=500)), second)


# ---------------------------------------------------------------- what may rest on it


def counts(at: float, *, without: str = "") -> Counts:
    """Return the account of a process to which all but some listings were answered at a time."""
    found = Counts(INSTANCES)
    for listing in (listing for listings in INSTANCES.values() for listing in listings):
        if listing != without:
            found.listings.got(_A, ZONE, listing, at, at)
    return found


def advance(after: Machine) -> Advance:
    verdict = Verdict(machine=after.id, reason="")
    return Advance(machine=after, changed=True, events=(), verdict=verdict)


def begin(account: Counts, now: float) -> bool:
    """Decide and save that a machine begins; tell whether what is made for it breaks S3."""
    account.decides(_A, FLEET, (advance(BEGINS),), {WAITS.id: WAITS}, now)
    account.saves(_A, WAITS, BEGINS)
    return bool(account.creates(WAITS.id, "POST"))


def test_machine_may_begin_where_all_was_listed_lately() -> None:
    assert not begin(counts(100.0), 100.0 + _LIMIT)
    assert begin(counts(100.0), 101.0 + _LIMIT)
    assert begin(counts(100.0, without="block volumes"), 100.0)
    assert begin(Counts(INSTANCES), 100.0)


def test_listing_counts_for_the_process_that_got_it_alone() -> None:
    account = counts(100.0)
    account.decides("b.1", FLEET, (advance(BEGINS),), {WAITS.id: WAITS}, 100.0)
    account.saves("b.1", WAITS, BEGINS)
    (violation,) = account.creates(WAITS.id, "POST")
    assert (violation.invariant, violation.machine) == ("S3", WAITS.id)


def test_machine_that_began_in_time_goes_on_whatever_fails_later() -> None:
    account = counts(100.0)
    assert not begin(account, 100.0)
    later = replace(BEGINS, version=7)
    account.decides(_A, FLEET, (advance(later),), {BEGINS.id: BEGINS}, 9999.0)
    account.saves(_A, BEGINS, later)
    assert not account.creates(WAITS.id, "POST")


def test_decision_that_was_not_saved_begins_nothing() -> None:
    account = counts(100.0)
    account.decides("b.1", FLEET, (advance(BEGINS),), {WAITS.id: WAITS}, 100.0)
    assert not begin(account, 100.0)


def test_reclaim_needs_the_kind_of_its_thing_listed_lately() -> None:
    command = Reclaim(placeholder=machine(7), resources=(THING,), orphans=())

    def is_wrong(account: Counts, now: float) -> bool:
        account.decides(_A, FLEET, (command,), {}, now)
        return bool(account.reclaims(_A, THING.id, "DELETE"))

    assert not is_wrong(counts(100.0), 100.0 + _LIMIT)
    assert not is_wrong(counts(100.0, without="block volumes"), 100.0)
    assert is_wrong(counts(100.0, without="instance servers"), 100.0)
    assert is_wrong(counts(100.0), 101.0 + _LIMIT)
    assert not counts(100.0).reclaims(_A, ResourceId("another"), "DELETE")


def test_order_needs_its_zone_listed_lately() -> None:
    order = Order(id=MachineId("m-ordered"), offer=OFFER, at=machine(1).since + timedelta(0))

    def is_wrong(account: Counts) -> bool:
        account.decides(_A, FLEET, (OrderHosts(orders=(order,)),), {}, 100.0)
        return bool(account.creates(order.id, "mac.order"))

    assert not is_wrong(counts(100.0))
    assert is_wrong(counts(100.0 - _LIMIT - 1))
