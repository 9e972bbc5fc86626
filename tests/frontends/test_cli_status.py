import json
from dataclasses import dataclass
from datetime import timedelta

import pytest
from cli_kit import FILE, FLEET, HOME, NOW, WEB, InMemory, StillClock, cli, fence, fill, made, run
from msgspec.structs import replace

from hostler.config.digests import digests
from hostler.config.values import Config
from hostler.domain.errors import ConfigError
from hostler.domain.ids import (
    AccountName,
    CycleId,
    FleetName,
    HostId,
    InstallationId,
    ResourceId,
    Zone,
    machine_id,
)
from hostler.domain.machines.drift import SEEN
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host, HostOwnership
from hostler.domain.model.machine import Deletion, Offer, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OrphanClass, OwnerTag, Resource, Slot
from hostler.domain.model.snapshot import Orphan
from hostler.domain.observation.blockers import UNOBSERVED
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Store
from hostler.queries.fleets import FleetStatus

Out = pytest.CaptureFixture[str]
FIRST = machine_id(1)
HOUR = timedelta(hours=1)


def orphan(name: str = "server-9", **more: object) -> Orphan:
    base = Orphan(
        resource=ResourceId(name),
        kind="server",
        zone=Zone("z-1"),
        fleet=WEB,
        cls=OrphanClass.UNRECORDED,
        first=NOW - timedelta(minutes=30),
        last=NOW - timedelta(minutes=1),
        created=NOW - timedelta(hours=2),
        owner="m-gone of home",
        price=0.5,
        blocked="report only: set `reclaim = true` for this fleet",
    )
    return replace(base, **more)


async def save_orphans(services: InMemory, *orphans: Orphan) -> None:
    await services.store_.save_orphans(orphans, (), await fence(services.store_))


# ------------------------------------------------------------------ status


def test_status_shows_phases_offers_addresses_cost_and_what_is_wrong(capsys: Out) -> None:
    services = InMemory(runs=True)
    ready = made(
        1, address="192.0.2.7", observed="running", price=1.2, billed_from=NOW - timedelta(hours=2)
    )
    broken = made(2, Phase.FAILED, reason="stopped")
    run(fill(services.store_, ready, broken))
    result = cli(services, capsys, "status", str(FILE))
    assert result.code == 0
    for message in (
        "1 of 2 ready",
        "1 failed",
        FIRST,
        "192.0.2.7",
        "running",
        "small in z-1",
        "€2.40",
    ):
        assert message in result.out
    assert "its server stopped after it had been switched on" in result.out
    assert "no engine" not in result.out


