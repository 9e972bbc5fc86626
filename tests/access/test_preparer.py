"""The real preparer, against a host with a real SSH server on loopback."""

import asyncio
import logging
import os
import resource
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prepared_host import PreparedHost, eventually

from hostler.access.preparer import SshPreparer
from hostler.domain.ids import machine_id
from hostler.domain.policy.bootstrap import Cause
from hostler.domain.policy.host_keys import HostKey, Ruling, expected, judge
from hostler.ports.command import Question
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.ports.secret import Secret
from hostler.testing.peers.sshd import ssh_host

PASSWORD = "correct horse 'battery' staple"
MACHINE = machine_id(1)
SHORT = timedelta(milliseconds=400)
OWNER_TAG = 'echo "$HOSTLER_MACHINE" >>marks'


class Place(PreparedHost):
    """One host, and what is ordered there."""

    def order(self, *commands: str) -> Order:
        return Order(
            machine=MACHINE,
            commands=commands,
            password=Secret(PASSWORD),
            login=timedelta(seconds=10),
            command=timedelta(seconds=20),
        )

    async def run(self, *commands: str) -> Prepared:
        return await self.prepare(self.order(*commands))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    async with ssh_host(tmp_path) as host:
        yield Place(host)


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


# ---- logging in, and the host's key


async def test_login_alone_proves_that_the_host_is_ready_and_runs_nothing(place: Place) -> None:
    found = await place.run()
    assert found.well
    assert (found.cause, found.ran, found.applied) == (Cause.NOTHING, False, "")
    assert found.fingerprint == place.host.fingerprint
    assert place.host.logins == ["m1"]
    assert place.host.commands == []


async def test_first_key_that_is_shown_is_told_and_the_same_one_passes(place: Place) -> None:
    first = await place.run()
    again = await place.prepare(replace(place.order(), fingerprint=first.fingerprint))
    assert again.well
    assert again.fingerprint == first.fingerprint
    assert not again.wrong_key


async def test_other_key_than_the_pinned_one_is_told_nothing_not_even_a_login(place: Place) -> None:
    pinned = place.host.fingerprint
    await place.host.reinstall()
    found = await place.prepare(replace(place.order(OWNER_TAG), fingerprint=pinned))
    assert found.wrong_key
    assert not found.login
    assert found.fingerprint == place.host.fingerprint != pinned
    assert pinned in found.error
    assert place.host.logins == []
    assert place.host.commands == []


async def test_wrong_key_that_is_shown_once_passes_by(place: Place) -> None:
    order = replace(place.order(OWNER_TAG), fingerprint=place.host.fingerprint)
    place.host.estrange()
    assert (await place.prepare(order)).wrong_key
    assert place.host.logins == []
    assert (await place.prepare(order)).well


async def test_new_key_is_pinned_only_with_a_recorded_wipe(place: Place) -> None:
    """The pin's rules and the preparer, together, over a reinstallation."""
    begin = datetime(2026, 6, 1, tzinfo=UTC)
    later = begin + timedelta(hours=2)
    first = judge(None, None, (await place.run()).fingerprint, begin)
    host_key = first.host_key
    assert isinstance(host_key, HostKey)
    await place.host.reinstall()

    unrecorded = await place.prepare(
        replace(place.order(OWNER_TAG), fingerprint=expected(host_key, None))
    )
    assert unrecorded.wrong_key
    assert judge(host_key, None, unrecorded.fingerprint, later).ruling is Ruling.REFUSE

    wiped = begin + timedelta(hours=1)
    recorded = await place.prepare(
        replace(place.order(OWNER_TAG), fingerprint=expected(host_key, wiped))
    )
    assert recorded.well
    then = judge(host_key, wiped, recorded.fingerprint, later)
    assert (then.ruling, then.host_key) == (
        Ruling.REPIN,
        HostKey(key=place.host.fingerprint, at=later),
    )


async def test_host_that_takes_no_key_is_told_with_a_cure(place: Place) -> None:
    place.host.rejects = True
    found = await place.run(OWNER_TAG)
    assert not found.login
    assert "does not accept our key" in found.error
    assert "reinstall" in found.error
    assert place.host.commands == []


async def test_host_that_refuses_connections_is_told(place: Place) -> None:
    await place.host.stop()
    found = await place.run(OWNER_TAG)
    assert found == Prepared(error=found.error)
    assert "Connection refused" in found.error


