"""Listings page by page: what shifts, breaks off, repeats, or cannot be read."""

import pytest
from msgspec.structs import replace
from scaleway_kit import (
    INSTANCE,
    ZONE,
    claim,
    no_prices,
    page,
    provider,
    server_body,
    tags,
)

from hostler.domain.ids import ResourceId
from hostler.domain.model.resource import Observation, Resource, Scope, Slot
from hostler.ports.http import NoAnswer
from hostler.testing.peers.exchanges import Exchange, Script, answer

SERVERS, IPS, VOLUMES = f"{INSTANCE}/servers", f"{INSTANCE}/ips", f"{INSTANCE}/volumes"
ALL = (Scope(ZONE, "server"), Scope(ZONE, "address"), Scope(ZONE, "volume"))


async def seen(scopes: tuple[Scope, ...], *exchanges: Exchange) -> Observation:
    script = Script(list(exchanges))
    observation = await provider(script).observe(scopes)
    script.finish()
    return observation


def ids(observation: Observation) -> list[str]:
    return sorted(resource.id for resource in observation.resources)


def only(observation: Observation) -> Resource:
    (resource,) = observation.resources
    return resource


def many(first: int, last: int) -> list[dict[str, object]]:
    return [server_body(f"srv-{number}") for number in range(first, last)]


async def whole(*pages: Exchange) -> Observation:
    return await seen(ALL[:1], no_prices(), *pages)


def untold(number: int, *bodies: object) -> Exchange:
    return Exchange(
        method="GET",
        path=SERVERS,
        query=(("page", str(number)), ("per_page", "100")),
        answer=answer({"servers": list(bodies)}),
    )


async def test_pages_are_read_up_to_the_total():
    observation = await whole(
        page(SERVERS, "servers", *many(0, 100), total=150),
        page(SERVERS, "servers", *many(100, 150), total=150, number=2),
    )
    assert len(observation.resources) == 150
    assert observation.observed[0].complete


async def test_a_full_last_page_needs_no_further_one():
    observation = await whole(page(SERVERS, "servers", *many(0, 100), total=100))
    assert observation.observed[0].complete


async def test_without_a_total_a_page_that_is_not_full_is_the_last():
    observation = await whole(untold(1, *many(0, 100)), untold(2, *many(100, 103)))
    assert (len(observation.resources), observation.observed[0].complete) == (103, True)
    observation = await whole(untold(1, *many(0, 100)), untold(2))
    assert (len(observation.resources), observation.observed[0].complete) == (100, True)


async def test_a_truncated_page_makes_the_listing_incomplete():
    observation = await whole(
        page(SERVERS, "servers", *many(0, 60), total=100),
        page(SERVERS, "servers", total=100, number=2),
        page(SERVERS, "servers", *many(0, 60), total=100),
    )
    assert (len(observation.resources), observation.observed[0].complete) == (60, False)
    assert observation.observed[0].error == "60 of 100 entries were listed"


async def test_what_is_made_while_pages_are_read_is_found_on_the_first_one():
    observation = await whole(
        page(SERVERS, "servers", *many(0, 100), total=150),
        page(SERVERS, "servers", *many(99, 150), total=151, number=2),
        page(SERVERS, "servers", total=151, number=3),
        page(SERVERS, "servers", *many(150, 151), *many(0, 99), total=151),
    )
    assert (len(observation.resources), observation.observed[0].complete) == (151, True)


async def test_first_page_that_fails_when_read_again_leaves_the_listing_incomplete():
    failing = Exchange(method="GET", path=SERVERS, answer=NoAnswer("reset"))
    observation = await whole(
        page(SERVERS, "servers", *many(0, 100), total=150),
        page(SERVERS, "servers", *many(99, 149), total=151, number=2),
        page(SERVERS, "servers", total=151, number=3),
        replace(failing, query=(("page", "1"),)),
    )
    assert (len(observation.resources), observation.observed[0].complete) == (149, False)


async def test_a_page_that_fails_keeps_what_was_seen():
    failing = Exchange(method="GET", path=SERVERS, query=(("page", "2"),), answer=NoAnswer("reset"))
    observation = await whole(page(SERVERS, "servers", *many(0, 100), total=150), failing)
    assert (len(observation.resources), observation.observed[0].complete) == (100, False)
    assert observation.observed[0].error == "page 2: reset"


async def test_pages_that_shift_count_each_id_once():
    observation = await whole(
        page(SERVERS, "servers", *many(0, 100), total=101),
        page(SERVERS, "servers", *many(99, 102), total=102, number=2),
    )
    assert (len(observation.resources), observation.observed[0].complete) == (102, True)


async def test_what_vanishes_while_pages_are_read_does_not_spoil_the_observation():
    observation = await whole(
        page(SERVERS, "servers", *many(0, 100), total=150),
        page(SERVERS, "servers", *many(101, 150), total=149, number=2),
    )
    assert (len(observation.resources), observation.observed[0].complete) == (149, True)


async def test_a_server_that_ignores_pages_does_not_turn_for_ever():
    same = many(0, 100)
    observation = await whole(untold(1, *same), untold(2, *same))
    assert (len(observation.resources), observation.observed[0].complete) == (100, True)
    observation = await whole(
        page(SERVERS, "servers", *same, total=300),
        page(SERVERS, "servers", *same, total=300, number=2),
        page(SERVERS, "servers", *same, total=300),
    )
    assert (len(observation.resources), observation.observed[0].complete) == (100, False)


async def test_an_entry_that_cannot_be_read_costs_the_others_nothing():
    observation = await whole(
        page(
            SERVERS,
            "servers",
            server_body("srv-1"),
            {"id": 5},
            None,
            server_body("srv-2", tags=[1, 2]),
            server_body("srv-3"),
        )
    )
    assert (ids(observation), observation.observed[0].complete) == (["srv-1", "srv-3"], False)
    assert observation.observed[0].error == "3 entries of page 1 cannot be read"


async def test_missing_and_null_fields_are_no_trouble():
    bare = {"id": "srv-1", "tags": tags(Slot("server"))}
    nulls = dict.fromkeys(server_body()) | bare | {"id": "srv-2"}
    observation = await whole(page(SERVERS, "servers", bare, nulls, total=2))
    assert [replace(p, id=ResourceId("x")) for p in observation.resources] == [
        Resource(
            id=ResourceId("x"),
            slot=Slot("server"),
            zone=ZONE,
            owner_tag=claim(Slot("server")).owner_tag,
        )
    ] * 2
    assert observation.observed[0].complete


@pytest.mark.parametrize("total", ["", "-1", "many", "1e9", "٣"])
async def test_a_total_that_is_no_number_is_ignored(total: str):
    body = answer({"servers": many(0, 3)}, headers=(("X-Total-Count", total),))
    observation = await whole(Exchange(method="GET", path=SERVERS, answer=body))
    assert (len(observation.resources), observation.observed[0].complete) == (3, True)


@pytest.mark.parametrize("date", ["", "yesterday", "2026-13-01T00:00:00Z", "9" * 400])
async def test_a_date_that_is_none_is_ignored(date: str):
    observation = await whole(page(SERVERS, "servers", server_body(creation_date=date)))
    assert only(observation).created is None
