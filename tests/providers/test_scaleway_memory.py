"""What looks remember: prices, and which servers carry a mark."""

from scaleway_kit import (
    INSTANCE,
    NOW,
    ZONE,
    HandClock,
    block_body,
    block_page,
    no_prices,
    page,
    provider,
    server_body,
)

from hostler.domain.model.resource import Look, Part, Scope
from hostler.ports.http import NoAnswer
from hostler.testing.peers.exchanges import Exchange, Script

SERVERS, IPS, VOLUMES = f"{INSTANCE}/servers", f"{INSTANCE}/ips", f"{INSTANCE}/volumes"
ALL = (Scope(ZONE, "server"), Scope(ZONE, "address"), Scope(ZONE, "volume"))


def ids(look: Look) -> list[str]:
    return sorted(part.id for part in look.parts)


def only(look: Look) -> Part:
    (part,) = look.parts
    return part


async def test_prices_are_learnt_once_and_failing_to_learn_them_stops_nothing():
    clock = HandClock()
    failing = Exchange(method="GET", path=f"{INSTANCE}/products/servers", answer=NoAnswer("hung"))
    script = Script([failing, page(SERVERS, "servers", server_body())])
    source = provider(script, clock=clock)
    look = await source.look(ALL[:1])
    assert (only(look).price, look.looked[0].complete) == (0.0, True)
    for minutes, learns in ((1, False), (11, True), (12, False)):
        clock.at = NOW.replace(minute=minutes)
        script.exchanges += [no_prices()] if learns else []
        script.exchanges.append(page(SERVERS, "servers", server_body()))
        look = await source.look(ALL[:1])
        script.finish()
    assert only(look).price == 0.01368


async def test_servers_are_remembered_for_later_looks_at_volumes():
    script = Script([no_prices(), page(SERVERS, "servers", server_body())])
    source = provider(script)
    await source.look(ALL[:1])
    script.exchanges += [page(VOLUMES, "volumes"), block_page(block_body(tags=[]))]
    look = await source.look(ALL[2:])
    script.finish()
    assert ids(look) == ["vol-1"]
