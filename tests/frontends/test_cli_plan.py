from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from cli_kit import FILE, FLEET, HOME, OFFER, WEB, InMemory, cli, fill, made, run
from msgspec.structs import replace

from hostler.domain.ids import FleetName, ResourceId, Zone, machine_id
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Deletion, Doubt, Known, Offer, Place, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OwnerTag, Resource, Slot
from hostler.testing.fakes.provider import FakeProvider

Out = pytest.CaptureFixture[str]
FIRST = machine_id(1)


def with_server(
    services: InMemory, condition: Condition, row: FleetRow | None = None, **more: Any
) -> None:
    """Let the first machine have a server and its address, in the record and in the world."""
    places = list[Place]()
    for kind in ("server", "address"):
        resource = Resource(
            id=ResourceId(f"{kind}-1"),
            slot=Slot(kind),
            zone=OFFER.zone,
            owner_tag=OwnerTag(installation=HOME, fleet=WEB, machine=FIRST, attempt=1),
            condition=condition,
            status=str(condition),
            created=services.clock_.at,
        )
        services.cloud().world.add(resource)
        known = Known(id=resource.id, zone=resource.zone, since=made(1).created, attempt=1)
        places.append(Place(slot=resource.slot, attempt=1, bound=resource.id, known=(known,)))
    machine = made(1, places=tuple(places), was_ready=made(1).since, **more)
    run(fill(services.store_, machine, row=row))


