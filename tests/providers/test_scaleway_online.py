"""What asking the API tells of an account's settings."""

from scaleway_kit import FLEET, INSTANCE, ZONE, get, page, provider

from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.ports.online import Finding
from hostler.testing.peers.exchanges import Exchange, Script, answer

UUID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
TYPES = f"{INSTANCE}/products/servers"
LABEL = "/marketplace/v2/local-images"


async def found(offers: tuple[Offer, ...], *exchanges: Exchange) -> list[Finding]:
    script = Script(list(exchanges))
    findings = await provider(script).check_online({FLEET: offers})
    script.finish()
    return list(findings)


def sold() -> tuple[Exchange, ...]:
    types = {"DEV1-S": {"hourly_price": 0.01368}, "PRO2-S": {"hourly_price": 0.219}}
    stocks = {"DEV1-S": {"availability": "available"}, "PRO2-S": {"availability": "shortage"}}
    return (
        page(f"{INSTANCE}/servers", "servers"),
        get(TYPES, {"servers": types}),
        get(f"{TYPES}/availability", {"servers": stocks}),
    )


async def test_an_account_that_is_in_order_says_so():
    image = {"id": "img-1", "compatible_commercial_types": ["DEV1-S"]}
    findings = await found(
        (Offer("DEV1-S", ZONE),),
        *sold(),
        get(LABEL, {"local_images": [image], "total_count": 1}),
    )
    assert findings == [
        Finding(True, "fr-par-1", "answers; 0 servers in the project"),
        Finding(True, "DEV1-S in fr-par-1", "stock: available; 0.01368 euros per hour"),
        Finding(True, "image ubuntu_noble for DEV1-S in fr-par-1", "is img-1"),
    ]


async def test_what_is_not_sold_or_short_or_unknown_is_told():
    missing = answer({"type": "not_found", "message": "resource is not found"}, 404)
    findings = await found(
        (Offer("PRO2-S", ZONE, "nope"), Offer("PRO2-S", ZONE, UUID), Offer("NONE-1", ZONE)),
        *sold(),
        Exchange(method="GET", path=LABEL, answer=missing),
        Exchange(method="GET", path=f"{INSTANCE}/images/{UUID}", answer=missing),
    )
    assert [finding.text for finding in findings if not finding.well] == [
        "is not sold there",
        "stock: shortage; 0.219 euros per hour",
        "there is no image called 'nope' in fr-par-1",
        "cannot be read: 404 not_found resource is not found",
    ]
    assert [finding.text for finding in findings if finding.lasting] == [
        "is not sold there",
        "there is no image called 'nope' in fr-par-1",
        "cannot be read: 404 not_found resource is not found",
    ]


async def test_an_image_id_that_exists_is_in_order():
    exists = get(f"{INSTANCE}/images/{UUID}", {"image": {"id": UUID}})
    findings = await found((Offer("DEV1-S", ZONE, UUID),), *sold(), exists)
    assert all(finding.well for finding in findings)


async def test_a_refused_key_is_told_and_other_zones_go_on():
    denied = answer({"type": "denied_authentication", "message": "no", "reason": "expired"}, 401)
    there = Zone("nl-ams-1")
    base = f"/instance/v1/zones/{there}"
    findings = await found(
        (Offer("DEV1-S", ZONE), Offer("DEV1-S", there)),
        Exchange(method="GET", path=f"{INSTANCE}/servers", answer=denied),
        page(f"{base}/servers", "servers"),
        Exchange(method="GET", path=f"{base}/products/servers", answer=answer(b"", 502)),
    )
    assert findings == [
        Finding(
            False,
            "fr-par-1",
            "the key or its permissions are refused: 401 denied_authentication no",
            lasting=True,
        ),
        Finding(True, "nl-ams-1", "answers; 0 servers in the project"),
        Finding(False, "nl-ams-1", "its types cannot be read: 502 (empty answer)"),
    ]


async def test_a_zone_that_there_is_not_is_told_as_lasting():
    wrong = answer({"type": "invalid_arguments", "message": "invalid argument(s)"}, 400)
    listing = Exchange(method="GET", path=f"{INSTANCE}/servers", answer=wrong)
    (finding,) = await found((Offer("DEV1-S", ZONE),), listing)
    assert (finding.well, finding.lasting, "misspelt" in finding.text) == (False, True, True)