async def test_host_that_accepts_and_says_nothing_is_given_up(place: Place) -> None:
    await place.host.hang()
    found = await place.prepare(replace(place.order(OWNER_TAG), login=SHORT))
    assert found == Prepared(error=found.error)
    assert "no login within 0.4 s" in found.error


async def test_host_that_is_slow_to_log_in_is_given_up_with_its_key_seen(place: Place) -> None:
    place.host.slow = timedelta(seconds=2)
    found = await place.prepare(replace(place.order(OWNER_TAG), login=SHORT))
    assert not found.login
    assert found.fingerprint == place.host.fingerprint
    assert "no login within 0.4 s" in found.error


async def test_host_without_an_address_is_told(place: Place) -> None:
    found = await SshPreparer().prepare(Connection(address=""), place.order())
    assert found == Prepared(error="the host has no address yet: observe again")


@pytest.mark.parametrize("address", ["a" * 300, "a..b", "ü" * 64 + ".test"])
async def test_address_that_can_be_none_is_an_answer(place: Place, address: str) -> None:
    found = await SshPreparer((place.host.key,)).prepare(
        Connection(address=address, user="m1"), place.order()
    )
    assert not found.login
    assert found.error.startswith(f"no login at m1@{address}:22")


async def test_key_file_that_is_none_is_an_answer(place: Place) -> None:
    found = await SshPreparer((b"not a key",)).prepare(place.connection, place.order())
    assert found == Prepared(error=found.error)
    assert "our own key cannot be read (KeyImportError)" in found.error
    assert place.host.logins == []


async def test_private_address_is_tried_where_the_public_one_is_dead(place: Place) -> None:
    both = replace(place.connection, address="127.77.0.1", internal=place.host.address)
    assert (await SshPreparer((place.host.key,)).prepare(both, place.order())).well


async def test_stranger_at_the_public_address_ends_it_there(place: Place) -> None:
    order = replace(place.order(OWNER_TAG), fingerprint="SHA256:another")
    both = replace(place.connection, internal="127.77.0.1")
    found = await SshPreparer((place.host.key,)).prepare(both, order)
    assert found.wrong_key
    assert place.host.address in found.error


# ---- the commands


async def test_commands_run_once_in_order_and_know_whom_they_are_for(place: Place) -> None:
    order = place.order(
        "echo one >>ran", f"{OWNER_TAG}; echo $HOSTLER_ADDRESS >>ran", "echo two >>ran"
    )
    first = await place.prepare(order)
    assert first.well
    assert first.ran
    assert (first.cause, first.applied) == (Cause.FIRST, order.wanted)
    again = await place.prepare(replace(order, applied=first.applied))
    assert again.well
    assert (again.cause, again.ran, again.applied) == (Cause.CURRENT, False, order.wanted)
    assert place.read("ran").split() == ["one", "127.0.0.1", "two"]
    assert place.read("marks").split() == [MACHINE]


async def test_lost_record_runs_nothing_again(place: Place) -> None:
    await place.run(OWNER_TAG)
    assert (await place.run(OWNER_TAG)).cause is Cause.CURRENT
    assert len(place.read("marks").split()) == 1


async def test_commands_run_again_after_a_reinstallation_whatever_the_record_says(
    place: Place,
) -> None:
    first = await place.run(OWNER_TAG)
    await place.host.reinstall()
    again = await place.prepare(replace(place.order(OWNER_TAG), applied=first.applied))
    assert (again.well, again.ran, again.cause) == (True, True, Cause.EMPTIED)
    assert place.read("marks").split() == [MACHINE]


async def test_other_list_runs_and_so_does_the_first_one_after_it(place: Place) -> None:
    first = await place.run(OWNER_TAG)
    other = await place.run(OWNER_TAG, "echo more")
    assert (other.cause, other.ran) == (Cause.DRIFT, True)
    assert other.applied != first.applied
    assert (await place.run(OWNER_TAG)).cause is Cause.DRIFT
    assert len(place.read("marks").split()) == 3


async def test_drift_that_failed_half_way_does_not_pass_for_the_old_list(place: Place) -> None:
    old = await place.run(OWNER_TAG)
    half = await place.run("touch half", "false")
    assert (half.well, half.applied) == (False, "")
    back = await place.prepare(replace(place.order(OWNER_TAG), applied=old.applied))
    assert (back.cause, back.ran) == (Cause.EMPTIED, True)


