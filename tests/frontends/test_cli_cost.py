import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from cli_kit import FILE, FLEET, NOW, TURN, WEB, InMemory, Result, fence, fill, made, run
from cli_macs_kit import WithMacs
from msgspec.structs import replace

from hostler.domain.ids import HostId, Zone
from hostler.domain.model.commands import Event
from hostler.domain.model.host import (
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    HostOwnership,
    HostPower,
    Purchase,
)
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.policy.billing import Billing
from hostler.domain.policy.demand import Demand, demand_of
from hostler.frontends.cli.commands.cost import CostCommand
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.main import application, main
from hostler.frontends.cli.render.tables import headline
from hostler.ports.store import Store
from hostler.providers.scaleway.macs.settings import PRICES
from hostler.queries.cost import PolicyOutcome
from hostler.queries.fleets import fleet_status, past_fleet_status
from hostler.simulators.scaleway.faults.rates import Rule

H = timedelta(hours=1)
Out = pytest.CaptureFixture[str]


class Scripted:
    """Knows two policies, and remembers what it was asked to play."""

    policies = ("default", "idle-24h")

    def __init__(self) -> None:
        self.played = list[tuple[str, Demand, float]]()

    def generated(self, days: int, seed: int, now: datetime) -> Demand:
        return demand_of([(now - days * 24 * H, seed)], now)

    def outcome(self, policy: str, demand: Demand, price: float) -> PolicyOutcome:
        self.played.append((policy, demand, price))
        return PolicyOutcome(
            policy=policy,
            hosts=3,
            paid_hours=120.0,
            used_hours=60.0,
            optimal_hours=100.0,
            euros=120.0 * price,
            mean_wait=timedelta(minutes=2),
            p95_wait=timedelta(minutes=15),
            longest_wait=timedelta(minutes=15),
        )


def cli(services: InMemory, capsys: Out, *argv: str, trying: Scripted | None = None) -> Result:
    command = CostCommand(services, guarded, trying or Scripted()).cost
    code = main(application({"Cost": {"cost": command}}), ("cost", str(FILE), *argv))
    message = capsys.readouterr()
    return Result(code, message.out, message.err)


async def live(store: Store, life: Iterable[tuple[timedelta, Machine]]) -> None:
    """Save a machine's images, each at a time before now."""
    (first, born), *others = life
    await fill(store, replace(born, created=NOW - first))
    for ago, image in others:
        await save(store, ago, image)


async def save(store: Store, ago: timedelta, image: Machine) -> None:
    """Save a machine as it was a while before now."""
    saved = await store.machine(image.id)
    assert saved is not None
    event = Event(kind="moved", at=NOW - ago, fleet=WEB, cycle=TURN, machine=image.id)
    record = replace(image, version=saved.version)
    await store.save_machine(record, (event,), await fence(store))


def a_life() -> list[tuple[timedelta, Machine]]:
    """Return a machine that was started 6 hours ago, was ready after one, and went an hour ago."""
    paid = made(1, Phase.STARTING, price=0.5, billed_from=NOW - 6 * H)
    return [
        (6 * H, paid),
        (5 * H, replace(paid, phase=Phase.READY)),
        (2 * H, replace(paid, phase=Phase.STOPPING)),
        (
            1 * H,
            replace(paid.with_billing(price=0.0, spent=2.5, billed_from=None), phase=Phase.DELETED),
        ),
    ]


def test_hours_paid_and_used_are_shown_of_machines_living_and_deleted(capsys: Out) -> None:
    services = InMemory()
    run(live(services.store_, a_life()))
    (bill,) = cli(services, capsys, "--json").json["bills"]
    assert (bill["of"], bill["name"], bill["count"]) == ("fleet", WEB, 1)
    assert bill["paid_hours"] == pytest.approx(5)
    assert bill["used_hours"] == pytest.approx(3)
    assert bill["overhead"] == pytest.approx(5 / 3 - 1, abs=1e-4)
    assert bill["cost"] == pytest.approx(2.5)
    assert bill["forecast_day"] == 0
    message = cli(services, capsys).out
    assert "fleet web" in message
    assert "€2.50" in message


