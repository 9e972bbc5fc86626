"""Programs keep the promises of the power port, run for real."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from power_rig import NO_WAY, SECRET, SETTLES, MethodRig, worlds

from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.power import PowerAction, PowerState
from hostler.providers.power.methods.command import Command, CommandTable
from hostler.simulators.power.box import Box
from hostler.simulators.power.plugs import own
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check

DEADLINE = timedelta(seconds=2)
PROGRAM = """
import os, sys, urllib.error, urllib.request
url, method, path = sys.argv[1:]
headers = {"X-Token": os.environ["SECRET"]}
request = urllib.request.Request(url + path, method=method, headers=headers)
try:
    said = urllib.request.urlopen(request).read().decode()
except urllib.error.HTTPError as error:
    sys.exit({401: 77, 503: 75}.get(error.code, 9))
except OSError:
    sys.exit(9)
print(said, os.environ["SECRET"])
known = {"{}": 0, '{"power": "on"}': 0, '{"power": "off"}': 3}
sys.exit(known.get(said, 9))
"""


def table(url: str) -> CommandTable:
    def program(*words: str) -> tuple[str, ...]:
        return (sys.executable, "-S", "-c", PROGRAM, url, *words)

    return CommandTable(
        on=program("POST", "/power/on"),
        off_soft=program("POST", "/power/off_soft"),
        off_hard=program("POST", "/power/off_hard"),
        query=program("GET", "/power"),
        environment=("SECRET",),
        deadline=DEADLINE,
        settles=SETTLES,
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_a_command_keeps_the_promise_that(check: Check) -> None:
    left_out = await run_check(check, worlds(Command(), partial(own, token=SECRET), table))
    assert left_out in {"", NO_WAY, "it can be asked", "it cannot do cycle"}


def rig(settings: CommandTable) -> MethodRig:
    return MethodRig(Command(), Box(name="box-1", time=asyncio.get_running_loop().time), settings)


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


async def test_words_are_passed_as_they_are_and_no_shell_reads_them(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    settings = CommandTable(query=("printf", "%s", f"$(touch {trap}); `id`"), status_on=0)
    reading = await rig(settings).open().query()
    assert reading.state is PowerState.ON
    assert reading.text == f"exit status 0: $(touch {trap}); `id`"[:134]
    assert not trap.exists()


async def test_a_program_sees_what_is_named_and_nothing_else() -> None:
    settings = CommandTable(query=("env",), environment=("SEEN",))
    opening = rig(settings).opening()
    environment = {"PATH": "/usr/bin:/bin", "SEEN": "yes", "HOSTLER_SECRET": SECRET}
    power = Command().open(replace(opening, environment=environment))
    text = (await power.query()).text
    assert "SEEN=***" in text
    assert SECRET not in text


@pytest.mark.parametrize(("status", "off", "known"), [(1, 3, False), (3, 3, True), (1, 1, True)])
async def test_a_status_that_says_nothing_is_named_with_those_that_do(
    status: int, off: int, *, known: bool
) -> None:
    """Of a file that relied on 1 for off nobody could see why its boxes were never known."""
    settings = CommandTable(query=shell(f"exit {status}"), on=shell("true"), status_off=off)
    reading = await rig(settings).open().query()
    words = "" if known else f", which is neither status_on (0) nor status_off ({off})"
    assert reading.text == f"exit status {status}{words}"
    assert reading.state is (PowerState.OFF if known else PowerState.UNKNOWN)


async def test_what_hangs_is_ended_with_all_that_it_began(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    text = f"(sleep 1; touch {trace}) & sleep 60"
    settings = CommandTable(on=shell(text), deadline=timedelta(seconds=0.3))
    outcome = await rig(settings).open().act(PowerAction.ON)
    assert isinstance(outcome, Unknown)
    await asyncio.sleep(1.2)
    assert not trace.exists()


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_what_is_left_in_the_background_holds_up_no_answer(tmp_path: Path) -> None:
    """Such as the master of a shared SSH connection: it keeps the output open, and runs on."""
    pid = tmp_path / "pid"
    text = f"sleep 60 & echo $! >>{pid}; echo it is on"
    power = rig(CommandTable(query=shell(text), on=shell(text), deadline=DEADLINE)).open()
    try:
        before = open_files()
        reading = await power.query()
        assert (reading.state, reading.text) == (PowerState.ON, "exit status 0: it is on")
        assert isinstance(await power.act(PowerAction.ON), Done)
        await asyncio.sleep(0)
        assert open_files() == before
    finally:
        for left in pid.read_text().split():
            os.kill(int(left), signal.SIGKILL)


async def test_endless_output_is_read_and_left() -> None:
    settings = CommandTable(on=shell("yes | head -c 20000000"), deadline=timedelta(seconds=20))
    assert isinstance(await rig(settings).open().act(PowerAction.ON), Done)


@pytest.mark.parametrize(
    ("words", "why"),
    [(("/no/such/program",), Refusal.INVALID), (shell("exit 127"), Refusal.INVALID)],
)
async def test_what_cannot_be_run_had_no_effect(words: tuple[str, ...], why: Refusal) -> None:
    outcome = await rig(CommandTable(on=words)).open().act(PowerAction.ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is why


async def test_other_statuses_promise_nothing() -> None:
    settings = CommandTable(on=shell("echo no; exit 4"), query=shell("exit 4"))
    power = rig(settings).open()
    outcome = await power.act(PowerAction.ON)
    assert isinstance(outcome, Unknown)
    assert outcome.text == "it ended with the exit status 4: no"
    assert (await power.query()).state is PowerState.UNKNOWN


@pytest.mark.parametrize(
    "words",
    [
        (sys.executable, "-S", "-c", "raise OSError('no way to the plug')"),
        ("grep", "off", "/dev/null"),
        ("false",),
        shell("exit 2"),
        ("/no/such/program",),
        shell("no-such-program"),
    ],
    ids=["python", "grep", "false", "usage", "absent", "not found"],
)
async def test_a_program_that_fails_does_not_say_that_a_machine_is_off(
    words: tuple[str, ...],
) -> None:
    """Whatever goes wrong in a program ends with 1, as a rule: that must be no answer."""
    reading = await rig(CommandTable(query=words, deadline=DEADLINE)).open().query()
    assert reading.state is PowerState.UNKNOWN, reading


async def test_a_program_says_off_by_a_status_that_means_nothing_else() -> None:
    reading = await rig(CommandTable(query=shell("exit 3"))).open().query()
    assert reading.state is PowerState.OFF


@pytest.mark.parametrize("status", [126, 127])
def test_what_could_not_be_run_is_no_answer(status: int) -> None:
    off = CommandTable(query=("true",), status_off=status)
    (fault,) = Command().check(off)
    assert fault.startswith("status_off: expected another status than 126 and 127")
    on = CommandTable(query=("true",), status_on=status)
    (fault,) = Command().check(on)
    assert fault.startswith("status_on: expected another status than 126 and 127")


async def test_a_program_that_a_signal_ended_says_which() -> None:
    settings = CommandTable(on=shell("kill -9 $$"), query=shell("kill -9 $$"))
    power = rig(settings).open()
    outcome = await power.act(PowerAction.ON)
    assert isinstance(outcome, Unknown)
    assert outcome.text == "it was killed by SIGKILL"
    reading = await power.query()
    assert (reading.state, reading.text) == (PowerState.UNKNOWN, "killed by SIGKILL")


def test_check_and_missing_name_every_fault() -> None:
    assert Command().check(CommandTable()) == (
        "on: expected a program for at least one action, or for a query",
    )
    same = CommandTable(query=("true",), status_on=3)
    assert Command().check(same) == ("status_off: expected another status than the others",)
    settings = CommandTable(on=("/no/such",), query=("true",), environment=("A",))
    lacks = Command().missing(settings, Path(), {"PATH": "/usr/bin:/bin"})
    assert [(lack.key, lack.environment) for lack in lacks] == [
        ("on", False),
        ("environment", True),
    ]