async def test_host_that_goes_on_to_another_machine_runs_them_for_it(place: Place) -> None:
    await place.run(OWNER_TAG)
    other = await place.prepare(replace(place.order(OWNER_TAG), machine=machine_id(2)))
    assert (other.cause, other.ran) == (Cause.MOVED, True)
    assert place.read("marks").split() == [MACHINE, machine_id(2)]


async def test_commands_run_again_when_that_is_asked_for(place: Place) -> None:
    await place.run(OWNER_TAG)
    again = await place.prepare(replace(place.order(OWNER_TAG), forced=True))
    assert (again.cause, again.ran, again.well) == (Cause.FORCED, True, True)
    assert len(place.read("marks").split()) == 2


async def test_forced_run_that_failed_does_not_pass_for_an_earlier_one(place: Place) -> None:
    order = place.order("test ! -e full", OWNER_TAG)
    assert (await place.prepare(order)).well
    (place.host.disk / "full").touch()
    assert not (await place.prepare(replace(order, forced=True))).well
    (place.host.disk / "full").unlink()
    assert (await place.prepare(order)).ran


async def test_failing_command_stops_the_list_and_is_told_with_its_output(place: Place) -> None:
    order = place.order("echo fine", "echo no room >&2; exit 7", OWNER_TAG)
    found = await place.prepare(order)
    assert found.login
    assert not found.well
    assert not found.ran
    assert found.applied == ""
    assert "command 2 of 3" in found.error
    assert "failed with 7" in found.error
    assert "no room" in found.output
    assert place.read("marks") == ""
    again = await place.prepare(replace(order, commands=("echo fine", "echo mended", OWNER_TAG)))
    assert (again.well, again.cause) == (True, Cause.FIRST)


async def test_command_that_is_ended_by_a_signal_is_told(place: Place) -> None:
    found = await place.run("echo bye; kill -KILL $$", OWNER_TAG)
    assert "command 1 of 2" in found.error
    assert "was ended by the signal KILL" in found.error
    assert "[signal KILL]" in found.output
    assert place.read("marks") == ""


async def test_command_that_is_no_shell_text_is_told(place: Place) -> None:
    found = await place.run("if then")
    assert "command 1 of 1" in found.error
    assert not found.well


async def test_shell_that_greets_at_length_does_not_hide_the_note(place: Place) -> None:
    place.host.greeting = "hostler: nonsense\nWelcome, ünicorn!\n" * 9000
    assert (await place.run(OWNER_TAG)).well
    assert (await place.run(OWNER_TAG)).cause is Cause.CURRENT


async def test_texts_with_quotes_and_lines_reach_the_shell_as_they_are(place: Place) -> None:
    text = "cat >'it'\"'\"'s' <<'END'\n$HOME \\ 'quoted' \"too\" ü\nEND"
    assert (await place.run(text)).well
    assert place.read("it's") == "$HOME \\ 'quoted' \"too\" ü\n"


async def test_command_that_takes_too_long_is_ended_and_told(place: Place) -> None:
    order = replace(place.order("echo begun; echo $$ >pid; sleep 4; touch late"), command=SHORT)
    found = await place.prepare(order)
    assert "command 1 of 1" in found.error
    assert "did not end within 0.4 s" in found.error
    assert "begun" in found.output
    assert not found.well
    await eventually(lambda: has_ended(int(place.read("pid"))))
    assert not (place.host.disk / "late").exists()


async def test_output_that_is_held_open_by_the_background_keeps_nobody_waiting(
    place: Place,
) -> None:
    found = await place.run("sleep 60 & echo started", OWNER_TAG)
    assert found.well
    assert "started" in found.output


async def test_command_that_closes_its_output_is_waited_for(place: Place) -> None:
    found = await place.run("exec >&- 2>&-; sleep 1; exit 3")
    assert "failed with 3" in found.error


async def test_connection_that_is_cut_is_an_answer_and_all_is_run_again(place: Place) -> None:
    place.host.cuts = "deep water"
    order = place.order(OWNER_TAG, "echo deep water; sleep 1")
    found = await place.prepare(order)
    assert found.login
    assert "lost while running command 2 of 2" in found.error
    assert (found.applied, found.ran) == ("", False)
    place.host.cuts = ""
    again = await place.prepare(order)
    assert again.well
    assert len(place.read("marks").split()) == 2