def test_the_forecast_is_what_the_living_cost(capsys: Out) -> None:
    services = InMemory()
    run(live(services.store_, a_life()[:2]))
    (bill,) = cli(services, capsys, "--json").json["bills"]
    assert bill["forecast_day"] == pytest.approx(12)
    assert bill["forecast_30_days"] == pytest.approx(360)
    assert bill["cost"] == pytest.approx(3.0)


def a_long_life() -> list[tuple[timedelta, Machine]]:
    """Return a machine of half a euro an hour that began in February, and went an hour ago."""
    paid = made(1, Phase.READY, price=0.5, billed_from=NOW - 20 * H)
    ended = replace(
        paid.with_billing(price=0.0, spent=9.5, billed_from=None), phase=Phase.DELETED, since=NOW
    )
    return [(20 * H, paid), (H, ended)]


def test_what_a_fleet_cost_never_falls_and_is_the_same_in_status(capsys: Out) -> None:
    services = InMemory()
    run(live(services.store_, a_long_life()))

    def so_far() -> tuple[float, float]:
        (bill,) = cli(services, capsys, "--json").json["bills"]
        status = run(fleet_status(services.store_, FLEET, NOW, runs=False))
        return bill["cost"], status.cost

    assert so_far() == (9.5, 9.5)

    async def forget() -> None:
        assert await services.store_.forget(NOW + H, 100, await fence(services.store_)) > 0

    run(forget())
    assert so_far() == (9.5, 9.5)
    status = run(fleet_status(services.store_, FLEET, NOW, runs=False))
    assert (status.machines, "€9.50 so far" in str(headline(status))) == ((), True)


def test_what_this_month_cost_is_told(capsys: Out) -> None:
    services = InMemory()
    run(live(services.store_, a_long_life()))
    (bill,) = cli(services, capsys, "--json").json["bills"]
    assert bill["month"] == pytest.approx(11 * 0.5), "the month began twelve hours ago"
    assert "this month" in cli(services, capsys).out


def test_a_price_that_was_learnt_without_an_event_is_in_every_column(capsys: Out) -> None:
    """As an observation has it: the record is saved, and nothing is told of it."""
    services = InMemory()
    paid = made(1, price=0.5, billed_from=NOW - 14 * H, created=NOW - 15 * H)

    async def learn() -> None:
        await fill(services.store_, replace(paid.with_billing(price=0.0, billed_from=None)))
        saved = await services.store_.machine(paid.id)
        assert saved is not None
        record = replace(paid, version=saved.version)
        await services.store_.save_machine(record, (), await fence(services.store_))

    run(learn())

    def bill() -> dict[str, float]:
        (found,) = cli(services, capsys, "--json").json["bills"]
        return found

    assert (bill()["cost"], bill()["price"]) == (7.0, 0.5)
    assert bill()["paid_hours"] == pytest.approx(14)
    assert bill()["month"] == pytest.approx(6.0), "the month began twelve hours ago"
    ended = replace(paid.with_billing(price=0.0, spent=7.0), phase=Phase.DELETED)
    run(save(services.store_, timedelta(0), ended))
    assert (bill()["cost"], bill()["price"]) == (7.0, 0.0)


def test_a_fleet_as_it_was_cost_what_it_had_cost_by_then() -> None:
    services = InMemory()
    run(live(services.store_, a_long_life()))
    for ago, euros in ((10 * H, 5.0), (30 * timedelta(minutes=1), 9.5), (30 * H, 0.0)):
        then = run(past_fleet_status(services.store_, FLEET, NOW - ago))
        assert then.cost == pytest.approx(euros)


def ordered(born: datetime) -> Host:
    """Return a host that was ordered, and delivered then."""
    return Host(
        id=HostId("mac-1"),
        account=FLEET.account,
        zone=Zone("z-1"),
        purchase=Purchase(origin=HostOrigin.ORDERED, delivered=born, paid_until=born + 24 * H),
        billing=Billing(price=0.2),
    )


