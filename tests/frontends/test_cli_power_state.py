"""`hostler pool FILE list --json` shows how a host stands as its power goes, where that is ours."""

import pytest
from cli_kit import NOW, cli, fill, made, run
from cli_macs_kit import FIRST, FLEET, MACS, WithMacs, keep, pool
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.host import HostCondition, HostPower
from hostler.domain.model.phases import Phase

Out = pytest.CaptureFixture[str]


def test_the_list_shows_the_state_of_a_host_with_its_machines_operation(capsys: Out) -> None:
    services = WithMacs()
    ours, leased = services.stock(2)
    starting = replace(made(1, fleet=MACS, host=HostId(ours)), phase=Phase.STARTING, since=NOW)
    run(fill(services.store_, starting))
    seen = HostPower(on=False, since=NOW)
    keep(services, ours, FIRST, condition=HostCondition.ALLOCATED, power=seen)
    keep(services, leased, condition=HostCondition.FREE)
    hosts = {host["id"]: host for host in pool(services, capsys, "list", "--json").json["hosts"]}
    state = hosts[ours]["power_state"]
    assert (state["state"], state["power"]) == ("startingup", "off")
    assert state["operation"]["owner"] == FIRST
    assert state["operation"]["timeout_seconds"] == FLEET.timers.start.total_seconds()
    assert hosts[leased]["power_state"] is None
    for asked, host in ((FIRST, ours), (leased, leased)):
        explained = cli(services, capsys, "explain", "web.toml", asked, "--json").json["host"]
        assert explained["power_state"] == hosts[host]["power_state"]
