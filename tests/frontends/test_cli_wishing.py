from dataclasses import replace
from datetime import timedelta

import pytest
from cli_kit import FILE, FLEET, NOW, InMemory, StillClock, cli, fill, made, run

from hostler.domain.errors import ConfigError
from hostler.domain.ids import machine_id
from hostler.domain.model.machine import Protection
from hostler.domain.model.snapshot import Request, RequestKind

Out = pytest.CaptureFixture[str]
FIRST = machine_id(1)


def requests(outside: InMemory) -> tuple[Request, ...]:
    return run(outside.store_.requests())


def filled(**more: object) -> InMemory:
    outside = InMemory(**more)  # pyright: ignore[reportArgumentType] - whatever the test wants
    run(fill(outside.store_, made(1), made(2)))
    return outside


def test_scale_writes_a_request_and_says_that_no_engine_runs(capsys: Out) -> None:
    outside = filled()
    result = cli(outside, capsys, "scale", str(FILE), "7", "--why", "a fair")
    (request,) = requests(outside)
    assert (request.kind, request.size, request.actor, request.why) == (
        RequestKind.SCALE,
        7,
        "anna@desk",
        "a fair",
    )
    assert result.code == 5
    assert "no engine is running" in result.out


def test_a_request_that_nobody_must_take_yet_is_a_success(capsys: Out) -> None:
    assert cli(filled(), capsys, "scale", str(FILE), "7", "--no-wait").code == 0


def test_a_request_is_waited_for_and_said_to_be_taken(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = filled(runs=True)
    slept = list[timedelta]()

    async def sleep(clock: StillClock, time: timedelta) -> None:
        slept.append(time)
        clock.at += time
        if len(slept) == 3:
            await outside.take_all()

    monkeypatch.setattr(StillClock, "sleep", sleep)
    result = cli(outside, capsys, "scale", str(FILE), "7")
    assert result.code == 0
    assert "taken by the running engine" in result.out
    assert len(slept) == 3


def test_a_request_that_a_busy_engine_does_not_take_is_told(capsys: Out) -> None:
    outside = filled(runs=True)
    result = cli(outside, capsys, "pause", str(FILE), "--json")
    assert result.code == 5
    assert (result.json["engine"], result.json["taken"]) == (True, False)
    assert outside.clock_.at - NOW >= timedelta(seconds=5)


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (("delete", FIRST), RequestKind.DELETE),
        (("protect", FIRST), RequestKind.PROTECT),
        (("pause",), RequestKind.PAUSE),
        (("resume",), RequestKind.RESUME),
        (("adopt",), RequestKind.ADOPT),
    ],
)
def test_each_command_writes_its_kind_of_request(
    capsys: Out, argv: tuple[str, ...], kind: RequestKind
) -> None:
    outside = filled()
    verb, *rest = argv
    assert cli(outside, capsys, verb, str(FILE), *rest, "--no-wait").code == 0
    (request,) = requests(outside)
    assert (request.kind, request.machine) == (kind, FIRST if rest else None)


def test_the_end_of_a_held_machine_is_said_to_wait_for_that(capsys: Out) -> None:
    hold = Protection(until=NOW + timedelta(hours=1), why="a look", actor="bob")
    outside = InMemory()
    run(fill(outside.store_, made(1, protection=hold)))
    told = " ".join(cli(outside, capsys, "delete", str(FILE), FIRST, "--no-wait").err.split())
    assert "protected until 2026-03-01 13:00 UTC by bob: a look" in told
    assert f"{FIRST} goes then, or after hostler unprotect" in told
    assert not cli(outside, capsys, "unprotect", str(FILE), FIRST, "--no-wait").err


def test_end_now_and_adopt_from_say_so_in_the_request(capsys: Out) -> None:
    outside = filled()
    cli(outside, capsys, "delete", str(FILE), FIRST, "--now", "--no-wait")
    cli(outside, capsys, "adopt", str(FILE), "--from", "h123", "--no-wait")
    end, adopt = requests(outside)
    assert end.now
    assert adopt.installation == "h123"


