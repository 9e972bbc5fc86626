"""What the other commands show of hosts: explain, plan, status, orphans and check."""

import re
from datetime import timedelta

import pytest
from cli_kit import FILE, NOW, InMemory, cli, fence, fill, made, run
from cli_macs_kit import ELSEWHERE, FIRST, FLEET, MACS, POOL, ZONE, WithMacs, keep
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import HostId, ResourceId
from hostler.domain.machines.rollout import condition
from hostler.domain.model.fleet import FleetRow, Probe, ProbeKind
from hostler.domain.model.host import (
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
    allocation_of,
)
from hostler.domain.model.machine import Known, Machine, Offer, Place
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import OrphanClass, Slot, Stage
from hostler.domain.model.snapshot import Orphan
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.revisions import Lapse, Revision
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import HOME
from hostler.testing.scenes.fields import with_fields

Out = pytest.CaptureFixture[str]


def on_host(services: WithMacs, host: str) -> Machine:
    """Let the first machine be ready on a host, in the records and in the world."""
    services.claimed(host)
    resource = allocation_of(HostId(host), FIRST)
    known = Known(id=resource, zone=ZONE, since=NOW - timedelta(hours=1))
    machine = made(
        1,
        fleet=MACS,
        host=HostId(host),
        offer=FLEET.offers[0],
        was_ready=NOW - timedelta(minutes=5),
        places=(Place(slot=Slot("server"), bound=resource, known=(known,)),),
    )
    run(fill(services.store_, machine))
    keep(
        services,
        host,
        FIRST,
        condition=HostCondition.ALLOCATED,
        machine=FIRST,
        fleet=MACS,
        strikes=1,
    )
    return machine


