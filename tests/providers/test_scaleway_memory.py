"""What observers remember: prices, and which servers have an owner tag."""

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

from hostler.domain.model.resource import Observation, Resource, Scope
from hostler.ports.http import NoAnswer
from hostler.testing.peers.exchanges import Exchange, Script

SERVERS, IPS, VOLUMES = f"{INSTANCE}/servers", f"{INSTANCE}/ips", f"{INSTANCE}/volumes"
ALL = (Scope(ZONE, "server"), Scope(ZONE, "address"), Scope(ZONE, "volume"))


def ids(observation: Observation) -> list[str]:
    return sorted(resource.id for resource in observation.resources)


def only(observation: Observation) -> Resource:
    (resource,) = observation.resources
    return resource


async def test_prices_are_learnt_once_and_failing_to_learn_them_stops_nothing():
    clock = HandClock()
    failing = Exchange(method="GET", path=f"{INSTANCE}/products/servers", answer=NoAnswer("hung"))
    script = Script([failing, page(SERVERS, "servers", server_body())])
    source = provider(script, clock=clock)
    observation = await source.observe(ALL[:1])
    assert (only(observation).price, observation.observed[0].complete) == (0.0, True)
    for minutes, learns in ((1, False), (11, True), (12, False)):
        clock.at = NOW.replace(minute=minutes)
        script.exchanges += [no_prices()] if learns else []
        script.exchanges.append(page(SERVERS, "servers", server_body()))
        observation = await source.observe(ALL[:1])
        script.finish()
    assert only(observation).price == 0.01368


async def test_servers_are_remembered_for_later_observations_of_volumes():
    script = Script([no_prices(), page(SERVERS, "servers", server_body())])
    source = provider(script)
    await source.observe(ALL[:1])
    script.exchanges += [page(VOLUMES, "volumes"), block_page(block_body(tags=[]))]
    observation = await source.observe(ALL[2:])
    script.finish()
    assert ids(observation) == ["vol-1"]