def test_leased_hosts_are_billed_by_the_windows_that_are_paid(capsys: Out) -> None:
    services = InMemory()

    async def furnish() -> None:
        await fill(services.store_)
        fenced = await fence(services.store_)
        host = ordered(NOW - 10 * H)
        await services.store_.save_host(host, (), fenced)
        monthly = replace(host.with_purchase(renews=True), id=HostId("mac-2"))
        await services.store_.save_host(monthly, (), fenced)

    run(furnish())
    bill = cli(services, capsys, "--json").json["bills"][1]
    assert (bill["of"], bill["count"]) == ("hosts of", 2)
    assert bill["paid_hours"] == pytest.approx(24 + 720)
    assert bill["cost"] == pytest.approx(0.2 * 744)
    assert bill["used_hours"] is None
    assert bill["month"] == pytest.approx(0.2 * (24 + 720)), "both were delivered this month"


def test_a_host_that_is_gone_costs_no_more_and_one_that_is_given_up_is_in_no_forecast(
    capsys: Out,
) -> None:
    services = InMemory()
    born = NOW - 60 * H
    saved = ordered(born)
    going = replace(
        saved.with_purchase(scheduled=NOW + H), id=HostId("mac-2"), goal=HostGoal.RETIRED
    )
    absent = replace(saved, id=HostId("mac-3"), condition=HostCondition.ABSENT, since=born + 30 * H)

    pooled = replace(saved.with_purchase(origin=HostOrigin.POOL), id=HostId("mac-4"))

    async def furnish() -> None:
        await fill(services.store_)
        fenced = await fence(services.store_)
        for host in (saved, going, absent, pooled):
            await services.store_.save_host(host, (), fenced)

    run(furnish())
    bill = cli(services, capsys, "--json").json["bills"][1]
    assert bill["count"] == 3, "nobody pays twice for a host of the pool that was given up"
    assert bill["paid_hours"] == pytest.approx(60 + 60 + 30)
    assert bill["price"] == pytest.approx(0.2 + 0.2)
    assert bill["forecast_day"] == pytest.approx(0.2 * 24)
    assert bill["forecast_30_days"] == pytest.approx(0.2 * 720)


def pooled(name: str, **more: Any) -> Host:
    """Return a host of the pool that is on record since three hours ago."""
    plain = Host(
        id=HostId(name),
        account=FLEET.account,
        zone=Zone("z-1"),
        condition=HostCondition.FREE,
        ownership=HostOwnership(pool="pool-", name=f"pool-{name}"),
        billing=Billing(price=0.2, billed_from=NOW - 3 * H),
    )
    return replace(plain, **more)


def test_idle_hosts_of_the_pool_have_a_bill_of_their_own_and_no_time_of_machines(
    capsys: Out,
) -> None:
    """One was used for an hour and is idle, one is used; the others are elsewhere, gone, or off."""
    services = InMemory()
    paid = made(1, price=0.2, billed_from=NOW - 2 * H, host=HostId("mac-1"))
    ended = paid.with_billing(price=0.0, spent=0.2, billed_from=None)
    using = made(2, price=0.2, billed_from=NOW - 3 * H, host=HostId("mac-2"))
    others = (
        replace(ordered(NOW - 10 * H), id=HostId("mac-3")),
        pooled("mac-4", condition=HostCondition.ABSENT, since=NOW - 2 * H),
        pooled("mac-5", power=HostPower(on=False)),
        pooled("mac-6", goal=HostGoal.RETIRED),
    )

    async def furnish() -> None:
        births = replace(paid, created=NOW - 2 * H), replace(using, created=NOW - 3 * H)
        await fill(services.store_, *births)
        await save(services.store_, H, replace(ended, phase=Phase.DELETED))
        fenced = await fence(services.store_)
        for host in (pooled("mac-1"), pooled("mac-2"), *others):
            await services.store_.save_host(host, (), fenced)
        await services.store_.bind(HostId("mac-2"), using.id, fenced)

    run(furnish())
    fleet, hosts, idle = cli(services, capsys, "--json").json["bills"]
    assert (fleet["of"], hosts["of"]) == ("fleet", "hosts of")
    assert (idle["of"], idle["name"]) == ("idle hosts of", FLEET.account)
    assert (idle["count"], idle["unpriced"]) == (2, 1), "mac-1 and mac-6; mac-5 is off"
    assert idle["price"] == pytest.approx(0.4)
    assert idle["forecast_day"] == pytest.approx(24 * 0.2), "mac-6 is being retired"
    assert (idle["cost"], idle["paid_hours"], idle["used_hours"]) == (None, None, None)
    hours = 2 + 0 + 1 + 3
    assert idle["month"] == pytest.approx(0.2 * hours), "mac-1, 2, 4 and 6 without their machines"
    message = " ".join(cli(services, capsys).out.split())
    for words in ("idle hosts of main", "1 more idle host", "--observe", "is in both rows"):
        assert words in message