def test_status_as_json_has_every_machine(capsys: Out) -> None:
    services = InMemory()
    hold = Protection(until=NOW + timedelta(hours=1), why="look", actor="bob")
    run(fill(services.store_, made(1), made(2, Phase.STARTING, protection=hold)))
    (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    assert (fleet["name"], fleet["size"], fleet["ready"], fleet["engine"]) == ("web", 2, 1, False)
    assert fleet["phases"] == {"ready": 1, "starting": 1}
    assert [machine["protected"] for machine in fleet["machines"]] == [False, True]
    assert fleet["machines"][0]["id"] == FIRST


def test_status_says_what_differs_from_the_record_of_a_ready_machine(capsys: Out) -> None:
    services = InMemory()
    moved = "volume 0 is attached to server 7"
    run(fill(services.store_, made(1).with_fact(f"{SEEN}{moved}", NOW)))
    (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    assert [entry["next"] for entry in fleet["machines"]] == [f"differs from its record: {moved}"]


def test_status_says_that_a_machine_is_outdated_and_whether_that_replaces_it(capsys: Out) -> None:
    changed = replace(FLEET, template="new", size=3)
    replaces = replace(changed, replace_outdated=True)
    other = Offer(type="large", zone=Zone("z-1"))
    old, current = made(1, template="old"), made(2, template="new")
    retyped, going = made(3, template="new", offer=other), made(4, Phase.DRAINING, template="old")
    services = InMemory(fleets=(changed,))
    run(fill(services.store_, old, current, retyped, going))

    def asked() -> tuple[str, list[str]]:
        (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
        assert fleet["outdated"] == 2
        steps = [entry["next"].partition("; stops")[0] for entry in fleet["machines"]]
        return " ".join(cli(services, capsys, "status", str(FILE)).out.split()), steps

    screen, steps = asked()
    stays = "not replaced for that (replace_outdated = false)"
    assert steps[0] == f"outdated: made from another template; {stays}"
    assert steps[1] == ""
    assert steps[2] == f"outdated: its fleet no longer asks for large in z-1; {stays}"
    assert "outdated" not in steps[3]
    cure = "`hostler delete` them, or set replace_outdated = true"
    assert f"2 machines outdated, and not replaced for that: {cure}" in screen
    services.fleets = (replaces,)
    screen, steps = asked()
    assert steps[0] == "outdated: made from another template; to be replaced"
    assert cure not in screen
    services.fleets = (replace(replaces, protected=True),)
    assert asked()[1][0].endswith("; not replaced: the fleet is protected")
    past = FleetStatus(fleet=changed, row=None, machines=(old,), at=NOW, past=True)
    assert (past.outdated, past.next_step(old)) == ((), ""), "its template of that time is unknown"


def test_status_says_what_a_machine_that_failed_waits_for() -> None:
    """After a brown-out eleven machines were "deleted now" for minutes: the cap lets go of one."""
    row = FleetRow(name=WEB, created=NOW, destructions=(NOW - timedelta(seconds=20),))
    failed = made(1, Phase.FAILED)
    failed = replace(failed, health=replace(failed.health, was_ready=NOW))
    ended = replace(FLEET, timers=replace(FLEET.timers, keep_failed=timedelta()))
    seen = FleetStatus(fleet=ended, row=row, machines=(failed,), at=NOW)
    assert seen.next_step(failed) == "deleted when the cap has room, in 40 s"
    for fleet, at in (
        (replace(ended, protected=True), "not deleted: the fleet is protected: "),
        (replace(FLEET, timers=replace(FLEET.timers, keep_failed=2 * HOUR)), "deleted in 115 min"),
    ):
        assert replace(seen, fleet=fleet).next_step(failed).startswith(at)
    asked = replace(failed, deletion=Deletion(at=NOW, actor="ann", why=""))
    for machine in (asked, made(2, Phase.FAILED)):
        assert seen.next_step(machine) == "to be deleted"
    pause = Protection(until=NOW + timedelta(hours=1), why="to look", actor="ann")
    paused = replace(seen, row=replace(row, pause=pause))
    assert paused.next_step(failed) == "not deleted: the fleet is paused by ann: to look"
    silent = replace(seen, row=replace(row, pause=replace(pause, why="")))
    assert silent.next_step(failed) == "not deleted: the fleet is paused by ann"
    later = replace(seen, at=NOW + timedelta(seconds=41))
    assert later.next_step(failed) == "to be deleted"


def test_status_says_that_no_engine_runs(capsys: Out) -> None:
    assert "no engine is running" in cli(InMemory(), capsys, "status", str(FILE)).out


def test_status_shows_conditions_pauses_orphans_and_requests(capsys: Out) -> None:
    services = InMemory(runs=True)
    pause = Protection(until=NOW + timedelta(hours=1), why="a fair", actor="bob")
    row = FleetRow(name=WEB, created=NOW, pause=pause, condition="waiting for stock")
    run(fill(services.store_, row=row))
    run(save_orphans(services, orphan()))
    cli(services, capsys, "scale", str(FILE), "3", "--no-wait")
    message = cli(services, capsys, "status", str(FILE)).out
    for words in ("paused by bob", "1 orphan", "€0.5000 an hour", "1 request"):
        assert words in message


def test_status_at_a_time_shows_the_fleet_as_it_was(capsys: Out) -> None:
    services = InMemory()
    machine = made(1, Phase.STARTING)
    run(fill(services.store_, machine))

    async def move_on() -> None:
        (stored,) = await services.store_.machines(WEB)
        moved = replace(stored, phase=Phase.READY)
        event = Event(kind="moved", at=NOW, fleet=WEB, cycle=CycleId("t-2"), machine=machine.id)
        await services.store_.save_machine(moved, (event,), await fence(services.store_))

    run(move_on())
    now = cli(services, capsys, "status", str(FILE), "--json").json["fleets"][0]
    then = cli(services, capsys, "status", str(FILE), "--json", "--at", "10m").json["fleets"][0]
    before = cli(services, capsys, "status", str(FILE), "--json", "--at", "2h").json["fleets"][0]
    assert [m["phase"] for m in now["machines"]] == ["ready"]
    assert [m["phase"] for m in then["machines"]] == ["starting"]
    assert before["machines"] == []
    assert (now["size"], then["size"], then["engine"]) == (2, None, None), "nobody noted that"
    message = cli(services, capsys, "status", str(FILE), "--at", "10m").out
    assert message.startswith("web  0 ready, 1 starting")


def test_status_says_when_a_time_lies_before_what_is_remembered(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1, Phase.READY)))

    async def forget() -> None:
        (row,) = await services.store_.fleets()
        old = Event(kind="old", at=NOW - timedelta(days=3), fleet=WEB, cycle=CycleId("t-1"))
        held = await fence(services.store_)
        await services.store_.save_fleet(row, (), (old,), held)
        assert await services.store_.forget(NOW - timedelta(days=2), 10, held) == 1

    run(forget())
    for at, whole in (("1d", True), ("3d", False)):
        output = cli(services, capsys, "status", str(FILE), "--at", at)
        assert ("machines may be missing" in output.err) is not whole
        found = cli(services, capsys, "status", str(FILE), "--at", at, "--json").json
        assert found["complete"] is whole
    assert "missing" not in cli(services, capsys, "status", str(FILE)).err


def test_a_time_that_is_none_is_an_error_of_usage(capsys: Out) -> None:
    result = cli(InMemory(), capsys, "status", str(FILE), "--at", "yesterday")
    assert result.code == 2
    assert "is no time" in result.err
    assert "'' is no time" in cli(InMemory(), capsys, "status", str(FILE), "--at", "").err


def test_how_it_stands_at_a_time_to_come_is_not_made_up(capsys: Out) -> None:
    later = (NOW + timedelta(days=1000)).isoformat()
    result = cli(InMemory(), capsys, "status", str(FILE), "--at", later)
    assert result.code == 2
    assert "yet to come" in result.err


# ------------------------------------------------------------------ leaks


def test_orphans_are_listed_with_their_cost_and_exit_with_3(capsys: Out) -> None:
    services = InMemory(runs=True)
    run(save_orphans(services, orphan(), orphan("address-1", price=0.004)))
    result = cli(services, capsys, "orphans", str(FILE))
    assert result.code == 3
    for message in (
        "server-9",
        "unrecorded",
        "2 h",
        "m-gone of home",
        "€0.5000",
        "€1.00",
        "report only",
    ):
        assert message in result.out
    assert "2 orphans: €0.5040 an hour, €1.01 so far" in result.out
    assert "as reported by the running engine, which observes at least every 30 s" in result.out


def test_orphans_of_a_fleet_that_never_ran_are_nobodys_report(capsys: Out) -> None:
    result = cli(InMemory(exists=False), capsys, "orphans", str(FILE))
    assert result.code == 7
    assert "no engine has run yet: nothing was observed (--observe asks the provider" in result.out


def test_a_fleet_that_no_engine_has_on_record_was_never_observed(capsys: Out) -> None:
    """Whoever loses the store, or names another one, has machines that this report lacks."""
    result = cli(InMemory(exists=True, runs=True), capsys, "orphans", str(FILE))
    assert result.code == 7
    assert "no orphans are known" in result.out
    assert "web: no engine has it on record, so it was never observed" in result.out


def test_no_orphans_exit_with_0(capsys: Out) -> None:
    services = InMemory(exists=True)
    run(fill(services.store_))
    result = cli(services, capsys, "orphans", str(FILE))
    assert (result.code, result.out.splitlines()[0]) == (0, "no orphans")
    note = "as the last engine left it; no engine is running (--observe asks the provider now)"
    assert note in result.out


def test_a_report_of_an_engine_that_sees_nothing_any_more_says_so(capsys: Out) -> None:
    services = InMemory(runs=True)
    blind = f"{UNOBSERVED} z-1 from 11:00:00 UTC on"
    run(fill(services.store_, made(1)))
    (row,) = run(services.store_.fleets())
    blinded = replace(row, condition=blind)

    async def save() -> None:
        await services.store_.save_fleet(blinded, (), (), await fence(services.store_))

    run(save())
    result = cli(services, capsys, "orphans", str(FILE), "--json")
    assert f"; web: {blind}" in result.json["note"]
    assert result.code == 7, "no orphan is known, and there may be some"
    run(save_orphans(services, orphan()))
    assert cli(services, capsys, "orphans", str(FILE)).code == 3, "what is known comes first"


def test_orphans_as_json_sum_up(capsys: Out) -> None:
    services = InMemory()
    run(save_orphans(services, orphan()))
    result = cli(services, capsys, "orphans", str(FILE), "--json")
    assert result.code == 3
    assert (result.json["price"], result.json["cost"]) == (0.5, 1.0)
    (entry,) = result.json["orphans"]
    assert (entry["resource"], entry["class"], entry["age_seconds"]) == (
        "server-9",
        "unrecorded",
        7200,
    )


def stray(owner_tag: OwnerTag) -> Resource:
    return Resource(
        id=ResourceId("server-7"),
        slot=Slot("server"),
        zone=Zone("z-1"),
        owner_tag=owner_tag,
        condition=Condition.UP,
        created=NOW - timedelta(hours=1),
    )


def test_observing_orphans_finds_what_no_report_has(capsys: Out) -> None:
    services = InMemory()
    owner_tag = OwnerTag(
        installation=InstallationId("abroad"), fleet=WEB, machine=machine_id(7), attempt=1
    )
    services.cloud().world.add(stray(owner_tag))
    run(fill(services.store_))
    assert cli(services, capsys, "orphans", str(FILE)).code == 0
    result = cli(services, capsys, "orphans", str(FILE), "--observe", "--json")
    assert result.code == 3
    assert [entry["class"] for entry in result.json["orphans"]] == ["foreign"]


def test_observing_finds_what_a_twin_made_for_a_living_machine(capsys: Out) -> None:
    """The fleet makes nothing because of it, so the list that its condition names has it."""
    services = InMemory()
    run(fill(services.store_, made(1)))
    owner_tag = OwnerTag(installation=HOME, fleet=WEB, machine=FIRST, attempt=9)
    services.cloud().world.add(stray(owner_tag))
    result = cli(services, capsys, "orphans", str(FILE), "--observe", "--json")
    found = [(entry["resource"], entry["class"]) for entry in result.json["orphans"]]
    assert (result.code, found) == (3, [("server-7", "unissued")])


def test_zones_that_no_fleet_uses_any_more_are_searched_when_they_are_named(capsys: Out) -> None:
    """A fleet moved to another zone while its store was lost: nobody looks where it was before."""
    services = InMemory()
    owner_tag = OwnerTag(
        installation=InstallationId("abroad"), fleet=WEB, machine=machine_id(7), attempt=1
    )
    services.cloud().world.add(replace(stray(owner_tag), zone=Zone("z-9")))
    observed = ("orphans", str(FILE), "--observe")
    assert cli(services, capsys, *observed).code == 0
    result = cli(services, capsys, *observed, "--zone", "z-8", "--zone", "z-9", "--json")
    found = [(entry["resource"], entry["zone"]) for entry in result.json["orphans"]]
    assert (result.code, found) == (3, [("server-7", "z-9")])
    services.cloud().dead.add(Zone("z-9"))
    output = cli(services, capsys, *observed, "--zone", "z-9")
    assert output.code == 7
    assert "could not observe servers in z-9" in output.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--zone", "z-9"), "--zone goes with --observe"),
        (("--observe", "--zone", "../servers"), "'../servers' is no zone"),
        (("--observe", "--zone", ""), "'' is no zone"),
    ],
)
def test_a_zone_that_cannot_be_searched_is_refused(
    options: tuple[str, ...], why: str, capsys: Out
) -> None:
    output = cli(InMemory(), capsys, "orphans", str(FILE), *options)
    assert output.code == 2
    assert why in output.err


