"""`hostler pool` and `hostler retire`: hosts are shown, and only what may be asked is asked."""

from datetime import timedelta
from typing import Any

import pytest
from cli_kit import FILE, NOW, InMemory, cli, fill, made, run
from cli_macs_kit import ELSEWHERE, FIRST, FLEET, MACS, POOL, ZONE, WithMacs, keep, pool
from msgspec.structs import replace

from hostler.domain.ids import HostId, Zone
from hostler.domain.model.host import HostCondition, HostGoal
from hostler.domain.model.resource import Stage
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.simulators.scaleway.faults.rates import Rule

Out = pytest.CaptureFixture[str]
SILENT = Zone("fr-par-3")


def requests(services: InMemory) -> tuple[Request, ...]:
    return run(services.store_.requests())


def test_without_an_observation_the_hosts_on_record_are_listed(capsys: Out) -> None:
    services = WithMacs()
    first, _ = services.stock(2)
    keep(services, first, condition=HostCondition.FREE, wiped=NOW, name="pool-x", strikes=2)
    result = pool(services, capsys, "list", "--json").json
    (host,) = result["hosts"]
    assert (host["id"], host["state"], host["strikes"]) == (first, "free", 2)
    assert host["wiped"] == "2026-03-01T12:00:00Z"
    assert not result["observed"]
    assert "2 strikes" in pool(services, capsys).out


def test_an_observation_shows_all_hosts_of_the_account_and_whose_they_are(capsys: Out) -> None:
    services = WithMacs()
    free, held, orphan = services.stock(3)
    (fresh,) = services.stock(1, "apple-silicon-")
    (other,) = services.stock(1, "desk-")
    services.claimed(held)
    services.claimed(orphan)
    foreign = services.claimed(free, home=ELSEWHERE)
    keep(services, held, FIRST, condition=HostCondition.ALLOCATED)
    result = pool(services, capsys, "list", "--online", "--json").json
    states = {host["id"]: host["state"] for host in result["hosts"]}
    assert states == {
        free: "another installation's",
        held: "allocated",
        orphan: "unrecorded: claimed",
        fresh: "unnamed",
        other: "not in a pool",
    }
    assert foreign in {host["name"] for host in result["hosts"]}
    assert {host["price"] for host in result["hosts"]} == {0.21}
    assert {host["paid_until"][:16] for host in result["hosts"]} == {"2026-03-02T12:00"}
    assert "1 allocated" in pool(services, capsys, "list", "--online").out


def half_seen() -> tuple[WithMacs, str, str]:
    """Return services one of whose zones does not answer, a host there on record, and another."""
    services = WithMacs(zones=(ZONE, SILENT))
    (lost,) = services.world.stock_macs(1, "M1-M", SILENT, POOL)
    (listed,) = services.stock(1)
    keep(services, lost, zone=SILENT, condition=HostCondition.DIRTY, name="pool-9", pool=POOL)
    services.world.script(Rule(fault="html_5xx", route="mac.list", zone=SILENT, count=100_000))
    return services, lost, listed


def test_a_zone_that_cannot_be_observed_is_named_beside_the_hosts(capsys: Out) -> None:
    services, lost, listed = half_seen()
    result = pool(services, capsys, "list", "--online", "--json").json
    assert {host["id"] for host in result["hosts"]} == {lost, listed}
    (scope,) = result["incomplete"]
    assert scope == f"hosts in {SILENT}"
    displayed = pool(services, capsys, "list", "--online")
    assert displayed.code == 0
    assert f"could not observe hosts in {SILENT}, so some may be missing" in displayed.err


@pytest.mark.parametrize("name", ["pool-7", "pool-9"])
def test_a_host_of_such_a_zone_is_held_to_be_neither_unknown_nor_gone(
    capsys: Out, name: str
) -> None:
    """Whether it was on record or not: the provider could not be asked."""
    services, *_ = half_seen()
    for argv in (
        ("pool", "web.toml", "adopt", name, "--no-wait"),
        ("pool", "web.toml", "retire", name, "--why", "old", "--no-wait"),
        ("host", "web.toml", "reserve", "pool-7", "--no-wait"),
        ("explain", "web.toml", "pool-7"),
    ):
        refused = cli(services, capsys, *argv)
        assert (refused.code, requests(services)) == (7, ())
        assert f"could not observe hosts in {SILENT}" in refused.err
        assert "no longer lists" not in refused.err