def test_a_plan_lists_the_calls_and_changes_nothing(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    result = cli(services, capsys, "plan", str(FILE))
    assert result.code == 0
    assert "a new machine  small in z-1" in result.out
    assert "<machine 1>" in result.out
    assert services.cloud().world.resources == {}
    assert run(services.store_.machines(WEB)) == ()


def test_a_plan_as_json_has_every_call(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    (fleet,) = cli(services, capsys, "plan", str(FILE), "--json").json["fleets"]
    assert len(fleet["machines"]) == 2
    kinds = [call["kind"] for call in fleet["machines"][0]["calls"]]
    assert fleet["calls"] == 2 * len(kinds) > 0
    assert {call["effect"] for call in fleet["machines"][0]["calls"]} <= {"make", "change"}


def test_a_plan_without_any_observation_is_an_error_of_the_provider(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    services.cloud().dead.add(Zone("z-1"))
    result = cli(services, capsys, "plan", str(FILE))
    assert result.code == 7
    assert "the zone does not answer" in result.err


def test_explain_says_why_and_what_next_and_which_moves_are_open(capsys: Out) -> None:
    services = InMemory()
    with_server(services, Condition.UP)
    message = cli(services, capsys, "explain", str(FILE), FIRST).out
    for words in ("ready", "small in z-1", "current", "not allowed from ready", "allowed"):
        assert words in message
    value = cli(services, capsys, "explain", str(FILE), FIRST[:4], "--json").json
    assert (value["machine"], value["phase"]) == (FIRST, "ready")
    assert value["moves"]["starting"] == "not allowed from ready"
    assert set(value["next"]) == {"kind", "detail", "at"}


def test_explain_of_a_machine_that_is_about_to_move_says_why_it_stands_where_it_stands(
    capsys: Out,
) -> None:
    """One that was ready yet was so because it had failed, in the moment its loss was believed."""
    services = InMemory()
    doubt = Doubt(what="stopped", since=services.clock_.at - timedelta(minutes=10))
    lost = replace(made(1).health, doubt=doubt, was_ready=made(1).since)
    with_server(services, Condition.OFF, reason="probe_passed", health=lost)
    value = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert (value["phase"], value["reason"]) == ("ready", "probe_passed")
    assert value["next"]["kind"] == "move"
    first, _, second = value["next"]["detail"].partition("; then ")
    assert (first[:7], second[:9]) == ("failed:", "stopping:")
    screen = " ".join(cli(services, capsys, "explain", str(FILE), FIRST).out.split())
    assert "because it is up and the readiness probe passed" in screen
    assert f"next move: {first}; then {second}" in screen


def test_explain_says_that_a_machine_is_outdated_and_what_would_replace_it(capsys: Out) -> None:
    services = InMemory()
    with_server(services, Condition.UP)
    assert cli(services, capsys, "explain", str(FILE), FIRST, "--json").json["outdated"] == ""
    services.fleets = (replace(FLEET, template="new"),)
    found = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json["outdated"]
    assert found.startswith("outdated: made from another template; not replaced for that")
    screen = " ".join(cli(services, capsys, "explain", str(FILE), FIRST).out.split())
    assert "made from another template" in screen
    assert "replace_outdated = false" in screen
    assert f"`hostler delete FILE {FIRST}`" in screen


def test_explain_says_that_a_protected_machine_is_left_alone(capsys: Out) -> None:
    services = InMemory()
    hold = Protection(until=services.clock_.at + timedelta(hours=1), why="a look", actor="bob")
    run(fill(services.store_, made(1, protection=hold)))
    message = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert (
        message["moves"]["stopping"]
        == "allowed; not now: protected until 2026-03-01 13:00 UTC by bob: a look"
    )
    assert "bob" in cli(services, capsys, "explain", str(FILE), FIRST).out


def test_explain_says_who_requested_a_deletion_that_a_protection_delays(capsys: Out) -> None:
    services = InMemory()
    now = services.clock_.at
    hold = Protection(until=now + timedelta(hours=1), why="a look", actor="bob")
    deletion = Deletion(at=now - timedelta(minutes=2), actor="anna", why="enough")
    run(fill(services.store_, made(1, protection=hold, deletion=deletion)))
    message = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert message["deletion"].startswith("requested by anna at ")
    assert message["deletion"].endswith(":00: enough")
    assert "requested by anna" in cli(services, capsys, "explain", str(FILE), FIRST).out
    (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    assert fleet["machines"][0]["next"].endswith("; deleted then")


@pytest.mark.parametrize(
    ("protected", "paused", "after"),
    [(1, None, "its protection"), (None, 1, "its fleet's pause"), (1, 2, "its fleet's pause")],
)
@pytest.mark.parametrize("phase", [Phase.READY, Phase.FAILED])
def test_what_delays_a_deletion_is_waited_for_and_not_for_nothing(
    capsys: Out, phase: Phase, protected: int | None, paused: int | None, after: str
) -> None:
    """Nothing was named as next, and the machine was deleted when its protection ended."""
    services = InMemory()
    now = services.clock_.at

    def hold(hours: int | None) -> Protection | None:
        until = now + timedelta(hours=hours or 0)
        return Protection(until=until, why="a look", actor="bob") if hours else None

    deletion = Deletion(at=now, actor="anna", why="enough")
    row = FleetRow(name=WEB, created=now - timedelta(hours=2), pause=hold(paused))
    more = {"phase": phase, "protection": hold(protected), "deletion": deletion}
    seen = Condition.UP if phase is Phase.READY else Condition.OFF
    with_server(services, seen, row, **more)
    explained = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    found = explained["next"]
    until = now + timedelta(hours=max(protected or 0, paused or 0))
    assert (found["kind"], found["detail"]) == ("wait", f"the end of {after}; it is deleted then")
    assert datetime.fromisoformat(found["at"]) == until
    (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    assert "deleted" in fleet["machines"][0]["next"]


def test_a_try_that_comes_after_the_end_of_its_start_is_not_what_comes_next(capsys: Out) -> None:
    services = InMemory()
    now = services.clock_.at
    begun = now + timedelta(minutes=1) - FLEET.timers.start
    retry_at = now + timedelta(minutes=4)
    late = made(1, Phase.STARTING, since=begun, retry_since=now, retry_at=retry_at)
    run(fill(services.store_, late))
    explained = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    assert explained["next"]["kind"] == "move"
    assert explained["next"]["at"] == explained["deadline"]


def test_explain_of_nobody_is_an_error_of_usage(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_, made(1, Phase.PENDING)))
    assert cli(services, capsys, "explain", str(FILE), "m-zzz").code == 2


def test_check_says_what_the_file_asks_for_and_online_asks_the_provider(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    assert ": OK" in cli(services, capsys, "check", str(FILE)).out
    assert services.provider is None
    message = cli(services, capsys, "check", str(FILE), "--online", "--json").json
    assert message["ok"]
    assert [entry["about"] for entry in message["checks"]] == ["fleet web", "provider main"]
    assert message["checks"][1]["text"] == "answers; 0 resources with our tag"
    services.cloud().dead.add(Zone("z-1"))
    assert cli(services, capsys, "check", str(FILE), "--online").code == 7


@dataclass(frozen=True)
class Found:
    well: bool
    about: str
    text: str
    lasting: bool = False


class Choosy(FakeProvider):
    """Can tell that nobody sells this type."""

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Found, ...]:
        return tuple(
            Found(False, str(offer), "is not sold") for o in offers.values() for offer in o
        )


def test_check_online_fails_where_the_provider_finds_something_wrong(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    services.provider = Choosy(services.cloud().world, HOME)
    result = cli(services, capsys, "check", str(FILE), "--online")
    assert result.code == 1
    assert "not OK" in result.out
    assert "is not sold" in result.out


class Misled(FakeProvider):
    """Knows why nothing answers, and something that heals by itself."""

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Found, ...]:
        del offers
        return (Found(False, "z-1", "is no zone", lasting=True), Found(False, "z-2", "is slow"))


def test_check_online_says_what_must_be_changed_where_nothing_answers(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    services.provider = Misled(services.cloud().world, HOME)
    services.cloud().dead.add(Zone("z-1"))
    result = cli(services, capsys, "check", str(FILE), "--online")
    assert (result.code, result.err) == (7, "hostler: z-1 is no zone\n")


def test_an_observation_that_failed_names_the_zone(capsys: Out) -> None:
    services = InMemory()
    run(fill(services.store_))
    services.cloud().dead.add(Zone("z-1"))
    assert "observed: z-1: the zone" in cli(services, capsys, "plan", str(FILE)).err


@pytest.mark.parametrize(
    "argv", [("status",), ("frob",), ("plan", str(FILE), "--no-such"), ("scale", str(FILE), "two")]
)
def test_a_wrong_command_line_is_reported_as_json_to_a_program(
    argv: tuple[str, ...], capsys: Out
) -> None:
    output = cli(InMemory(), capsys, *argv, "--json")
    assert (output.code, output.err, output.json["error"]["exit"]) == (2, "", 2)
    assert output.json["error"]["kind"] == "UsageError"
    message = cli(InMemory(), capsys, *argv)
    assert (message.code, message.out) == (2, "")
    assert output.json["error"]["message"].split()[0] in message.err
