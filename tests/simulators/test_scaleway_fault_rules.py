"""Scripted faults: those that can never strike are refused, and those that wait can be seen."""

import json
from typing import Any

import pytest

from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.faults.rates import BY_NAME, BadFaultRates, Rule
from hostler.simulators.scaleway.inspection import inspect
from hostler.simulators.scaleway.reachable import TARGETS, can, never
from hostler.simulators.scaleway.routes import ROUTES

from .conftest import SECRET, ZONE, Bench


def view(bench: Bench, method: str, path: str, body: object = None) -> tuple[int, Any]:
    raw = b"" if body is None else json.dumps(body).encode()
    answer = inspect(bench.world, HttpRequest(method=method, path=path, body=raw))
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule(fault="slow", route="server.lst"), "no server.lst"),
        (Rule(fault="slow", zone="xx-yyy-1"), "no xx-yyy-1"),
        (Rule(fault="slow", route="server.list", method="POST"), "no route meets"),
        (Rule(fault="slow", route="ssh_key.list", zone="fr-par-1"), "no route meets"),
        (Rule(fault="slow", route="network.list", zone="fr-par-1"), "no route meets"),
        (Rule(fault="slow", route="server.list", id=SECRET), "no route meets"),
        (Rule(fault="out_of_stock_start", route="server.create"), "a power-on"),
        (Rule(fault="quota_exceeded", route="volume.create"), "a server or an address"),
        (Rule(fault="truncated_page", route="server.get"), "a list"),
        (Rule(fault="effect_delayed", method="GET"), "changes something"),
        (Rule(fault="mac_locked", route="server.get"), "a Mac, by the hour"),
        (Rule(fault="guest_poweroff", route="server.list"), "a server, by the hour"),
        (Rule(fault="not_found_flicker", route="vpc.get"), "names a resource"),
        (Rule(fault="list_without_newest", route="type.list"), "a list"),
        (Rule(fault="empty_list", route="ipam.list"), "a list"),
        (Rule(fault="empty_list", route="nic.list"), "a list"),
        (Rule(fault="locked_423", route="metadata.get"), "a change of a resource"),
    ],
)
def test_a_rule_that_can_never_strike_is_refused(bench: Bench, rule: Rule, words: str) -> None:
    with pytest.raises(BadFaultRates, match=words):
        bench.world.script(rule)
    fields = {name: getattr(rule, name) for name in ("fault", "route", "zone", "method", "id")}
    status, body = view(bench, "POST", "/_sim/faults", {"rule": fields})
    assert status == 400
    assert words in body["message"]
    assert view(bench, "GET", "/_sim/faults")[1]["rules"] == []


@pytest.mark.parametrize(
    "rule",
    [
        Rule(fault="out_of_stock_start", route="server.action"),
        Rule(fault="out_of_stock_start", route="server.action.poweron", zone="nl-ams-1"),
        Rule(fault="slow", zone="fr-par"),
        Rule(fault="unknown_status", id=SECRET),
        Rule(fault="list_with_deleted"),
    ],
)
def test_a_rule_that_can_strike_somewhere_is_taken(bench: Bench, rule: Rule) -> None:
    bench.world.script(rule)
    assert [script.rule for script in bench.world.armed] == [rule]


@pytest.mark.parametrize(
    "rule",
    [
        {"fault": 1},
        {"fault": ["slow"]},
        {"fault": "slow", "after": "x"},
        {"fault": "slow", "after": 0},
        {"fault": "slow", "count": 1.5},
        {"fault": "slow", "spell": "x"},
        {"fault": "slow", "spell": -1},
        {"fault": "slow", "spell": 1e300},
        {"fault": "slow", "route": 5},
        {"fault": "slow", "unknown": 5},
        {},
        [],
        "slow",
        None,
    ],
)
def test_a_rule_of_wrong_types_is_refused(bench: Bench, rule: object) -> None:
    assert view(bench, "POST", "/_sim/faults", {"rule": rule})[0] == 400
    assert bench.ask("GET", f"{ZONE}/servers").status == 200


@pytest.mark.parametrize(
    "body",
    [
        {"rates": {"slow": "often"}},
        {"rates": {"guest_poweroff": 1e9}},
        {"rates": []},
        {"spells": {"slow": 5}},
        {"spells": {"slow": [5]}},
        {"spells": {"slow": [5, 1]}},
        {"preset": 5},
        {"preset": "sunny"},
    ],
)
def test_rates_of_wrong_types_are_refused_and_change_nothing(bench: Bench, body: object) -> None:
    assert view(bench, "POST", "/_sim/faults", body)[0] == 400


def test_an_unknown_preset_is_answered_with_those_that_there_are(bench: Bench) -> None:
    status, body = view(bench, "POST", "/_sim/faults", {"preset": "strom"})
    assert status == 400
    assert "there is no preset 'strom': expected one of calm" in body["message"]
    assert "storm" in body["message"]
    assert bench.world.fault_rates.rates == {}


def test_armed_rules_are_listed_until_they_have_struck(bench: Bench) -> None:
    rule = {"fault": "failed_500", "route": "server.list", "after": 2}
    listed = view(bench, "POST", "/_sim/faults", {"rule": rule})[1]["rules"]
    assert [(one["fault"], one["after"], one["matched"]) for one in listed] == [
        ("failed_500", 2, 0)
    ]
    bench.ask("GET", f"{ZONE}/servers")
    assert view(bench, "GET", "/_sim/faults")[1]["rules"][0]["matched"] == 1
    assert bench.ask("GET", f"{ZONE}/servers").status == 500
    assert view(bench, "GET", "/_sim/faults")[1]["rules"] == []


def test_every_key_that_a_rule_can_name_is_shown(bench: Bench) -> None:
    listed = view(bench, "GET", "/_sim/routes")[1]
    keys = {one["key"] for one in listed["routes"]} | set(listed["actions"])
    assert keys == set(ROUTES)
    assert {"method", "path"} <= set(listed["routes"][0])


def test_each_fault_can_strike_some_route(bench: Bench) -> None:
    for fault in BY_NAME:
        assert any(can(fault, target) for target in TARGETS), fault
        assert never(Rule(fault=fault), bench.world.options.zones) == ""