def test_a_price_that_is_not_known_is_not_shown_as_zero(capsys: Out) -> None:
    services = WithMacs()
    services.world.stock_macs(1, "M4-S", ZONE, POOL)
    output = pool(services, capsys, "list", "--online").out
    assert ("not known" in output, "€0" in output) == (True, False)


def test_the_price_of_a_host_that_costs_nothing_just_now_is_the_one_on_record(capsys: Out) -> None:
    """So it is of a box that is off; whether it is observed or read makes no difference."""
    services = WithMacs()
    (host,) = services.world.stock_macs(1, "M4-S", ZONE, POOL)
    keep(services, host, condition=HostCondition.FREE, price=0.03, name="pool-1", pool=POOL)
    for argv in (("list",), ("list", "--online")):
        (listed,) = pool(services, capsys, *argv, "--json").json["hosts"]
        assert listed["price"] == pytest.approx(0.03)
        assert "€0.0300" in pool(services, capsys, *argv).out


def test_what_is_scheduled_or_quarantined_is_remarked(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    until = NOW + timedelta(hours=3)
    keep(
        services,
        host,
        condition=HostCondition.QUARANTINED,
        quarantined_until=until,
        scheduled=until,
        name=POOL,
    )
    (displayed,) = pool(services, capsys, "--json").json["hosts"]
    assert displayed["quarantined_until"] == displayed["scheduled"] == "2026-03-01T15:00:00Z"
    assert "quarantined until 2026-03-01 15:00 UTC; deleted at" in pool(services, capsys).out


def test_a_host_outside_the_pool_is_put_into_it_by_name_or_by_id(capsys: Out) -> None:
    services = WithMacs()
    first, second = services.stock(2, "desk-")
    result = pool(services, capsys, "add", "desk-1", second, "--why", "bought", "--no-wait")
    assert result.code == 0
    assert [(w.kind, w.host, w.fleet, w.why) for w in requests(services)] == [
        (RequestKind.POOL_ADD, first, MACS, "bought"),
        (RequestKind.POOL_ADD, second, MACS, "bought"),
    ]
    assert "its disk stays as it is until it is claimed" in result.out


def test_a_program_is_warned_of_a_host_that_no_machine_of_the_fleet_would_want(
    capsys: Out,
) -> None:
    services = WithMacs()
    services.world.stock_macs(1, "M4-S", ZONE, "desk-")
    argv = ("add", "desk-1", "--why", "bought", "--no-wait", "--json")
    (warning,) = pool(services, capsys, *argv).json["warnings"]
    assert warning == "desk-1 is M4-S in fr-par-1; fleet web asks for M2-L in fr-par-1"


def test_all_hosts_are_checked_before_anything_is_asked(capsys: Out) -> None:
    services = WithMacs()
    services.stock(2, "desk-")
    result = pool(services, capsys, "add", "desk-1", "desk-22", "--no-wait")
    assert result.code == 2
    assert "there is no host desk-22; there is desk-" in result.err
    assert requests(services) == ()


def refused(services: WithMacs, capsys: Out, *argv: str) -> str:
    result = pool(services, capsys, *argv, "--no-wait")
    assert result.code == 2
    assert requests(services) == ()
    return result.err


@pytest.mark.parametrize("act", [("add",), ("adopt",), ("adopt", "--keep-disk"), ("retire",)])
def test_a_host_that_bears_the_name_of_a_living_machine_is_refused(
    capsys: Out, act: tuple[str, ...]
) -> None:
    """By its id as by the name; which host the machine has is not said by a name."""
    services = WithMacs()
    held, copy = services.stock(2)
    name = services.claimed(held)
    keep(services, held, FIRST, condition=HostCondition.ALLOCATED)
    services.claimed(copy)
    output = refused(services, capsys, *act, copy, "--why", "a slip")
    assert f"it bears the name of machine {FIRST}, which has {held}: rename it first" in output
    assert "2 hosts are named" in refused(services, capsys, *act, name, "--why", "a slip")


@pytest.mark.parametrize("act", [("add",), ("adopt",), ("adopt", "--keep-disk")])
def test_a_host_that_somebody_has_is_refused(capsys: Out, act: tuple[str, ...]) -> None:
    services = WithMacs()
    foreign, held = services.stock(2)
    name = services.claimed(foreign, home=ELSEWHERE)
    services.claimed(held)
    keep(services, held, FIRST, condition=HostCondition.ALLOCATED)
    assert "another installation has it (elsewhere)" in refused(services, capsys, *act, name)
    assert f"machine {FIRST} has it" in refused(services, capsys, *act, held)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            {"condition": HostCondition.WIPING, "goal": HostGoal.CLEAN},
            "it is being wiped, and then returns to the pool",
        ),
        (
            {"condition": HostCondition.RETIRING, "goal": HostGoal.RETIRED},
            "it is being retired",
        ),
        ({"scheduled": NOW + timedelta(days=1)}, "the provider deletes it at 2026-03-02 12:00 UTC"),
    ],
)
def test_a_host_that_is_on_its_way_is_refused(
    capsys: Out, record: dict[str, Any], message: str
) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    services.claimed(host, stage=Stage.RETIRING)
    keep(services, host, **record)
    assert message in refused(services, capsys, "add", host)


