"""What is written on objects: only differences, and since when a condition holds."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from msgspec.structs import replace

from hostler.domain.ids import AccountName, FleetName, Zone, machine_id
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine, Offer, Protection
from hostler.domain.model.phases import Phase
from hostler.frontends.kubernetes.fleets.status import (
    Condition,
    accepted,
    differs,
    document,
    fleet_conditions,
    fleet_fields,
)
from hostler.frontends.kubernetes.objects.assembly import Reason, Verdict
from hostler.queries.fleets import FleetStatus

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OFFER = Offer(type="small", zone=Zone("z-1"))
FLEET = Fleet(name=FleetName("web"), account=AccountName("main"), size=2, offers=(OFFER,))
YES = Verdict(reason=Reason.ACCEPTED, message="in force")


def standing(*phases: Phase, **row: Any) -> FleetStatus:
    machines = tuple(
        Machine(
            id=machine_id(number),
            fleet=FLEET.name,
            serial=number,
            created=NOW,
            since=NOW,
            phase=phase,
            offer=OFFER,
        )
        for number, phase in enumerate(phases)
    )
    return FleetStatus(
        fleet=FLEET, row=FleetRow(name=FLEET.name, created=NOW, **row), machines=machines, at=NOW
    )


def by_type(status: FleetStatus | None, verdict: Verdict | None = YES, *, ends: bool = False):
    return {one.type: one for one in fleet_conditions(status, verdict, ends=ends)}


def test_a_fleet_is_ready_when_as_many_are_as_are_asked_for() -> None:
    assert by_type(standing(Phase.READY, Phase.STARTING))["Ready"].holds is False
    assert by_type(standing(Phase.READY, Phase.READY))["Ready"].holds is True
    fields = fleet_fields(standing(Phase.READY, Phase.STARTING))
    assert (fields["size"], fields["ready"], fields["machines"]) == (2, 1, 2)
    assert fields["phases"] == {"ready": 1, "starting": 1}


def test_no_machines_are_no_empty_map() -> None:
    """To take all keys of a map away that one applied leaves null there, which is refused."""
    assert "phases" not in fleet_fields(standing())


def test_a_pause_is_a_condition_with_its_author() -> None:
    pause = Protection(until=NOW + timedelta(hours=1), actor="ann", why="moving house")
    found = by_type(standing(pause=pause))["Paused"]
    assert found.holds is True
    assert "ann" in found.message
    assert by_type(standing())["Paused"].holds is False


def test_what_was_refused_says_so_and_what_stays() -> None:
    wrong = Verdict(reason=Reason.INVALID, message="spec.size: expected 0", older=True)
    found = accepted(wrong)
    assert (found.status, found.reason) == ("False", "Invalid")
    assert found.message == "spec.size: expected 0; what was in force before stays in force"
    assert accepted(None).status == "Unknown"


def test_a_deleted_object_says_what_is_left() -> None:
    found = by_type(standing(Phase.STOPPING), ends=True)["Ready"]
    assert (found.holds, found.message) == (False, "its object was deleted; 1 machine left")
    spec = by_type(standing(), None, ends=True)["Accepted"]
    assert (spec.status, spec.reason) == ("Unknown", "Deleting")
    assert "not read yet" not in spec.message


def test_a_deleted_object_says_what_keeps_its_machines_and_what_ends_that() -> None:
    """It would stay, and its namespace, and nobody would find why."""
    hold = Protection(until=NOW + timedelta(hours=1), actor="ann", why="moving house")
    paused = replace(standing(Phase.READY, pause=hold), fleet=replace(FLEET, removed=True))
    protected = replace(standing(Phase.READY), fleet=replace(FLEET, removed=True, protected=True))
    alone = standing(Phase.READY, Phase.READY)
    first, second = alone.machines
    held = replace(alone, machines=(first, replace(second, protection=hold)))
    messages = [by_type(one, ends=True)["Ready"].message for one in (paused, protected, held)]
    assert "1 machine left, paused by ann until" in messages[0]
    assert "set spec.paused to false" in messages[0]
    assert "1 machine left, kept by spec.protected" in messages[1]
    assert f"2 machines left; {second.id}: protected by ann until" in messages[2]


def test_a_fleet_that_ends_is_not_paused_for_that() -> None:
    ending = replace(standing(Phase.READY), fleet=replace(FLEET, removed=True))
    paused = by_type(ending, None, ends=True)["Paused"]
    assert (paused.holds, paused.message) == (False, "")


def test_a_condition_holds_since_it_came_to() -> None:
    ready = Condition(type="Ready", holds=True, reason="Ready", message="2 of 2")
    first = document({"size": 2}, (ready,), 1, None, NOW)
    later = NOW + timedelta(hours=1)
    other = Condition(type="Ready", holds=True, reason="Ready", message="3 of 3")
    second = document({"size": 3}, (other,), 2, first, later)
    ended = Condition(type="Ready", holds=False, reason="Waiting")
    third = document({"size": 3}, (ended,), 2, second, later)
    dates = [cast("Any", one)["conditions"][0]["lastTransitionTime"] for one in (first, second)]
    assert dates == ["2026-03-01T12:00:00Z"] * 2
    assert cast("Any", third)["conditions"][0]["lastTransitionTime"] == "2026-03-01T13:00:00Z"


def test_only_what_differs_is_written_and_conditions_of_others_are_theirs() -> None:
    ready = Condition(type="Ready", holds=True, reason="Ready")
    made = document({"size": 2}, (ready,), 1, None, NOW)
    foreign = {"type": "Ours", "status": "True"}
    there = {**made, "conditions": [foreign, *cast("Any", made)["conditions"]]}
    assert not differs(made, there)
    assert differs(made, None)
    assert not differs(made, {**there, "operation": {}}), "what is left of a field without content"
    assert differs(made, {**there, "size": 1})
    assert differs(made, {**there, "phases": {"ready": 1}}), "a field that is ours no longer"
    assert differs({**made, "conditions": []}, {**made, "size": 1})


def test_a_message_is_no_longer_than_the_server_takes() -> None:
    """A Provider tells of each of its hosts; a status that is refused would say what was before."""
    why = "; ".join(f"Host box-{at} is on record and cannot be in force" for at in range(1000))
    condition = accepted(Verdict(reason=Reason.INVALID, message=why))
    made = document({}, (condition,), 1, None, NOW)
    (written,) = cast("Any", made)["conditions"]
    assert len(written["message"]) == 32_768
    assert written["message"].startswith(why[:1000])
    assert written["message"].endswith("…")
    assert not differs(document({}, (condition,), 1, made, NOW), made)