def test_orphans_that_could_not_be_observed_are_not_said_to_be_none(capsys: Out) -> None:
    services = InMemory()
    services.cloud().dead.add(Zone("z-1"))
    output = cli(services, capsys, "orphans", str(FILE), "--observe")
    assert (output.code, output.out) == (7, "")
    assert "could not be observed: z-1: the zone does not answer" in output.err


def test_orphans_names_what_could_not_be_observed(capsys: Out) -> None:
    beyond = replace(FLEET, offers=(*FLEET.offers, Offer(type="small", zone=Zone("z-2"))))
    services = InMemory(fleets=(beyond,))
    services.cloud().dead.add(Zone("z-2"))
    output = cli(services, capsys, "orphans", str(FILE), "--observe")
    assert output.code == 7
    assert "could not observe servers in z-2" in output.err
    found = cli(services, capsys, "orphans", str(FILE), "--observe", "--json").json
    assert "servers in z-2" in found["incomplete"]


# ------------------------------------------------------------------ story


def test_a_history_has_all_events_of_a_machine_in_order(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1), made(2)))
    output = cli(services, capsys, "history", str(FILE), FIRST).out
    assert (
        "recorded as pending: the fleet's size asks for one more machine (small in z-1)" in output
    )
    assert output.count("recorded as pending") == 1
    events = cli(services, capsys, "history", str(FILE), FIRST, "--json").json["events"]
    assert [event["machine"] for event in events] == [FIRST]