@pytest.mark.parametrize("name", ["desk-1", "pool-1"])
def test_a_host_that_somebody_took_out_of_our_hands_may_be_put_in_again(
    capsys: Out, name: str
) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    services.world.console.rename(host, name)
    keep(services, host, condition=HostCondition.RETIRING, goal=HostGoal.RETIRED)
    assert pool(services, capsys, "add", host, "--no-wait").code == 0


def test_a_locked_host_and_one_that_is_in_the_pool_are_refused(capsys: Out) -> None:
    services = WithMacs()
    (locked,) = services.stock(1, "desk-")
    services.stock(1)
    services.world.console.do("lock", locked, spell=1e6)
    services.clock_.at += timedelta(hours=1)
    assert "it is locked" in refused(services, capsys, "add", locked)
    assert "already in the pool: pool-1" in refused(services, capsys, "add", "pool-1")


def test_a_name_that_two_hosts_have_names_neither(capsys: Out) -> None:
    services = WithMacs()
    first, second = services.stock(2, "desk-")
    services.world.console.rename(second, "desk-1")
    message = refused(services, capsys, "add", "desk-1")
    assert first in message
    assert second in message
    assert pool(services, capsys, "add", second, "--no-wait").code == 0


def test_nothing_is_put_into_a_pool_that_there_is_not(capsys: Out) -> None:
    services = WithMacs(pool="")
    services.stock(1, "desk-")
    assert "set `pool_prefix`" in refused(services, capsys, "add", "desk-1")


def test_a_host_is_adopted_with_its_disk_under_a_fresh_id(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1, "desk-")
    result = pool(services, capsys, "adopt", host, "--keep-disk", "--no-wait", "--json")
    (request,) = requests(services)
    assert (request.kind, request.host, request.keep) == (RequestKind.POOL_ADOPT, host, True)
    assert result.json["requests"][0]["machines"] == [request.machines[0]]
    assert result.json["requests"][0]["host"] == host


def test_no_host_outside_the_pool_is_wiped_whose_whole_name_was_not_typed(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1, "desk-")
    message = refused(services, capsys, "adopt", host)
    assert "desk-1" in message
    assert "--keep-disk" in message
    assert pool(services, capsys, "adopt", "desk-1", "--no-wait").code == 0
    (request,) = requests(services)
    assert (request.host, request.keep) == (host, False)


