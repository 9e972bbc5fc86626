import asyncio
import re
import signal
from datetime import timedelta

import pytest
from cli_kit import FILE, FLEET, NOW, InMemory, StillClock, cli, fill, made, run
from msgspec.structs import replace

from hostler.config.digests import digests
from hostler.domain.errors import ConfigError, Remedy
from hostler.domain.ids import machine_id
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Protection
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.cli.console.exits import HINTS
from hostler.frontends.cli.main import GROUPS
from hostler.ports.engine_record import EngineRecord

Out = pytest.CaptureFixture[str]
FIRST = machine_id(1)


def requests(services: InMemory) -> tuple[Request, ...]:
    return run(services.store_.requests())


def filled(**more: object) -> InMemory:
    services = InMemory(**more)  # pyright: ignore[reportArgumentType] - whatever the test wants
    run(fill(services.store_, made(1), made(2)))
    return services


def test_scale_records_a_request_and_says_that_no_engine_runs(capsys: Out) -> None:
    services = filled()
    result = cli(services, capsys, "scale", str(FILE), "7", "--why", "a fair")
    (request,) = requests(services)
    assert (request.kind, request.size, request.actor, request.why) == (
        RequestKind.SCALE,
        7,
        "anna@desk",
        "a fair",
    )
    assert result.code == 5
    assert "no engine is running" in result.out


@pytest.mark.parametrize("size", ["1.5", "2.0", "1e3", "-1", "100001", "99999999999999999999"])
def test_what_is_no_size_of_a_fleet_is_refused_and_never_rounded(capsys: Out, size: str) -> None:
    services = filled()
    result = cli(services, capsys, "scale", str(FILE), "--json", "--", size)
    assert (result.code, requests(services)) == (2, ())


def test_a_request_that_is_not_waited_for_is_a_success(capsys: Out) -> None:
    assert cli(filled(), capsys, "scale", str(FILE), "7", "--no-wait").code == 0