def test_a_fleets_history_shows_the_newest_events(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, *(made(number) for number in range(1, 41))))
    events = cli(services, capsys, "history", str(FILE), "--last", "7", "--json").json["events"]
    assert [event["machine"] for event in events] == [machine_id(n) for n in range(34, 41)]
    every = cli(services, capsys, "history", str(FILE), "--last", "900", "--json").json["events"]
    assert len(every) == 40


def test_a_history_of_a_host_has_its_events_under_each_machine(capsys: Out) -> None:
    services = InMemory()
    host = Host(
        id=HostId("h-1"),
        account=AccountName("main"),
        zone=Zone("fr-par-1"),
        ownership=HostOwnership(name="pool-7"),
    )
    free = Event(kind="host_moved", at=NOW, fleet=WEB, cycle=CycleId("t-2"), host=host.id)
    free = replace(free, detail="wiping>free: wiped, and put back")

    async def save() -> None:
        await services.store_.save_host(host, (free,), await fence(services.store_))

    run(save())
    for name in ("h-1", "pool-7"):
        result = cli(services, capsys, "history", str(FILE), name, "--json")
        (line,) = result.json["events"]
        assert (line["host"], line["machine"]) == ("h-1", None)
        assert line["text"] == "the host: wiping → free: wiped, and put back"
    assert "h-1" in cli(services, capsys, "history", str(FILE), "h-1").out


