"""`hostler host`: what a person wants of hosts is checked, recorded, and shown."""

from datetime import timedelta
from typing import Any

import pytest
from cli_kit import FILE, NOW, InMemory, Result, cli, fill, made, run
from cli_macs_kit import FIRST, FLEET, WithMacs, keep, pool

from hostler.domain.ids import HostId
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import HostCondition, HostOrigin
from hostler.domain.model.snapshot import Request, RequestKind

Out = pytest.CaptureFixture[str]


def requests(services: InMemory) -> tuple[Request, ...]:
    return run(services.store_.requests())


def host(services: InMemory, capsys: Out, *words: str) -> Result:
    return cli(services, capsys, "host", str(FILE), *words, "--no-wait")


def free(services: WithMacs, **fields: Any) -> str:
    (name,) = services.stock(1)
    keep(services, name, condition=HostCondition.FREE, name=f"pool-{name}", **fields)
    return name


def taken(services: WithMacs, **fields: Any) -> str:
    """Return a host that a machine has."""
    (name,) = services.stock(1)
    run(fill(services.store_, made(1, host=HostId(name))))
    keep(services, name, FIRST, condition=HostCondition.ALLOCATED, name=f"pool-{name}", **fields)
    return name


@pytest.mark.parametrize(
    ("act", "kind", "sentence"),
    [
        ("reserve", HoldKind.RESERVED, "is reserved until 2026-03-01 14:00 UTC"),
        ("maintain", HoldKind.MAINTENANCE, "is in maintenance until"),
        ("on", HoldKind.ON, "stays on while nobody uses it until"),
        ("off", HoldKind.OFF, "is switched off, and no machine takes it until"),
    ],
)
def test_a_host_is_held_for_so_long_and_for_a_reason(
    capsys: Out, act: str, kind: HoldKind, sentence: str
) -> None:
    services = WithMacs()
    name = free(services)
    result = host(services, capsys, act, name, "--for", "2h", "--why", "its fan")
    (request,) = requests(services)
    assert (request.kind, request.host, request.hold) == (RequestKind.HOLD, name, kind)
    assert (request.until, request.why) == (NOW + timedelta(hours=2), "its fan")
    assert sentence in result.out
    assert result.code == 0


def test_without_a_duration_it_is_held_for_as_long_as_the_fleet_allows(capsys: Out) -> None:
    services = WithMacs()
    host(services, capsys, "reserve", free(services))
    (request,) = requests(services)
    assert request.until == NOW + FLEET.timers.longest_protection


def test_longer_than_the_fleet_allows_is_refused(capsys: Out) -> None:
    services = WithMacs()
    result = host(services, capsys, "reserve", free(services), "--for", "30d")
    assert "timers.longest_protection" in result.err
    assert requests(services) == ()


def test_who_holds_a_host_that_a_machine_has_is_told_when_that_begins(capsys: Out) -> None:
    services = WithMacs()
    name = taken(services)
    result = host(services, capsys, "maintain", name)
    assert f"machine {FIRST} has" in result.err
    assert [request.kind for request in requests(services)] == [RequestKind.HOLD]


@pytest.mark.parametrize("options", [(), ("--drain",)])
def test_who_reserves_a_host_that_was_ordered_is_told_that_it_goes_all_the_same(
    capsys: Out, options: tuple[str, ...]
) -> None:
    """It was reserved for three days, and deleted when its window was over, without a word."""
    services = WithMacs()
    name = taken(services, origin=HostOrigin.ORDERED)
    assert "is given up at the end" in host(services, capsys, "reserve", name, *options).err
    assert "is given up" not in host(services, capsys, "maintain", name, *options).err
    assert "is given up" not in host(services, capsys, "reserve", free(services), *options).err


@pytest.mark.parametrize(("option", "now"), [("--drain", False), ("--now", True)])
def test_the_machine_that_has_it_is_deleted_where_that_is_asked_for(
    capsys: Out, option: str, *, now: bool
) -> None:
    services = WithMacs()
    name = taken(services)
    result = host(services, capsys, "maintain", name, option)
    held, deletion = requests(services)
    assert (held.kind, held.host) == (RequestKind.HOLD, name)
    assert (deletion.kind, deletion.machine, deletion.now) == (RequestKind.DELETE, FIRST, now)
    assert result.err == ""


def test_what_nobody_holds_is_lifted_all_the_same_and_that_is_said(capsys: Out) -> None:
    services = WithMacs()
    again = host(services, capsys, "lift", free(services))
    assert (again.code, "nobody holds it" in again.err) == (0, True)
    services = WithMacs()
    hold = Hold(kind=HoldKind.RESERVED, until=NOW + timedelta(hours=1), actor="ann", why="a trial")
    name = free(services, hold=hold)
    assert host(services, capsys, "lift", name).code == 0
    (request,) = requests(services)
    assert (request.kind, request.host) == (RequestKind.LIFT, name)


def test_a_host_that_a_machine_has_is_not_cycled(capsys: Out) -> None:
    services = WithMacs()
    name = taken(services)
    assert f"machine {FIRST} has it" in host(services, capsys, "cycle", name).err
    assert requests(services) == ()


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("reserve",), "say which host"),
        (("reserve", "nobody"), "there is no host nobody"),
        (("cycle", "HOST", "--for", "2h"), "cycle takes no --for"),
        (("lift", "HOST", "--for", "2h"), "lift takes no --for"),
        (("on", "HOST", "--drain"), "on takes neither --drain nor --now"),
        (("reserve", "HOST", "--for", "soon"), "soon"),
        (("sleep", "HOST"), "sleep"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    capsys: Out, words: tuple[str, ...], wrong: str
) -> None:
    services = WithMacs()
    name = free(services)
    result = host(services, capsys, *(name if word == "HOST" else word for word in words))
    assert wrong in result.err + result.out
    assert result.code != 0
    assert requests(services) == ()


def test_a_host_that_is_on_no_record_yet_is_observed(capsys: Out) -> None:
    services = WithMacs()
    (name,) = services.stock(1)
    assert host(services, capsys, "reserve", name).code == 0
    assert [request.host for request in requests(services)] == [name]


def test_a_hold_is_shown_wherever_its_host_is(capsys: Out) -> None:
    services = WithMacs()
    until = NOW + timedelta(hours=1)
    hold = Hold(kind=HoldKind.MAINTENANCE, until=until, actor="ann", why="its fan")
    name = free(services, hold=hold)
    sentence = "in maintenance until 2026-03-01 13:00 UTC (by ann: its fan)"
    assert sentence in pool(services, capsys, "list").out.replace("\n", " ")
    (listed,) = pool(services, capsys, "list", "--json").json["hosts"]
    assert listed["hold"] == {
        "kind": "maintenance",
        "until": "2026-03-01T13:00:00Z",
        "actor": "ann",
        "why": "its fan",
    }
    explained = cli(services, capsys, "explain", str(FILE), name)
    assert sentence in " ".join(explained.out.split())