async def test_cut_before_the_first_command_runs_nothing(place: Place) -> None:
    place.host.cuts = "hostler: applied"
    found = await place.run(OWNER_TAG)
    assert (found.login, found.well, found.cause) == (True, False, None)
    assert "what is noted at the host cannot be read: lost" in found.error
    assert place.read("marks") == ""


async def test_cut_while_the_note_is_written_runs_nothing_needlessly(place: Place) -> None:
    place.host.cuts = "applied.new"
    found = await place.run(OWNER_TAG)
    assert (found.ran, found.well, found.applied) == (True, False, "")
    assert "all ran, but that cannot be noted at the host: lost" in found.error
    place.host.cuts = ""
    assert (await place.run(OWNER_TAG)).cause is Cause.CURRENT
    assert len(place.read("marks").split()) == 1


async def test_host_that_stalls_after_the_login_is_given_up(place: Place) -> None:
    place.host.stalls = timedelta(seconds=3)
    found = await place.prepare(replace(place.order(OWNER_TAG), login=SHORT))
    assert (found.login, found.well) == (True, False)
    assert "cannot be read: no end in time" in found.error


@pytest.mark.parametrize(
    "says",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-1.5-old\r\n",
        b"SSH-2.0-x\r\n" + bytes(range(256)) * 20,
        b"x" * 100_000,
    ],
)
async def test_whatever_answers_at_the_port_is_an_answer(place: Place, says: bytes) -> None:
    await place.host.hang(says)
    found = await place.prepare(replace(place.order(OWNER_TAG), login=SHORT))
    assert not found.login
    assert found.error.startswith("no login at m1@127.0.0.1:")
    assert len(found.error) < 500


async def test_what_an_earlier_try_left_running_is_ended_first_with_its_children(
    place: Place,
) -> None:
    place.host.cuts = "begun"
    text = "echo begun; sleep 60 & echo $! >pid; wait"
    await place.run(text)
    await eventually(lambda: place.read("pid") != "")
    pid = int(place.read("pid"))
    assert not has_ended(pid)
    place.host.cuts = ""
    assert (await place.run("echo other")).well
    await eventually(lambda: has_ended(pid))


async def test_process_that_merely_has_the_number_of_an_earlier_one_lives(place: Place) -> None:
    assert (await place.run("true")).well
    other = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    folder = place.host.disk / ".hostler"
    for born in ("", "12345", "Sat Nov 21 10:00:00 2026"):
        (folder / "running").write_text(f"{other.pid} {born}\n")
        assert (await place.run(f"echo {born}")).well
        assert other.returncode is None
    os.kill(other.pid, 9)
    assert await other.wait() == -9


async def test_home_that_cannot_be_written_is_told_and_nothing_counts_as_applied(
    place: Place,
) -> None:
    (place.host.disk / ".hostler").write_text("in the way")
    found = await place.run(OWNER_TAG)
    assert (found.well, found.applied) == (False, "")
    assert "at the host" in found.error


@pytest.mark.parametrize("note", ["", "garbage", "x" * 9000, "\x00\xff", "0" * 32])
async def test_note_that_makes_no_sense_counts_as_none(place: Place, note: str) -> None:
    folder = place.host.disk / ".hostler"
    folder.mkdir()
    (folder / "applied").write_bytes(note.encode("latin-1"))
    found = await place.run(OWNER_TAG)
    assert (found.well, found.ran, found.cause) == (True, True, Cause.FIRST)


# ---- what comes back


async def test_output_comes_back_printable_and_in_all_languages(place: Place) -> None:
    hostile = r"\033[2J\000\007\377\342\200\256 \r"
    found = await place.run(f"printf '{hostile}'; echo 'Grüße, 世界'")
    assert found.well
    assert "Grüße, 世界" in found.output
    assert "\\x1b[2J\\x00\\x07\ufffd\\u202e \\r" in found.output
    assert all(c.isprintable() or c in "\n\t" for c in found.output)


