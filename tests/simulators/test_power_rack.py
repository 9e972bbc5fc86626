"""A simulated rack on loopback: driven by the fleet file that it writes, armed, and looked at."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from hostler.app.compose import Composed
from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Effect
from hostler.domain.model.host import HOST
from hostler.frontends.cli.context import Purpose
from hostler.ports.power import PowerAction
from hostler.ports.provider import Provider
from hostler.simulators.power.rack.fleet_file import NotOurs
from hostler.simulators.power.rack.protocols import PROTOCOLS
from hostler.simulators.power.rack.server import RackServer, Settings, serve, write_fleet

RACK = Settings(machines=len(PROTOCOLS), port=0, guest_port=0, boot=0.0, shutdown=0.0)


@asynccontextmanager
async def driven(server: RackServer, folder: Path) -> AsyncGenerator[Provider]:
    """Give the real provider over the rack, opened by the file that the rack wrote."""
    path, services = folder / "rack.toml", Composed()
    write_fleet(server, path)
    config = services.load(path)
    async with (
        services.store(config, Purpose.ENGINE) as store,
        services.accounts(config, store) as (account,),
    ):
        yield account.provider


def switched(name: str, action: PowerAction) -> Call:
    return Call(
        kind=f"host.{action}",
        slot=HOST,
        zone=Zone("rack"),
        effect=Effect.CHANGE,
        target=ResourceId(name),
    )


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, within a bound."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - whatever is to hold tells nobody
            await asyncio.sleep(0.02)


async def test_every_protocol_is_driven_by_the_file_that_is_written(tmp_path: Path) -> None:
    """Each machine goes on and off by the real method over a real socket."""
    async with serve(RACK) as server, driven(server, tmp_path) as provider:
        machines = server.rack.machines
        assert {machine.method for machine in machines.values()} == set(PROTOCOLS)
        for name, machine in machines.items():
            assert isinstance(await provider.do(switched(name, PowerAction.ON)), Done), name
            await until(machine.has_power)
            assert [one.what for one in machine.commands] == ["on"]
            assert sum(other.has_power() for other in machines.values()) == 1
            assert isinstance(await provider.do(switched(name, PowerAction.OFF_HARD)), Done), name
            assert not machine.has_power()


async def test_a_login_shuts_a_system_down_and_only_while_it_is_up(tmp_path: Path) -> None:
    async with serve(RACK) as server, driven(server, tmp_path) as provider:
        machine = next(m for m in server.rack.machines.values() if m.method == "wake-on-lan")
        off = switched(machine.name, PowerAction.OFF_SOFT)
        assert not isinstance(await provider.do(off), Done)
        machine.obey("on", "")
        assert isinstance(await provider.do(off), Done)
        await until(lambda: not machine.has_power())
        assert machine.changes[-1].by == "off_soft"


async def test_the_port_of_a_guest_is_open_while_its_system_is_up() -> None:
    async with serve(RACK) as server:
        machine = server.rack.machines["node-1"]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(machine.address, server.guest_port)
        machine.obey("on", "")
        async with asyncio.timeout(20):
            while True:
                try:
                    _, writer = await asyncio.open_connection(machine.address, server.guest_port)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return


async def test_faults_are_armed_listed_and_cleared_over_http() -> None:
    async with serve(RACK) as server, aiohttp.ClientSession(server.url) as client:
        armed = {"fault": "bmc_hung", "machine": "node-1", "seconds": 60, "at_command": True}
        async with client.post("/_sim/faults", json=armed) as answer:
            listed = (await answer.json())["armed"]
        assert [one["fault"] for one in listed["node-1"]] == ["bmc_hung"]
        assert set(listed) == {"node-1"}
        async with client.post("/_sim/faults", json={"clear": True}) as answer:
            assert (await answer.json())["armed"] == {}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<html>", "malformed"),
        (b"[]", "array"),
        (b"{}", "expected clear, or fault, machine"),
        (b'{"fault": "fire"}', "'fire'"),
        (b'{"fault": "bmc_hung", "machine": "x"}', "machine: expected node-1"),
        (b'{"fault": "bmc_hung", "spell": 5}', "not spell"),
    ],
)
async def test_a_fault_that_cannot_be_armed_is_answered_with_the_cure(
    body: bytes, expected: str
) -> None:
    async with serve(RACK) as server, aiohttp.ClientSession(server.url) as client:
        async with client.post("/_sim/faults", data=body) as answer:
            assert answer.status == 400
            assert expected in (await answer.json())["message"]
        assert server.rack.faults()["armed"] == {}


async def test_the_page_shows_every_machine_and_which_lights_are_on() -> None:
    async with serve(RACK) as server, aiohttp.ClientSession(server.url) as client:
        server.rack.machines["node-2"].obey("on", "")
        async with client.get("/") as answer:
            text = (await answer.text()).partition("</tbody>")[0]
        rows = {
            name: row for row in text.split("<tr>") for name in server.rack.machines if name in row
        }
        assert set(rows) == set(server.rack.machines)
        assert [name for name, row in rows.items() if "light up" in row] == ["node-2"]
        assert all(machine.method in rows[name] for name, machine in server.rack.machines.items())
        async with client.get("/_sim/state") as answer:
            state = await answer.json()
        assert [one["name"] for one in state["machines"] if one["power"] == "on"] == ["node-2"]
        assert (state["on"], state["up"]) == (1, 1)


async def test_secrets_are_for_their_owner_alone_and_not_in_the_fleet_file(tmp_path: Path) -> None:
    async with serve(RACK) as server:
        write_fleet(server, tmp_path / "rack.toml")
        write_fleet(server, tmp_path / "rack.toml")
        assert server.keys.secret not in (tmp_path / "rack.toml").read_text()
        for name in ("rack.secret", "rack.key"):
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


async def test_a_file_that_another_hand_wrote_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "rack.toml"
    mine.write_text("[provider.rack]\n")
    with pytest.raises(NotOurs, match="name another file"):
        async with serve(RACK) as server:
            write_fleet(server, mine)
    assert mine.read_text() == "[provider.rack]\n"
    assert not (tmp_path / "rack.key").exists()