def test_a_hold_ends_when_asked_and_never_later_than_the_fleet_allows(capsys: Out) -> None:
    outside = filled()
    cli(outside, capsys, "protect", str(FILE), FIRST, "--for", "2h", "--no-wait")
    cli(outside, capsys, "protect", str(FILE), FIRST, "--no-wait")
    asked, longest = requests(outside)
    assert asked.until == NOW + timedelta(hours=2)
    assert longest.until == NOW + FLEET.timers.longest_protection
    refused = cli(outside, capsys, "protect", str(FILE), FIRST, "--for", "9d", "--no-wait")
    assert (refused.code, "at most 3d" in refused.err) == (2, True)


def test_a_machine_is_found_by_the_beginning_of_its_id_if_that_is_clear(capsys: Out) -> None:
    outside = filled()
    assert cli(outside, capsys, "delete", str(FILE), FIRST[:3], "--no-wait").code == 0
    unclear = cli(outside, capsys, "delete", str(FILE), "m-", "--no-wait")
    assert unclear.code == 2
    assert FIRST in unclear.err
    assert cli(outside, capsys, "delete", str(FILE), "x", "--no-wait").code == 2
    assert len(requests(outside)) == 1


def test_unhold_of_what_is_not_held_is_refused(capsys: Out) -> None:
    outside = InMemory()
    hold = Protection(until=NOW + timedelta(hours=1), why="", actor="bob")
    run(fill(outside.store_, made(1), made(2, protection=hold)))
    assert cli(outside, capsys, "unprotect", str(FILE), FIRST, "--no-wait").code == 2
    assert cli(outside, capsys, "unprotect", str(FILE), machine_id(2), "--no-wait").code == 0


def test_a_size_is_refused_where_a_runner_asks_for_each_machine(capsys: Out) -> None:
    outside = filled(fleets=(replace(FLEET, renews=False),))
    refused = cli(outside, capsys, "scale", str(FILE), "6", "--no-wait")
    assert (refused.code, "no size of its own" in refused.err) == (2, True)
    assert requests(outside) == ()


def test_a_size_over_the_maximum_and_the_end_of_the_protected_are_refused(capsys: Out) -> None:
    outside = filled(fleets=(replace(FLEET, maximum=5, protected=True),))
    over = cli(outside, capsys, "scale", str(FILE), "6", "--no-wait")
    assert (over.code, "at most 5" in over.err) == (2, True)
    ended = cli(outside, capsys, "delete", str(FILE), FIRST, "--no-wait")
    assert (ended.code, "is protected" in ended.err) == (2, True)
    assert requests(outside) == ()


def test_several_fleets_must_be_told_apart_by_name(capsys: Out) -> None:
    outside = filled(fleets=(FLEET, replace(FLEET, name="ci")))
    unclear = cli(outside, capsys, "scale", str(FILE), "1", "--no-wait")
    assert (unclear.code, "--fleet web or ci" in unclear.err) == (2, True)
    assert cli(outside, capsys, "scale", str(FILE), "1", "--fleet", "ci", "--no-wait").code == 0
    assert [request.fleet for request in requests(outside)] == ["ci"]


@pytest.mark.parametrize("argv", [("scale", "x"), ("scale", "-1"), ("scale",), ("nonsense",)])
def test_a_wrong_command_line_is_an_error_of_usage(capsys: Out, argv: tuple[str, ...]) -> None:
    verb, *rest = argv
    assert cli(filled(), capsys, verb, str(FILE), *rest).code == 2


def test_a_wrong_file_is_told_on_standard_error_and_as_json(capsys: Out) -> None:
    outside = filled(wrong=ConfigError("web.toml: there is no such file"))
    plain = cli(outside, capsys, "status", str(FILE))
    assert (plain.code, plain.out) == (2, "")
    assert "there is no such file" in plain.err
    told = cli(outside, capsys, "status", str(FILE), "--json")
    assert told.code == 2
    assert told.json["error"]["kind"] == "ConfigError"
    assert told.json["error"]["exit"] == 2


def test_a_second_engine_is_refused_with_its_own_code(capsys: Out) -> None:
    result = cli(filled(held=True), capsys, "run", str(FILE))
    assert result.code == 4
    assert "another engine (pid 7)" in result.err