def test_idle_hosts_that_no_machine_ever_had_are_known_to_who_observes(capsys: Out) -> None:
    services = WithMacs()
    services.stock(2)
    services.stock(1, prefix="somebody-")
    (fleet,) = cli(services, capsys, "--json").json["bills"]
    assert fleet["of"] == "fleet"
    value = cli(services, capsys, "--observe", "--json").json
    idle = value["bills"][1]
    assert (value["observed"], idle["of"], idle["count"]) == (True, "idle hosts of", 2)
    assert idle["price"] == pytest.approx(2 * PRICES["M2-L"])
    assert idle["month"] == 0, "nobody recorded them"
    assert "--observe" not in " ".join(value["notes"])


def test_a_zone_whose_hosts_could_not_be_observed_is_named_to_programs_too(capsys: Out) -> None:
    silent = Zone("fr-par-3")
    services = WithMacs(zones=(Zone("fr-par-1"), silent))
    services.stock(1)
    services.world.script(Rule(fault="html_5xx", route="mac.list", zone=silent, count=100_000))
    value = cli(services, capsys, "--observe", "--json").json
    assert f"hosts in {silent}" in value["incomplete"]
    assert f"could not observe hosts in {silent}" in cli(services, capsys, "--observe").err


def test_servers_have_neither_hosts_nor_a_word_about_them(capsys: Out) -> None:
    services = InMemory()
    run(live(services.store_, a_life()))
    message = cli(services, capsys).out
    assert "idle" not in message
    assert "both rows" not in message


def test_a_policy_is_played_on_the_recorded_demand_beside_the_default(capsys: Out) -> None:
    services, trying = InMemory(), Scripted()
    run(live(services.store_, a_life()))
    result = cli(services, capsys, "--policy", "idle-24h", "--json", trying=trying)
    assert [entry["policy"] for entry in result.json["policies"]] == ["default", "idle-24h"]
    assert result.json["policies"][1]["above_optimum"] == pytest.approx(0.2)
    (_, demand, price), _ = trying.played
    assert price == 0.5
    assert [(NOW - at) / H for at in demand.times] == [6, 2]
    assert demand.wanted == (1, 0)


def test_generated_demand_needs_no_record(capsys: Out) -> None:
    trying = Scripted()
    argv = ("--policy", "default", "--demand", "generated", "--days", "7", "--seed", "4")
    result = cli(InMemory(), capsys, *argv, "--price", "0.3", trying=trying)
    assert result.code == 0
    assert "€36.00" in result.out
    ((name, demand, price),) = trying.played
    assert (name, price, demand.wanted) == ("default", 0.3, (4,))


def test_what_cannot_be_played_is_an_error_of_usage(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    unknown = cli(services, capsys, "--policy", "best", "--json")
    assert unknown.code == 2
    assert "idle-24h" in json.loads(unknown.out)["error"]["message"]
    assert cli(services, capsys, "--policy", "default").code == 2


@pytest.mark.parametrize("price", ["0", "-3"])
def test_a_price_is_more_than_nothing(capsys: Out, price: str) -> None:
    trying = Scripted()
    argv = ("--policy", "default", "--demand", "generated", "--price", price, "--json")
    result = cli(InMemory(), capsys, *argv, trying=trying)
    assert (result.code, trying.played) == (2, [])
    assert "--price" in json.loads(result.out)["error"]["message"]


class InVain(Scripted):
    """Plays demands that were over before any host was there: nobody need have paid anything."""

    def outcome(self, policy: str, demand: Demand, price: float) -> PolicyOutcome:
        return replace(super().outcome(policy, demand, price), optimal_hours=0.0)


def test_nothing_is_so_many_percent_above_nothing(capsys: Out) -> None:
    argv = ("--policy", "default", "--demand", "generated")
    output = cli(InMemory(), capsys, *argv, "--json", trying=InVain())
    assert [entry["above_optimum"] for entry in output.json["policies"]] == [None]
    assert "%" not in cli(InMemory(), capsys, *argv, trying=InVain()).out