def test_a_refusal_of_the_engine_is_told_and_is_the_exit_code(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = filled(runs=True)

    async def sleep(clock: StillClock, time: timedelta) -> None:
        clock.at += time
        await services.refuse_all("it is being deleted")

    monkeypatch.setattr(StillClock, "sleep", sleep)
    result = cli(services, capsys, "protect", str(FILE), FIRST)
    assert result.code == 1
    assert f"protect {FIRST}: refused by the running engine: it is being deleted" in result.out
    value = cli(services, capsys, "protect", str(FILE), FIRST, "--json").json
    assert (value["taken"], value["refused"]) == (True, "it is being deleted")


def test_a_refusal_of_an_earlier_request_is_not_told_of_a_later_one(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = filled(runs=True)
    cli(services, capsys, "resume", str(FILE), "--no-wait")
    run(services.refuse_all("it is not paused"))

    async def sleep(clock: StillClock, time: timedelta) -> None:
        clock.at += time
        await services.take_all()

    monkeypatch.setattr(StillClock, "sleep", sleep)
    assert cli(services, capsys, "resume", str(FILE)).code == 0


def test_a_request_is_waited_for_until_it_is_taken(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = filled(runs=True)
    slept = list[timedelta]()

    async def sleep(clock: StillClock, time: timedelta) -> None:
        slept.append(time)
        clock.at += time
        if len(slept) == 3:
            await services.take_all()

    monkeypatch.setattr(StillClock, "sleep", sleep)
    result = cli(services, capsys, "scale", str(FILE), "7")
    assert result.code == 0
    assert "taken by the running engine" in result.out
    assert len(slept) == 3


class Impatient(StillClock):
    """A clock of somebody who presses Ctrl-C as soon as there is anything to wait for."""

    async def sleep(self, time: timedelta) -> None:
        del time
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(1)


@pytest.mark.parametrize("json", [False, True])
def test_who_interrupts_the_waiting_is_told_that_the_request_stays(
    capsys: Out, *, json: bool
) -> None:
    services = filled(runs=True, clock_=Impatient())
    more = ("--json",) if json else ()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a script may ignore it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    try:
        result = cli(services, capsys, "delete", str(FILE), str(FIRST), *more)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.code == 130
    if json:
        error = result.json["error"]
        assert (error["kind"], error["exit"]) == ("Interrupted", 130)
        assert "carried out all the same" in error["message"]
    else:
        text = "interrupted: what was asked for is recorded, and carried out all the same"
        assert " ".join(result.err.split()) == text
    assert [request.kind for request in requests(services)] == [RequestKind.DELETE]


def test_a_request_that_a_busy_engine_does_not_take_is_reported(capsys: Out) -> None:
    services = filled(runs=True)
    result = cli(services, capsys, "pause", str(FILE), "--json")
    assert result.code == 5
    assert (result.json["engine"], result.json["taken"]) == (True, False)
    assert services.clock_.at - NOW >= timedelta(seconds=5)


@pytest.mark.parametrize(("digest", "cure"), [("older", "reload"), ("", "status")])
def test_a_request_to_an_engine_of_an_older_file_names_the_cure(
    digest: str, cure: str, capsys: Out
) -> None:
    services = filled(runs=True)
    config = services.load(FILE)
    known = digests(config) | ({"fleet.web": digest} if digest else {})
    run(services.store_.save_engine_record(EngineRecord(file="web.toml", since=NOW, tables=known)))
    result = cli(services, capsys, "pause", str(FILE))
    assert result.code == 5
    assert f"`hostler {cure} FILE`" in result.out


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
def test_each_command_records_its_kind_of_request(
    capsys: Out, argv: tuple[str, ...], kind: RequestKind
) -> None:
    services = filled()
    verb, *rest = argv
    assert cli(services, capsys, verb, str(FILE), *rest, "--no-wait").code == 0
    (request,) = requests(services)
    assert (request.kind, request.machine) == (kind, FIRST if rest else None)


def test_the_deletion_of_a_protected_machine_waits_for_the_protection(capsys: Out) -> None:
    hold = Protection(until=NOW + timedelta(hours=1), why="a look", actor="bob")
    services = InMemory()
    run(fill(services.store_, made(1, protection=hold)))
    output = " ".join(cli(services, capsys, "delete", str(FILE), FIRST, "--no-wait").err.split())
    assert "protected until 2026-03-01 13:00 UTC by bob: a look" in output
    assert f"{FIRST} is deleted then, or once its protection is ended" in output
    assert not cli(services, capsys, "unprotect", str(FILE), FIRST, "--no-wait").err


def test_delete_now_and_adopt_from_say_so_in_the_request(capsys: Out) -> None:
    services = filled()
    cli(services, capsys, "delete", str(FILE), FIRST, "--now", "--no-wait")
    cli(services, capsys, "adopt", str(FILE), "--from", "h123", "--no-wait")
    end, adopt = requests(services)
    assert end.now
    assert adopt.installation == "h123"


def test_a_protection_ends_when_asked_and_never_later_than_the_fleet_allows(capsys: Out) -> None:
    services = filled()
    cli(services, capsys, "protect", str(FILE), FIRST, "--for", "2h", "--no-wait")
    cli(services, capsys, "protect", str(FILE), FIRST, "--no-wait")
    asked, longest = requests(services)
    assert asked.until == NOW + timedelta(hours=2)
    assert longest.until == NOW + FLEET.timers.longest_protection
    refused = cli(services, capsys, "protect", str(FILE), FIRST, "--for", "9d", "--no-wait")
    assert (refused.code, "at most 3d" in refused.err) == (2, True)


def test_a_machine_is_found_by_the_beginning_of_its_id_if_that_is_clear(capsys: Out) -> None:
    services = filled()
    assert cli(services, capsys, "delete", str(FILE), FIRST[:3], "--no-wait").code == 0
    unclear = cli(services, capsys, "delete", str(FILE), "m-", "--no-wait")
    assert unclear.code == 2
    assert FIRST in unclear.err
    assert cli(services, capsys, "delete", str(FILE), "x", "--no-wait").code == 2
    assert len(requests(services)) == 1


def test_resume_of_what_is_not_paused_says_so_and_may_be_repeated(capsys: Out) -> None:
    services = InMemory()
    pause = Protection(until=NOW + timedelta(hours=1), why="a fair", actor="bob")
    row = FleetRow(name=FLEET.name, created=NOW, pause=pause)
    run(fill(services.store_, row=row))
    paused = cli(services, capsys, "resume", str(FILE), "--no-wait")
    assert (paused.code, paused.err) == (0, "")
    again = cli(filled(), capsys, "resume", str(FILE), "--no-wait")
    assert (again.code, "fleet web is not paused" in again.err) == (0, True)


def test_unprotect_of_what_is_not_protected_says_so_and_may_be_repeated(capsys: Out) -> None:
    services = InMemory()
    hold = Protection(until=NOW + timedelta(hours=1), why="", actor="bob")
    run(fill(services.store_, made(1), made(2, protection=hold)))
    protected = cli(services, capsys, "unprotect", str(FILE), machine_id(2), "--no-wait")
    assert (protected.code, protected.err) == (0, "")
    again = cli(services, capsys, "unprotect", str(FILE), FIRST, "--no-wait")
    assert (again.code, f"{FIRST} is not protected" in again.err) == (0, True)


def test_a_program_is_warned_as_a_person_is(capsys: Out) -> None:
    """That the machine is taken for its deletion is half of it: it stays while it is protected."""
    services = InMemory()
    hold = Protection(until=NOW + timedelta(hours=1), why="", actor="bob")
    run(fill(services.store_, made(1), made(2, protection=hold)))
    argv = ("delete", str(FILE), machine_id(2), "--no-wait")
    (warning,) = cli(services, capsys, *argv, "--json").json["warnings"]
    assert f"{machine_id(2)} is deleted then, or once its protection is ended" in warning
    assert warning in cli(services, capsys, *argv).err
    plain = cli(services, capsys, "delete", str(FILE), FIRST, "--no-wait", "--json").json
    assert plain["warnings"] == []


def test_a_size_is_refused_where_a_runner_asks_for_each_machine(capsys: Out) -> None:
    services = filled(fleets=(replace(FLEET, renews=False),))
    refused = cli(services, capsys, "scale", str(FILE), "6", "--no-wait")
    assert (refused.code, "no size of its own" in refused.err) == (2, True)
    assert requests(services) == ()


def test_a_size_over_the_maximum_and_a_deletion_in_a_protected_fleet_are_refused(
    capsys: Out,
) -> None:
    services = filled(fleets=(replace(FLEET, maximum=5, protected=True),))
    over = cli(services, capsys, "scale", str(FILE), "6", "--no-wait")
    assert (over.code, "at most 5" in over.err) == (2, True)
    ended = cli(services, capsys, "delete", str(FILE), FIRST, "--no-wait")
    assert (ended.code, "is protected" in ended.err) == (2, True)
    assert requests(services) == ()


def test_one_of_several_fleets_must_be_named(capsys: Out) -> None:
    services = filled(fleets=(FLEET, replace(FLEET, name="ci")))
    unclear = cli(services, capsys, "scale", str(FILE), "1", "--no-wait")
    assert (unclear.code, "(web, ci): say which one\nadd --fleet NAME" in unclear.err) == (2, True)
    assert cli(services, capsys, "scale", str(FILE), "1", "--fleet", "ci", "--no-wait").code == 0
    assert [request.fleet for request in requests(services)] == ["ci"]


@pytest.mark.parametrize("argv", [("scale", "x"), ("scale", "-1"), ("scale",), ("nonsense",)])
def test_a_wrong_command_line_is_an_error_of_usage(capsys: Out, argv: tuple[str, ...]) -> None:
    verb, *rest = argv
    assert cli(filled(), capsys, verb, str(FILE), *rest).code == 2


def test_a_mistake_at_the_command_line_is_told_in_one_line_as_every_error_is(capsys: Out) -> None:
    surplus = cli(filled(), capsys, "status", str(FILE), "x", "y")
    assert (surplus.code, surplus.err) == (2, "hostler: unexpected argument: x y\n")
    lacking = cli(filled(), capsys, "scale", str(FILE))
    cure = "; `hostler scale --help` says what it takes\n"
    assert lacking.err == 'hostler: Command "scale" parameter SIZE requires an argument' + cure
    broken = cli(filled(), capsys, "scale", str(FILE), "web")
    assert broken.err == "hostler: SIZE: 'web' is not a whole number" + cure
    unknown = cli(filled(), capsys, "enlarge")
    assert unknown.err.endswith("...; `hostler --help` says what it takes\n")


def test_a_terminal_breaks_the_lines_of_a_help_and_its_docstring_does_not(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = cli(InMemory(), capsys, "run", "--help").out
    sentence = text[text.index("SIGHUP") : text.index("without any file")].splitlines()
    assert all(len(line) > 60 for line in sentence[:-1])


def test_a_wrong_file_is_reported_on_standard_error_and_as_json(capsys: Out) -> None:
    services = filled(wrong=ConfigError("web.toml: there is no such file"))
    plain = cli(services, capsys, "status", str(FILE))
    assert (plain.code, plain.out) == (2, "")
    assert "there is no such file" in plain.err
    output = cli(services, capsys, "status", str(FILE), "--json")
    assert output.code == 2
    assert output.json["error"]["kind"] == "ConfigError"
    assert output.json["error"]["exit"] == 2


def test_a_second_engine_is_refused_with_its_own_code(capsys: Out) -> None:
    result = cli(filled(held=True), capsys, "run", str(FILE))
    assert result.code == 4
    assert "another engine (pid 7)" in result.err


def test_every_remedy_is_a_command_or_an_option_here() -> None:
    assert set(HINTS) == set(Remedy)
    verbs = {verb for names in GROUPS.values() for verb in names}
    for hint in HINTS.values():
        command = re.match(r"`hostler (\w+) |add --(fleet|why|from) ?", hint)
        assert command is not None, hint
        assert command[1] is None or command[1] in verbs, hint


@pytest.mark.parametrize("argv", [("pause",), ("protect", FIRST)])
def test_no_duration_at_all_is_refused_and_is_not_the_longest(
    capsys: Out, argv: tuple[str, ...]
) -> None:
    """A script's variable that is not set must not stop a fleet for days."""
    services = InMemory()
    run(fill(services.store_, made(1)))
    verb, *names = argv
    refused = cli(services, capsys, verb, str(FILE), *names, "--for", "", "--no-wait")
    assert (refused.code, "'' is no duration" in refused.err) == (2, True)
    refused = cli(services, capsys, verb, str(FILE), *names, "--for", "0s", "--no-wait")
    assert (refused.code, "'0s' is no time at all" in refused.err) == (2, True)
    assert run(services.store_.requests()) == ()