def test_a_history_of_nobody_is_an_error_of_usage(capsys: Out) -> None:
    result = cli(InMemory(), capsys, "history", str(FILE), "m-nobody")
    assert result.code == 2
    assert "there is no machine m-nobody" in result.err


def test_the_beginning_of_a_deleted_machines_id_is_enough_for_its_history(capsys: Out) -> None:
    services = InMemory()
    living, one, other = made(1), made(2), made(3)

    async def lay() -> None:
        await fill(services.store_, living, one, other)
        for machine in (one, other):
            stored = replace(machine, version=1, phase=Phase.DELETED)
            await services.store_.save_machine(stored, (), await fence(services.store_))

    run(lay())
    output = cli(services, capsys, "history", str(FILE), one.id[:6], "--json")
    assert [event["machine"] for event in output.json["events"]] == [one.id]
    assert cli(services, capsys, "history", str(FILE), "m-").code == 0, "the only living one"
    refused = cli(services, capsys, "explain", str(FILE), one.id[:6]).err
    assert f"{one.id} has been deleted" in refused


def test_a_machine_of_another_fleet_is_not_called_deleted(capsys: Out) -> None:
    services = InMemory(fleets=(FLEET, replace(FLEET, name=FleetName("other"))))
    run(fill(services.store_, made(1)))
    refused = cli(services, capsys, "explain", str(FILE), FIRST, "--fleet", "other")
    assert (refused.code, f"{FIRST} is a machine of fleet web" in refused.err) == (2, True)


class Unreadable(InMemory):
    """Services whose store has a fleet of which nobody can say any more what it is."""

    async def with_removed(self, config: Config, store: Store) -> Config:
        del store
        return replace(config, unreadable={FleetName("old"): "its provider left the file"})


@pytest.mark.parametrize("observe", [(), ("--observe",)])
def test_orphans_of_a_fleet_that_cannot_be_read_any_more_are_still_told(
    capsys: Out, observe: tuple[str, ...]
) -> None:
    """They are on the bill, and nobody looks after them: nobody may be told that all is well."""
    services = Unreadable()
    run(fill(services.store_))
    run(save_orphans(services, orphan(fleet=FleetName("old"))))
    result = cli(services, capsys, "orphans", str(FILE), *observe, "--json")
    assert [entry["fleet"] for entry in result.json["orphans"]] == ["old"]
    assert result.code == 3
    one = cli(services, capsys, "orphans", str(FILE), *observe, "--fleet", "web")
    assert (one.code, "server-9" in one.out) == (0, False)


# ------------------------------------------------------------------ top


