"""Boxes that are left alone: excluded, never switched off, or the computer that we run on."""

import asyncio
import socket
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from test_rack import FILE, OUTLET, ZONE, box, order, rack_of, read

from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Refusal, Refused
from hostler.domain.model.host import HOST
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Condition, Scope
from hostler.ports.power import PowerAction
from hostler.providers.power.kind import PowerKind
from hostler.providers.power.own_host import (
    is_own_address,
    is_own_host,
    own_cards,
    own_names,
)
from hostler.providers.power.provider import PowerBoxes
from hostler.providers.power.settings import BoxTable
from hostler.providers.power.ways import Ways
from hostler.testing.fakes.power import FakeOutlet, FakePower
from hostler.testing.time.clock import SimClock

OFFER = Offer(type="box", zone=ZONE)


def call(action: PowerAction) -> Call:
    return Call(
        kind=f"host.{action}", slot=HOST, zone=ZONE, effect=Effect.CHANGE, target=ResourceId("a")
    )


def boxes(**left_alone: str) -> tuple[PowerBoxes, FakeOutlet]:
    clock = SimClock(asyncio.get_running_loop())
    outlet = FakeOutlet(clock, on=True)
    ways = Ways({"plug": FakePower(outlet, OUTLET)}, order("plug"))
    return PowerBoxes(rack_of(replace(box("a", ways), **left_alone)), clock), outlet


@pytest.mark.looptime
async def test_an_excluded_box_is_asked_and_neither_switched_nor_taken() -> None:
    rack, outlet = boxes(excluded="its fan is broken")
    (resource,) = (await rack.observe((Scope(ZONE, HOST.kind),))).resources
    assert resource.condition is Condition.UP
    assert resource.allowed == ("release",)
    assert rack.fits(FleetName("nodes"), OFFER, resource) == "its fan is broken"
    for action in (PowerAction.ON, PowerAction.OFF_HARD):
        outcome = await rack.do(call(action))
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.WRONG_STATE
        assert outcome.text == "a is not switched: its fan is broken"
    assert {what for _, what in outlet.journal} == {"query"}


@pytest.mark.looptime
async def test_a_box_that_stays_on_is_switched_on_and_never_off() -> None:
    rack, outlet = boxes(stays_on="it is the control plane")
    (resource,) = (await rack.observe((Scope(ZONE, HOST.kind),))).resources
    assert resource.allowed == ("release", "on")
    assert not rack.fits(FleetName("nodes"), OFFER, resource)
    outcome = await rack.do(call(PowerAction.OFF_HARD))
    assert isinstance(outcome, Refused)
    assert "it is the control plane" in outcome.text
    assert isinstance(await rack.do(call(PowerAction.ON)), Done)
    assert {what for _, what in outlet.journal} == {"query", "on"}


@pytest.mark.looptime
async def test_what_is_left_alone_is_not_in_the_way_of_the_others() -> None:
    rack, outlet = boxes()
    (resource,) = (await rack.observe((Scope(ZONE, HOST.kind),))).resources
    assert resource.allowed == ("release", "off_hard", "on")
    assert isinstance(await rack.do(call(PowerAction.OFF_HARD)), Done)
    assert not outlet.on


def test_a_box_that_stays_on_is_never_seen_off_and_so_must_be_trusted(tmp_path: Path) -> None:
    text = FILE.replace('name = "b"', 'name = "b"\nstays_on = true')
    with pytest.raises(ConfigError, match="trusted, for b is never switched off"):
        read(tmp_path, text)
    read(tmp_path, text.replace('kind = "power"', 'kind = "power"\ncleaning = "trusted"'))


def table(**more: object) -> BoxTable:
    return msgspec.convert({"name": "node-1"} | more, BoxTable)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0", "192.0.2.7", "", "node-1"])  # noqa: S104 - an address that is nobody's
def test_an_address_of_everybody_or_of_another_is_not_ours(address: str) -> None:
    assert not is_own_address(address)


def test_an_address_that_can_be_bound_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()

    def bind(bound: socket.socket, place: object) -> None:
        assert bound.family is socket.AF_INET
        asked.append(place)

    monkeypatch.setattr(socket.socket, "bind", bind)
    assert is_own_address("192.0.2.7")
    assert asked == [("192.0.2.7", 0)]


def test_the_network_cards_are_those_of_the_system(tmp_path: Path) -> None:
    for name, text in {"eth0": "52:54:00:AB:cd:ef\n", "lo": "00:00:00:00:00:00\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "address").write_text(text)
    assert set(own_cards(tmp_path)) == {"525400abcdef"}
    assert set(own_cards(tmp_path / "none")) == set()


@pytest.mark.parametrize("name", ["desk.example.org", "Desk", "desk"])
def test_a_box_is_ours_by_our_name_with_its_domain_or_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "desk.example.org")
    assert is_own_host(table(name=name))
    assert is_own_host(table(address=name))
    assert not is_own_host(table(name=f"{name}-2", address="desk.example.com"))


def test_our_name_has_the_domain_that_the_system_has_on_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a box with the whole name, such as a Node of a cluster, would shut itself down."""
    monkeypatch.setattr(socket, "gethostname", lambda: "desk")
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "127.0.0.1 localhost desk # a comment, desk.example.net\n"
        "127.0.1.1\tDesk.example.org desk\n"
        "\n"
        "192.0.2.7 desk-2.example.org desk-2\n"
    )
    assert set(own_names(hosts)) == {"desk", "desk.example.org"}
    assert set(own_names(tmp_path / "none")) == {"desk"}
    monkeypatch.setattr("hostler.providers.power.own_host.own_names", lambda: own_names(hosts))
    assert is_own_host(table(address="desk.example.org"))
    assert not is_own_host(table(address="desk-2.example.org"))


@pytest.mark.parametrize("address", ["192.0.2.7", "desk"])
def test_a_box_that_is_asked_at_an_address_of_ours_is_ours(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else we would log in to ourselves, and shut down the computer that we run on."""
    monkeypatch.setattr(socket, "gethostname", lambda: "desk")

    def is_ours(one: str) -> bool:
        return one == "192.0.2.7"

    monkeypatch.setattr("hostler.providers.power.own_host.is_own_address", is_ours)
    ssh = {"address": address, "fingerprint": f"SHA256:{'A' * 43}"}
    assert is_own_host(table(ssh=ssh))
    assert is_own_host(table(reachability={"address": address, "off_after": "PT3M"}))
    assert not is_own_host(table(ssh=ssh | {"address": "192.0.2.8"}))


def test_a_box_is_ours_by_its_name_or_its_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostler.providers.power.own_host.own_cards", lambda: {"525400abcdef"})
    assert is_own_host(table(name=socket.gethostname()))
    assert is_own_host(table(**{"wake-on-lan": {"mac": "52-54-00-ab-cd-ef"}}))
    assert not is_own_host(table(**{"wake-on-lan": {"mac": "52:54:00:ab:cd:ee"}}))


def test_this_computer_is_warned_of_and_never_switched_off(tmp_path: Path) -> None:
    settings = read(tmp_path, FILE.replace('name = "b"', f'name = "{socket.gethostname()}"'))
    (provider,) = settings.accounts
    warnings = [text for text in PowerKind().warnings_of(provider.settings) if "this comp" in text]
    assert len(warnings) == 1