async def test_huge_output_is_not_kept_and_its_end_is(place: Place) -> None:
    """100 MB go by; what the process holds grows by far less."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    order = place.order("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end")
    found = await place.prepare(replace(order, command=timedelta(seconds=50)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert found.well
    assert found.output.endswith("the end\n\n[exit 0]\n")
    assert len(found.output) <= 4000
    assert grown < 50_000  # kilobytes


async def test_commands_have_no_input(place: Place) -> None:
    assert (await place.run("cat >input; wc -c <input >count")).well
    assert place.read("count").strip() == "0"


# ---- the password of sudo


async def test_sudo_is_given_the_password_when_it_asks(place: Place) -> None:
    place.host.ask_for(PASSWORD)
    found = await place.run("sudo -S touch done")
    assert found.well
    assert (place.host.disk / "done").exists()
    assert "Password:" in found.output
    assert "hostler-" not in found.output


async def test_password_is_nowhere_but_in_the_input_of_sudo(place: Place) -> None:
    place.host.ask_for(PASSWORD)
    order = place.order(
        "cat >plain.in; env >plain.env",
        "sudo -S true; cat >after.in; env >after.env; tr '\\0' ' ' </proc/$$/cmdline >argv",
    )
    assert (await place.prepare(order)).well
    seen = [place.read(name) for name in ("plain.in", "plain.env", "after.in", "after.env", "argv")]
    assert seen[0] == seen[2] == ""
    assert "HOSTLER_MACHINE" in seen[1]
    assert "sudo -S" in seen[4]
    assert not any(PASSWORD in text or "battery" in text for text in seen)
    assert not any("battery" in command for command in place.host.commands)
    assert "battery" not in repr(order)


async def test_password_is_not_sent_to_a_sudo_that_does_not_ask(place: Place) -> None:
    """Else the command that sudo runs would read it, and `tee` would write it into a file."""
    found = await place.run("sudo -S timeout 1 tee got")
    assert "exit 124" in found.output
    assert place.read("got") == ""


async def test_question_that_only_looks_like_sudos_is_not_answered(place: Place) -> None:
    text = "printf Password:; timeout 1 cat >got # sudo -S"
    found = await place.run(text)
    assert "Password:" in found.output
    assert place.read("got") == ""


async def test_wrong_password_is_tried_once_and_told(place: Place) -> None:
    place.host.ask_for("another")
    found = await place.run("sudo -S true", OWNER_TAG)
    assert "sudo did not accept the password" in found.error
    assert place.host.wrong_passwords == 1
    assert place.read("marks") == ""


async def test_password_that_is_not_known_is_asked_for_in_vain(place: Place) -> None:
    place.host.ask_for(PASSWORD)
    found = await place.prepare(replace(place.order("sudo -S true"), password=None))
    assert "asks for the sudo password, which is not known" in found.error
    assert place.host.wrong_passwords == 0


@pytest.mark.parametrize(
    "text",
    [
        "echo {}; false",
        "true {}\nfalse",
        "for i in $(seq 1 700); do printf '%s' {}; done; false",
        "false {}",
    ],
)
async def test_password_that_a_command_prints_does_not_come_back(place: Place, text: str) -> None:
    password = "hunter2-hunter2-hunter2"
    order = replace(place.order(text.replace("{}", password)), password=Secret(password))
    found = await place.prepare(order)
    assert "failed with 1" in found.error
    assert "***" in found.output
    assert "hunter2" not in repr(found)


async def test_password_is_in_no_log(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """Not even where the library is asked to log all that it can."""
    place.host.ask_for(PASSWORD)
    with caplog.at_level(logging.DEBUG):
        assert (await place.run("sudo -S true")).well
        assert not (await place.run("sudo -S false")).well
    assert caplog.records
    assert "battery" not in caplog.text


async def test_cancelled_preparation_leaves_no_login_behind(place: Place) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await place.run("sleep 60")
    assert (await place.run(OWNER_TAG)).well


def question(pinned: Prepared, command: str) -> Question:
    return Question(machine=MACHINE, command=command, fingerprint=pinned.fingerprint, within=SHORT)


async def test_a_question_that_hangs_is_not_answered(place: Place) -> None:
    pinned = await place.run()
    asker = SshPreparer((place.host.key,))
    reply = await asker.ask(place.connection, question(pinned, "echo thinking; sleep 60"))
    assert reply.status is None
    assert "did not end within 0.4 s: thinking" in reply.text


async def test_a_question_tells_its_last_line_and_disturbs_no_list_that_runs(place: Place) -> None:
    pinned = await place.run("echo mine >>~/.hostler/running")
    before = place.read(".hostler/running")
    asker = SshPreparer((place.host.key,))
    asked = question(
        pinned, "echo first; printf 'two\\007jobs\\n\\n'; test \"$HOSTLER_MACHINE\" = x"
    )
    reply = await asker.ask(place.connection, asked)
    assert (reply.status, reply.text) == (1, "`busy` exited with 1: two\\x07jobs")
    assert place.read(".hostler/running") == before