def test_a_host_of_the_pool_may_be_adopted_by_its_id(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    assert pool(services, capsys, "adopt", host, "--no-wait").code == 0
    assert [request.host for request in requests(services)] == [host]


def test_a_fleet_that_is_full_or_asked_by_name_adopts_nothing(capsys: Out) -> None:
    full = WithMacs(fleets=(replace(FLEET, maximum=1),))
    run(fill(full.store_, made(1)))
    full.stock(1)
    assert "at most 1 machines" in refused(full, capsys, "adopt", "pool-1")
    named = WithMacs(fleets=(replace(FLEET, renews=False),))
    named.stock(1)
    assert "adopts no hosts" in refused(named, capsys, "adopt", "pool-1")


def test_a_host_of_another_type_is_put_in_with_a_warning(capsys: Out) -> None:
    services = WithMacs()
    services.world.stock_macs(1, "M4-S", FLEET.offers[0].zone, "desk-")
    result = pool(services, capsys, "add", "desk-1", "--no-wait")
    assert result.code == 0
    assert "desk-1 is M4-S in fr-par-1; fleet web asks for M2-L" in result.err


def test_a_request_about_hosts_says_whether_an_engine_took_it(capsys: Out) -> None:
    services = WithMacs(runs=True)
    services.stock(1, "desk-")
    result = pool(services, capsys, "add", "desk-1", "--json")
    assert (result.code, result.json["engine"], result.json["taken"]) == (5, True, False)


@pytest.mark.parametrize("argv", [("add",), ("adopt",), ("list", "x"), ("drop", "x")])
def test_a_wrong_command_about_hosts_is_an_error_of_usage(
    capsys: Out, argv: tuple[str, ...]
) -> None:
    assert pool(WithMacs(), capsys, *argv).code == 2


def test_a_provider_without_hosts_has_no_pool(capsys: Out) -> None:
    result = cli(InMemory(), capsys, "pool", str(FILE), "list", "--online")
    assert (result.code, "there is no pool" in result.err) == (2, True)


def test_a_machine_is_retired_only_with_a_reason(capsys: Out) -> None:
    services = WithMacs()
    run(fill(services.store_, made(1, host=HostId("h-1"))))
    bare = cli(services, capsys, "retire", str(FILE), FIRST, "--no-wait")
    assert (bare.code, "say why" in bare.err) == (2, True)
    result = cli(services, capsys, "retire", str(FILE), FIRST, "--why", "its fan", "--no-wait")
    assert (result.code, result.err) == (0, "")
    (request,) = requests(services)
    assert (request.kind, request.machine, request.why) == (RequestKind.RETIRE, FIRST, "its fan")


def test_retiring_a_machine_without_a_host_is_the_same_as_deleting_it(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1)))
    result = cli(services, capsys, "retire", str(FILE), FIRST, "--why", "old", "--no-wait")
    assert (result.code, "it is deleted, and nothing is retired" in result.err) == (0, True)


def test_a_machine_of_a_protected_fleet_is_not_retired(capsys: Out) -> None:
    services = WithMacs(fleets=(replace(FLEET, protected=True),))
    run(fill(services.store_, made(1, host=HostId("h-1"))))
    refusal = cli(services, capsys, "retire", str(FILE), FIRST, "--why", "old", "--no-wait")
    assert (refusal.code, "is protected" in refusal.err) == (2, True)


def test_a_host_that_was_added_is_in_the_pool_also_without_an_observation(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    keep(services, host, name="pool-1", pool=POOL)
    for observation in ((), ("--online",)):
        (displayed,) = pool(services, capsys, "list", "--json", *observation).json["hosts"]
        assert displayed["state"] == "in the pool"


# ------------------------------------------------------------------ retire


def test_hosts_that_nobody_has_are_given_up_by_name_with_a_reason(capsys: Out) -> None:
    services = WithMacs()
    first, second = services.stock(2)
    result = pool(services, capsys, "retire", "pool-1", second, "--why", "loud", "--no-wait")
    assert result.code == 0
    assert [(w.kind, w.host, w.machine, w.why) for w in requests(services)] == [
        (RequestKind.RETIRE, first, None, "loud"),
        (RequestKind.RETIRE, second, None, "loud"),
    ]
    assert f"pool-1 ({first}): is retired" in " ".join(result.out.split())


def test_a_host_is_given_up_only_for_a_reason(capsys: Out) -> None:
    services = WithMacs()
    services.stock(1)
    assert "say why" in refused(services, capsys, "retire", "pool-1")


def test_every_host_that_cannot_be_given_up_says_why(capsys: Out) -> None:
    services = WithMacs()
    foreign, held, going = services.stock(3)
    (desk,) = services.stock(1, "desk-")
    services.claimed(foreign, home=ELSEWHERE)
    services.claimed(held)
    keep(services, held, FIRST, condition=HostCondition.ALLOCATED)
    keep(services, going, condition=HostCondition.RETIRING, goal=HostGoal.RETIRED)
    names = (foreign, held, going, desk)
    output = " ".join(refused(services, capsys, "retire", *names, "--why", "old").split())
    assert "another installation has it" in output
    assert f"machine {FIRST} has it: retire that machine instead" in output
    assert "it is being retired" in output
    assert "it is not in the pool" in output


def test_retiring_a_host_like_a_machine_says_which_command_does_that(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    keep(services, host)
    result = cli(services, capsys, "retire", "web.toml", host, "--why", "old", "--no-wait")
    assert result.code == 2
    assert f"{host} is a host that no machine has `hostler pool FILE retire HOST`" in " ".join(
        result.err.split()
    )
    assert requests(services) == ()