def test_top_prints_one_update_where_nobody_watches(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1)))
    message = cli(services, capsys, "top", str(FILE)).out
    assert message.count("1 of 2 ready") == 1
    assert "latest events" in message


def test_top_as_json_prints_a_line_for_each_update(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1)))
    message = cli(services, capsys, "top", str(FILE), "--json", "--count", "3").out
    assert len(message.splitlines()) == 3


@dataclass(slots=True, kw_only=True)
class Busy(StillClock):
    """Lets the file be the next of these whenever somebody waits; None for a wrong one."""

    services: InMemory
    files: list[tuple[Fleet, ...] | None]

    async def sleep(self, time: timedelta) -> None:
        self.at += time
        now = self.files.pop(0)
        self.services.wrong = ConfigError("half written") if now is None else None
        self.services.fleets = now or self.services.fleets


def test_top_follows_a_file_that_is_changed_while_it_runs(capsys: Out) -> None:
    """The engine reads it again by a reload: what is said is by the file, and nothing differs."""
    services = InMemory(runs=True)
    three = (replace(FLEET, size=3),)
    services.clock_ = Busy(services=services, files=[None, three, three])
    run(fill(services.store_, made(1)))
    changed = digests(replace(services.load(FILE), fleets=three))
    record = EngineRecord(file=str(FILE.resolve()), since=NOW, tables=changed)
    run(services.store_.save_engine_record(record))
    printed = cli(services, capsys, "top", str(FILE), "--json", "--count", "4").out
    updates = [json.loads(line) for line in printed.splitlines()]
    assert [update["fleets"][0]["size"] for update in updates] == [2, 2, 3, 3]
    assert [update["standing"]["differs"] for update in updates] == [
        ["fleet.web"],
        ["fleet.web"],
        [],
        [],
    ]


@dataclass(slots=True, kw_only=True)
class Reloading(StillClock):
    """Lets the engine run what objects say by now whenever somebody waits; the file is the same."""

    services: InMemory
    sizes: list[int]

    async def sleep(self, time: timedelta) -> None:
        self.at += time
        self.services.beside = (replace(FLEET, size=self.sizes.pop(0)),)
        record = EngineRecord(file=str(FILE), since=self.at, objects=("fleet.web",))
        await self.services.store_.save_engine_record(record)


def test_top_follows_the_objects_that_its_engine_runs(capsys: Out) -> None:
    services = InMemory(runs=True, fleets=(), beside=(FLEET,))
    services.clock_ = Reloading(services=services, sizes=[3, 4])
    run(fill(services.store_, made(1)))
    printed = cli(services, capsys, "top", str(FILE), "--json", "--count", "3").out
    updates = [json.loads(line) for line in printed.splitlines()]
    assert [update["fleets"][0]["size"] for update in updates] == [2, 3, 4]


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("scale", "5"), "kubectl scale fleets.hostler.dev web --replicas=5"),
        (("delete", "web"), "then kubectl delete fleets.hostler.dev web"),
    ],
)
def test_what_an_object_says_of_its_fleet_is_asked_of_nobody_else(
    words: tuple[str, str], cure: str, capsys: Out
) -> None:
    """A request for a size would hide that of the object for good."""
    services = InMemory(runs=True, fleets=(), beside=(FLEET,))
    run(fill(services.store_, made(1)))
    refused = cli(services, capsys, words[0], str(FILE), words[1])
    assert (refused.code, cure in refused.err) == (2, True)
    assert run(services.store_.requests()) == ()


def test_a_namespace_without_any_fleet_is_told(capsys: Out) -> None:
    refused = cli(InMemory(fleets=(), beside=()), capsys, "status", "kubernetes:web")
    assert refused.code == 2
    assert "kubernetes:web: no Fleet is in force there, and none is on record" in refused.err


# ------------------------------------------------------------------ several fleets


def test_status_shows_all_fleets_and_one_by_name(capsys: Out) -> None:
    other = replace(FLEET, name="build")
    services = InMemory(fleets=(FLEET, other))
    everything = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    assert [fleet["name"] for fleet in everything] == ["web", "build"]
    one = cli(services, capsys, "status", str(FILE), "--fleet", "build", "--json").json["fleets"]
    assert [fleet["name"] for fleet in one] == ["build"]
    wrong = cli(services, capsys, "status", str(FILE), "--fleet", "builds")
    assert (wrong.code, "did you mean build" in wrong.err) == (2, True)