def test_explaining_a_machine_tells_of_its_host(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    on_host(services, host)
    displayed = cli(services, capsys, "explain", str(FILE), FIRST)
    assert displayed.code == 0
    assert f"{host} (M2-L in fr-par-1)" in displayed.out
    assert ("1 strike" in displayed.out, "1 strikes" in displayed.out) == (True, False)
    assert "1 d left" in displayed.out or "24 h left" in displayed.out
    output = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert (output["host"]["id"], output["host"]["state"]) == (host, "allocated")


@pytest.mark.parametrize(
    ("name", "whose", "what"),
    [
        ("pool-7", "nobody: it is free, in the pool pool-", "claims it and wipes it first"),
        ("desk-7", "nobody of ours", "it is left alone until it is added to the pool"),
        ("apple-silicon-x", "nobody of ours", "it is left alone until it is added to the pool"),
        ("hostler.odd", "an installation that", "another installation has it"),
    ],
)
def test_explaining_a_host_says_whose_it_is_and_what_is_next(
    capsys: Out, name: str, whose: str, what: str
) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    services.world.console.rename(host, name)
    for asked in (host, name):
        output = cli(services, capsys, "explain", str(FILE), asked, "--json").json
        assert whose.removeprefix("an installation that") in output["owner"]
        assert what in output["next"]["detail"]
        assert output["calls"] == []
    assert what in cli(services, capsys, "explain", str(FILE), host).out


def test_explaining_a_free_host_says_for_whom_it_is_and_why_not(capsys: Out) -> None:
    ci = replace(FLEET, name="ci", offers=(Offer("M4-S", ZONE, "Tahoe"),))
    services = WithMacs(fleets=(FLEET, ci))
    (host,) = services.stock(1)
    keep(services, host, condition=HostCondition.FREE, wiped=NOW, name="pool-1", pool=POOL)
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    assert output["fits"] == {"web": "", "ci": "it is a M2-L in fr-par-1"}
    assert "as it is: it is proved clean" in output["next"]["detail"]
    assert "returns to the pool" in output["on_release"]


@pytest.mark.parametrize("commands", [("false",), ("true",)])
def test_a_fleet_of_none_whose_list_is_at_fault_takes_no_host_and_says_so(
    capsys: Out, commands: tuple[str, ...]
) -> None:
    """It has no machine that says it; another list is no more at fault."""
    probe = Probe(kind=ProbeKind.SSH, commands=commands)
    services = WithMacs(fleets=(replace(FLEET, size=0, probe=probe),))
    (host,) = services.stock(1)
    failed = Lapse(host=HostId("host-9"), at=NOW, number=1, of=1, ended="exit 1")
    known = Revision(digest=digest_of(("false",)), since=NOW, failed=(failed,), broken=NOW)
    row = FleetRow(name=MACS, created=NOW, size=0, revision=known)
    run(fill(services.store_, row=replace(row, condition=condition(known))))
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    if commands == ("true",):
        assert output["fits"] == {"web": ""}
        assert "claims it and wipes it first" in output["next"]["detail"]
        return
    assert output["fits"]["web"].startswith("bootstrap_failed: ")
    assert "correct `commands`" in output["fits"]["web"], "the cure"
    assert "the reason is given for each fleet" in output["next"]["detail"]
    displayed = cli(services, capsys, "status", str(FILE)).out
    assert "0 of 0 ready" in displayed
    assert "correct `commands`" in " ".join(displayed.split())


@pytest.mark.parametrize(
    ("status", "delivered", "state", "what"),
    [
        (MacStatus.STARTING, False, "coming", "its delivery; without one it is given up"),
        (
            MacStatus.ERROR,
            False,
            "coming unfit",
            "its delivery, though it is in error; without one it is given up",
        ),
        (
            MacStatus.LOCKED,
            True,
            "coming unfit",
            "it to be up: it is delivered, though its provider locked it",
        ),
    ],
)
def test_an_ordered_host_says_for_what_it_waits_and_what_is_wrong_with_it(
    capsys: Out, status: MacStatus, *, delivered: bool, state: str, what: str
) -> None:
    """No machine may claim it yet, whether or not it would fit."""
    services = WithMacs()
    (host,) = services.stock(1)
    services.claimed(host, stage=Stage.ORDERED)
    mac = services.world.console.mac(host)
    mac.status, mac.delivered = status, delivered
    keep(
        services,
        host,
        condition=HostCondition.COMING,
        reason="it was ordered",
        origin=HostOrigin.ORDERED,
        order=FIRST,
        buyer=MACS,
        fleet=MACS,
    )
    at = None if delivered else "2026-03-01T15:00:00Z"
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    assert output["host"]["state"] == state
    assert output["next"] == {"kind": "wait", "detail": what, "at": at}
    displayed = cli(services, capsys, "explain", str(FILE), host).out
    assert re.search(rf"{state} since \d\d:\d\d:00: it was ordered", displayed)
    (listed,) = cli(services, capsys, "pool", str(FILE), "list", "--online", "--json").json["hosts"]
    assert listed["state"] == state
    (made,) = cli(services, capsys, "plan", str(FILE), "--json").json["fleets"]
    assert f"(hosts: 1 {state})" in made["condition"]


def test_a_host_that_no_record_explains_leads_to_the_orphan_report(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    services.claimed(host)
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    assert output["owner"] == f"ours by its name, which mentions {FIRST}"
    assert "it is an orphan" in output["next"]["detail"]


def test_a_name_of_nothing_is_answered_with_similar_names(capsys: Out) -> None:
    services = WithMacs()
    services.stock(1)
    result = cli(services, capsys, "explain", str(FILE), "pool-")
    assert (result.code, "there is pool-1" in result.err) == (2, True)
    result = cli(services, capsys, "explain", str(FILE), "m-nothing")
    assert (result.code, "there is no machine m-nothing" in result.err) == (2, True)
    result = cli(InMemory(), capsys, "explain", str(FILE), "nothing")
    assert (result.code, "there is no machine nothing" in result.err) == (2, True)


@pytest.mark.parametrize(("name", "recorded"), [("m-1", False), ("m-mini", True)])
def test_a_host_is_explained_whose_name_begins_as_machines_do(
    capsys: Out, name: str, *, recorded: bool
) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    services.world.console.rename(host, name)
    if recorded:
        keep(services, host, condition=HostCondition.DIRTY, name=name)
    output = cli(services, capsys, "explain", str(FILE), name, "--json").json
    assert (output["host"]["id"], output["host"]["name"]) == (host, name)


def dirty(services: WithMacs) -> str:
    """Return a host that is to be wiped: the next calls are its mark and the wipe."""
    (host,) = services.stock(1)
    name = services.claimed(host, stage=Stage.RELEASING)
    run(fill(services.store_))
    keep(
        services,
        host,
        condition=HostCondition.DIRTY,
        goal=HostGoal.CLEAN,
        name=name,
        pool=POOL,
        machine=FIRST,
        fleet=MACS,
    )
    return host


def test_a_plan_lists_the_calls_on_hosts_and_makes_none(capsys: Out) -> None:
    services = WithMacs()
    host = dirty(services)
    (output,) = cli(services, capsys, "plan", str(FILE), "--json").json["hosts"]
    assert (output["host"], output["goal"]) == (host, "clean")
    assert [call["kind"] for call in output["calls"]] == ["mac.rename.wiping", "mac.reinstall"]
    assert output["waiting_for"] == "its answer"
    displayed = cli(services, capsys, "plan", str(FILE))
    assert "hosts  2 calls now" in displayed.out
    assert "- mac.rename.wiping" in displayed.out
    assert services.world.console.mac(host).installs == 1


def test_a_host_that_is_wiped_is_not_told_as_one_that_is_gone(capsys: Out) -> None:
    """Of the machine that had it nothing is left; the host is there."""
    services = WithMacs()
    host = dirty(services)
    (record,) = run(services.store_.hosts())
    over = replace(record, condition=HostCondition.WIPING, reason=str(Reason.ALL_ABSENT))

    async def save() -> None:
        await services.store_.save_host(over, (), await fence(services.store_))

    run(save())
    why = "its machine: complete observations show nothing of it any longer"
    displayed = cli(services, capsys, "explain", str(FILE), host).out
    assert re.search(rf"wiping since \d\d:\d\d:00: {why}", displayed)
    assert f"{host}  clean: {why}" in cli(services, capsys, "plan", str(FILE)).out


def test_explaining_a_host_on_its_way_names_its_next_call(capsys: Out) -> None:
    services = WithMacs()
    host = dirty(services)
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    step = output["next"]
    assert (step["kind"], step["at"]) == ("call", None)
    assert step["detail"].startswith("mac.rename.wiping")
    displayed = cli(services, capsys, "explain", str(FILE), host).out
    assert "call: mac.rename.wiping" in displayed
    assert "calls now" in displayed


@pytest.mark.parametrize(
    ("more", "message", "at"),
    [
        (
            {"retry_since": NOW, "retry_at": NOW + timedelta(minutes=3), "error": "locked"},
            "another try: locked",
            "2026-03-01T12:03:00Z",
        ),
        (
            {"unknown_since": NOW + timedelta(minutes=1)},
            "an observation: the outcome of the last call is unknown",
            None,
        ),
    ],
)
def test_a_host_that_must_wait_says_for_what_and_until_when(
    capsys: Out, more: dict[str, object], message: str, at: str | None
) -> None:
    services = WithMacs()
    host = dirty(services)
    (record,) = run(services.store_.hosts())

    async def save() -> None:
        held = await fence(services.store_)
        await services.store_.save_host(with_fields(record, **more), (), held)

    run(save())
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    assert output["next"] == {"kind": "wait", "detail": message, "at": at}
    assert (output["calls"], output["waiting_until"]) == ([], at)
    due = ", in 3 min" if at else ""
    assert f"wait: {message}{due}" in cli(services, capsys, "explain", str(FILE), host).out
    assert f"… {message}{due}" in cli(services, capsys, "plan", str(FILE)).out


def test_a_host_that_is_given_up_waits_for_its_date(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    name = services.claimed(host, stage=Stage.RETIRING)
    services.world.console.mac(host).deletion_scheduled = True
    keep(
        services,
        host,
        condition=HostCondition.RETIRING,
        goal=HostGoal.RETIRED,
        policy=ReleasePolicy.TERMINATE,
        name=name,
    )
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    assert output["next"] == {
        "kind": "wait",
        "detail": "its deletion",
        "at": "2026-03-02T12:00:00Z",
    }
    assert "that was requested" in output["on_release"]


def test_status_names_the_hosts_of_machines(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    on_host(services, host)
    assert host[:8] in cli(services, capsys, "status", str(FILE)).out
    (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    displayed = fleet["machines"][0]["host"]
    assert (displayed["id"], displayed["condition"], displayed["strikes"]) == (host, "allocated", 1)
    assert "  host  " in cli(services, capsys, "status", str(FILE)).out


def test_status_of_created_machines_has_no_column_for_hosts(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1)))
    assert " host " not in cli(services, capsys, "status", str(FILE)).out


def test_a_fleet_that_finds_no_host_says_how_many_there_are(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    services.world.console.rename(host, "desk-1")
    run(fill(services.store_))
    (fleet,) = cli(services, capsys, "plan", str(FILE), "--json").json["fleets"]
    assert fleet["condition"].startswith("no_available_host: no host fits M2-L in fr-par-1")
    assert "1 outside the pool" in fleet["condition"]


def orphan(cls: OrphanClass) -> Orphan:
    return Orphan(
        resource=ResourceId("host-1"),
        kind="host",
        zone=ZONE,
        fleet=MACS,
        cls=cls,
        first=NOW,
        last=NOW,
    )


@pytest.mark.parametrize("cls", OrphanClass)
def test_what_goes_by_itself_is_listed_and_needs_no_attention(
    capsys: Out, cls: OrphanClass
) -> None:
    services = WithMacs()

    async def keep_book() -> None:
        await services.store_.add_fleet(FleetRow(name=MACS, created=NOW))
        await services.store_.save_orphans((orphan(cls),), (), await fence(services.store_))

    run(keep_book())
    result = cli(services, capsys, "orphans", str(FILE))
    output = cls in {OrphanClass.PENDING_FRESH, OrphanClass.SCHEDULED}
    assert result.code == (0 if output else 3)
    assert str(cls) in result.out


def test_observing_orphans_shows_unrecorded_hosts_with_their_price(capsys: Out) -> None:
    services = WithMacs(store_=MemoryStore(HOME, issued=(FIRST,)))
    orphan, foreign = services.stock(2)
    services.claimed(orphan)
    services.claimed(foreign, home=ELSEWHERE)
    result = cli(services, capsys, "orphans", str(FILE), "--observe", "--json")
    found = {entry["resource"]: entry for entry in result.json["orphans"]}
    assert result.code == 3
    assert found[orphan]["class"] == "unrecorded"
    assert (found[orphan]["price"], found[orphan]["owner"]) == (0.21, f"{FIRST} of home")
    assert found[orphan]["blocked"]


def test_a_warning_of_the_file_is_shown_and_fails_nothing(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = WithMacs()
    config = replace(services.load(FILE), warnings=("fleet.web.pool_prefix: there is none",))

    def load(_: InMemory, path: object, *, partial: bool = False) -> Config:
        del path, partial
        return config

    monkeypatch.setattr(InMemory, "load", load)
    result = cli(services, capsys, "check", str(FILE), "--json")
    assert (result.code, result.json["ok"]) == (0, True)
    (warned,) = [check for check in result.json["checks"] if check["warning"]]
    assert (warned["about"], warned["text"]) == ("fleet.web.pool_prefix", "there is none")
    assert "!" in cli(services, capsys, "check", str(FILE)).out


def test_an_online_check_tells_of_types_images_and_the_pool(capsys: Out) -> None:
    services = WithMacs()
    services.stock(2)
    result = cli(services, capsys, "check", str(FILE), "--online", "--json").json
    texts = {check["about"]: check["text"] for check in result["checks"]}
    assert result["ok"]
    assert texts["pool pool- of fleet web"] == "2 hosts, 2 of them free and fitting"
    assert texts["images of Tahoe for M2-L in fr-par-1"].startswith("the newest is macos-tahoe-26")


def test_a_host_is_explained_under_the_phase_of_nobody(capsys: Out) -> None:
    """A machine that waits for a host has none to tell of."""
    services = WithMacs()
    run(fill(services.store_, made(1, Phase.PENDING, offer=FLEET.offers[0])))
    output = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert output["host"] is None


def test_a_plan_for_a_new_machine_tags_a_host_that_is_not_chosen_yet(capsys: Out) -> None:
    """Which host it is follows from the machine's id; whether it is wiped first is known."""
    services = WithMacs(fleets=(replace(FLEET, size=3),))
    clean, _ = services.stock(2)
    run(fill(services.store_))
    name = services.world.console.mac(clean).name
    keep(services, clean, condition=HostCondition.FREE, wiped=NOW, name=name, pool=POOL)
    (fleet,) = cli(services, capsys, "plan", str(FILE), "--json").json["fleets"]
    assert fleet["condition"].startswith("no_available_host")
    calls = [call for planned in fleet["machines"] for call in planned["calls"]]
    assert [call["kind"] for call in calls] == ["mac.rename.pending"] * 2
    assert [call["args"]["host"] for call in calls] == ["<host 1>", "<host 2>"]
    assert [call["args"]["wipes"] for call in calls] == [False, True]
    assert "+ mac.rename.pending" in cli(services, capsys, "plan", str(FILE)).out


def test_explaining_a_machine_says_what_its_host_shows_now(capsys: Out) -> None:
    """What the record says was seen at its last save."""
    services = WithMacs()
    (host,) = services.stock(1)
    machine = on_host(services, host)
    services.world.console.do("reinstall", host)
    assert machine.observed != "reinstalling"
    output = cli(services, capsys, "explain", str(FILE), FIRST).out
    assert [line.split()[-1] for line in output.splitlines() if line.startswith("observed")] == [
        "reinstalling"
    ]


def test_explaining_a_machine_whose_host_somebody_renamed_says_so(capsys: Out) -> None:
    services = WithMacs()
    (host,) = services.stock(1)
    machine = on_host(services, host)
    calm = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert calm["alarm"] == ""

    async def alarm() -> None:
        stored = await services.store_.machine(machine.id)
        assert stored is not None
        held = await fence(services.store_)
        await services.store_.save_machine(stored.with_fact(CLAIMED_TWICE, NOW), (), held)

    run(alarm())
    services.world.console.rename(host, "bobs-mac")
    output = cli(services, capsys, "explain", str(FILE), FIRST).out
    assert "alarm" in output
    assert "somebody else may have claimed its host too, since" in output
    assert "somebody gave it this name" in output
    of_host = cli(services, capsys, "explain", str(FILE), "bobs-mac", "--json").json
    assert of_host["on_release"] == "it is left as it is for as long as it has this name"


def test_explaining_a_host_that_is_nobodys_promises_no_wipe(capsys: Out) -> None:
    """It was ours once: its record knows a pool, and what became of it is not for us to say."""
    services = WithMacs()
    (host,) = services.stock(1, "desk-")
    run(fill(services.store_))
    keep(services, host, condition=HostCondition.DIRTY, pool=POOL)
    output = cli(services, capsys, "explain", str(FILE), host, "--json").json
    assert output["on_release"] == ""
    assert output["fits"] == {"web": "its name is of no pool"}


@pytest.mark.parametrize("command", ["delete", "protect"])
def test_a_host_named_where_a_machine_is_asked_for_is_recognised(capsys: Out, command: str) -> None:
    services = WithMacs()
    mine, free = services.stock(2)
    on_host(services, mine)
    keep(services, free, condition=HostCondition.FREE, name="pool-7")
    assert f"name its machine, {FIRST}" in cli(services, capsys, command, str(FILE), mine).err
    for name in (free, "pool-7"):
        output = cli(services, capsys, command, str(FILE), name)
        assert (output.code, "a host that no machine has" in output.err) == (2, True)
    assert "there is no machine pool-8" in cli(services, capsys, command, str(FILE), "pool-8").err
