"""The real preparer, against a host with a real SSH server on loopback."""

import asyncio
import logging
import os
import resource
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hostler.access.preparer import SshPreparer
from hostler.domain.ids import machine_id
from hostler.domain.policy.bootstrap import Cause
from hostler.domain.policy.host_keys import HostKey, Ruling, expected, judge
from hostler.ports.command import Question
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.providers.scaleway.common.settings import Secret
from hostler.testing.peers.sshd import SshHost, ssh_host

PASSWORD = "correct horse 'battery' staple"
MACHINE = machine_id(1)
SHORT = timedelta(milliseconds=400)
OWNER_TAG = 'echo "$HOSTLER_MACHINE" >>marks'


@dataclass(frozen=True, slots=True)
class Yard:
    """One host, and what may be asked of it."""

    host: SshHost

    @property
    def connection(self) -> Connection:
        return Connection(address=self.host.address, port=self.host.port, user="m1")

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

    async def prepare(self, order: Order) -> Prepared:
        return await SshPreparer((self.host.key,)).prepare(self.connection, order)

    def read(self, name: str) -> str:
        file = self.host.disk / name
        return file.read_text() if file.exists() else ""


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncGenerator[Yard]:
    async with ssh_host(tmp_path) as host:
        yield Yard(host)


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - it is the far side that is asked
            await asyncio.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


# ---- logging in, and the host's key


async def test_login_alone_proves_that_the_host_is_ready_and_runs_nothing(yard: Yard) -> None:
    found = await yard.run()
    assert found.well
    assert (found.cause, found.ran, found.applied) == (Cause.NOTHING, False, "")
    assert found.fingerprint == yard.host.fingerprint
    assert yard.host.logins == ["m1"]
    assert yard.host.commands == []


async def test_first_key_that_is_shown_is_told_and_the_same_one_passes(yard: Yard) -> None:
    first = await yard.run()
    retry_at = await yard.prepare(replace(yard.order(), fingerprint=first.fingerprint))
    assert retry_at.well
    assert retry_at.fingerprint == first.fingerprint
    assert not retry_at.wrong_key


async def test_other_key_than_the_pinned_one_is_told_nothing_not_even_a_login(yard: Yard) -> None:
    pinned = yard.host.fingerprint
    await yard.host.reinstall()
    found = await yard.prepare(replace(yard.order(OWNER_TAG), fingerprint=pinned))
    assert found.wrong_key
    assert not found.login
    assert found.fingerprint == yard.host.fingerprint != pinned
    assert pinned in found.error
    assert yard.host.logins == []
    assert yard.host.commands == []


async def test_wrong_key_that_is_shown_once_passes_by(yard: Yard) -> None:
    order = replace(yard.order(OWNER_TAG), fingerprint=yard.host.fingerprint)
    yard.host.estrange()
    assert (await yard.prepare(order)).wrong_key
    assert yard.host.logins == []
    assert (await yard.prepare(order)).well


async def test_new_key_is_pinned_only_with_a_recorded_wipe(yard: Yard) -> None:
    """The pin's rules and the preparer, together, over a reinstallation."""
    begin = datetime(2026, 6, 1, tzinfo=UTC)
    later = begin + timedelta(hours=2)
    first = judge(None, None, (await yard.run()).fingerprint, begin)
    host_key = first.host_key
    assert isinstance(host_key, HostKey)
    await yard.host.reinstall()

    unrecorded = await yard.prepare(
        replace(yard.order(OWNER_TAG), fingerprint=expected(host_key, None))
    )
    assert unrecorded.wrong_key
    assert judge(host_key, None, unrecorded.fingerprint, later).ruling is Ruling.REFUSE

    wiped = begin + timedelta(hours=1)
    recorded = await yard.prepare(
        replace(yard.order(OWNER_TAG), fingerprint=expected(host_key, wiped))
    )
    assert recorded.well
    then = judge(host_key, wiped, recorded.fingerprint, later)
    assert (then.ruling, then.host_key) == (
        Ruling.REPIN,
        HostKey(key=yard.host.fingerprint, at=later),
    )


async def test_host_that_takes_no_key_is_told_with_a_cure(yard: Yard) -> None:
    yard.host.rejects = True
    found = await yard.run(OWNER_TAG)
    assert not found.login
    assert "does not accept our key" in found.error
    assert "reinstall" in found.error
    assert yard.host.commands == []


async def test_host_that_refuses_connections_is_told(yard: Yard) -> None:
    await yard.host.stop()
    found = await yard.run(OWNER_TAG)
    assert found == Prepared(error=found.error)
    assert "Connection refused" in found.error


async def test_host_that_accepts_and_says_nothing_is_given_up(yard: Yard) -> None:
    await yard.host.hang()
    found = await yard.prepare(replace(yard.order(OWNER_TAG), login=SHORT))
    assert found == Prepared(error=found.error)
    assert "no login within 0.4 s" in found.error


async def test_host_that_is_slow_to_log_in_is_given_up_with_its_key_seen(yard: Yard) -> None:
    yard.host.slow = timedelta(seconds=2)
    found = await yard.prepare(replace(yard.order(OWNER_TAG), login=SHORT))
    assert not found.login
    assert found.fingerprint == yard.host.fingerprint
    assert "no login within 0.4 s" in found.error


async def test_host_without_an_address_is_told(yard: Yard) -> None:
    found = await SshPreparer().prepare(Connection(address=""), yard.order())
    assert found == Prepared(error="the host has no address yet: look again")


@pytest.mark.parametrize("address", ["a" * 300, "a..b", "ü" * 64 + ".test"])
async def test_address_that_can_be_none_is_an_answer(yard: Yard, address: str) -> None:
    found = await SshPreparer((yard.host.key,)).prepare(
        Connection(address=address, user="m1"), yard.order()
    )
    assert not found.login
    assert found.error.startswith(f"no login at m1@{address}:22")


async def test_key_file_that_is_none_is_an_answer(yard: Yard) -> None:
    found = await SshPreparer((b"not a key",)).prepare(yard.connection, yard.order())
    assert found == Prepared(error=found.error)
    assert "our own key cannot be read (KeyImportError)" in found.error
    assert yard.host.logins == []


async def test_private_address_is_tried_where_the_public_one_is_dead(yard: Yard) -> None:
    both = replace(yard.connection, address="127.77.0.1", internal=yard.host.address)
    assert (await SshPreparer((yard.host.key,)).prepare(both, yard.order())).well


async def test_stranger_at_the_public_address_ends_it_there(yard: Yard) -> None:
    order = replace(yard.order(OWNER_TAG), fingerprint="SHA256:another")
    both = replace(yard.connection, internal="127.77.0.1")
    found = await SshPreparer((yard.host.key,)).prepare(both, order)
    assert found.wrong_key
    assert yard.host.address in found.error


# ---- the commands


async def test_commands_run_once_in_order_and_know_whom_they_are_for(yard: Yard) -> None:
    order = yard.order(
        "echo one >>ran", f"{OWNER_TAG}; echo $HOSTLER_ADDRESS >>ran", "echo two >>ran"
    )
    first = await yard.prepare(order)
    assert first.well
    assert first.ran
    assert (first.cause, first.applied) == (Cause.FIRST, order.wanted)
    retry_at = await yard.prepare(replace(order, applied=first.applied))
    assert retry_at.well
    assert (retry_at.cause, retry_at.ran, retry_at.applied) == (Cause.CURRENT, False, order.wanted)
    assert yard.read("ran").split() == ["one", "127.0.0.1", "two"]
    assert yard.read("marks").split() == [MACHINE]


async def test_lost_record_runs_nothing_again(yard: Yard) -> None:
    await yard.run(OWNER_TAG)
    assert (await yard.run(OWNER_TAG)).cause is Cause.CURRENT
    assert len(yard.read("marks").split()) == 1


async def test_commands_run_again_after_a_reinstallation_whatever_the_record_says(
    yard: Yard,
) -> None:
    first = await yard.run(OWNER_TAG)
    await yard.host.reinstall()
    retry_at = await yard.prepare(replace(yard.order(OWNER_TAG), applied=first.applied))
    assert (retry_at.well, retry_at.ran, retry_at.cause) == (True, True, Cause.EMPTIED)
    assert yard.read("marks").split() == [MACHINE]


async def test_other_list_runs_and_so_does_the_first_one_after_it(yard: Yard) -> None:
    first = await yard.run(OWNER_TAG)
    other = await yard.run(OWNER_TAG, "echo more")
    assert (other.cause, other.ran) == (Cause.DRIFT, True)
    assert other.applied != first.applied
    assert (await yard.run(OWNER_TAG)).cause is Cause.DRIFT
    assert len(yard.read("marks").split()) == 3


async def test_drift_that_failed_half_way_does_not_pass_for_the_old_list(yard: Yard) -> None:
    old = await yard.run(OWNER_TAG)
    half = await yard.run("touch half", "false")
    assert (half.well, half.applied) == (False, "")
    back = await yard.prepare(replace(yard.order(OWNER_TAG), applied=old.applied))
    assert (back.cause, back.ran) == (Cause.EMPTIED, True)


async def test_host_that_goes_on_to_another_machine_runs_them_for_it(yard: Yard) -> None:
    await yard.run(OWNER_TAG)
    other = await yard.prepare(replace(yard.order(OWNER_TAG), machine=machine_id(2)))
    assert (other.cause, other.ran) == (Cause.MOVED, True)
    assert yard.read("marks").split() == [MACHINE, machine_id(2)]


async def test_commands_run_again_when_that_is_asked_for(yard: Yard) -> None:
    await yard.run(OWNER_TAG)
    retry_at = await yard.prepare(replace(yard.order(OWNER_TAG), forced=True))
    assert (retry_at.cause, retry_at.ran, retry_at.well) == (Cause.FORCED, True, True)
    assert len(yard.read("marks").split()) == 2


async def test_forced_run_that_failed_does_not_pass_for_an_earlier_one(yard: Yard) -> None:
    order = yard.order("test ! -e full", OWNER_TAG)
    assert (await yard.prepare(order)).well
    (yard.host.disk / "full").touch()
    assert not (await yard.prepare(replace(order, forced=True))).well
    (yard.host.disk / "full").unlink()
    assert (await yard.prepare(order)).ran


async def test_failing_command_stops_the_list_and_is_told_with_its_output(yard: Yard) -> None:
    order = yard.order("echo fine", "echo no room >&2; exit 7", OWNER_TAG)
    found = await yard.prepare(order)
    assert found.login
    assert not found.well
    assert not found.ran
    assert found.applied == ""
    assert "command 2 of 3" in found.error
    assert "failed with 7" in found.error
    assert "no room" in found.output
    assert yard.read("marks") == ""
    retry_at = await yard.prepare(replace(order, commands=("echo fine", "echo mended", OWNER_TAG)))
    assert (retry_at.well, retry_at.cause) == (True, Cause.FIRST)


async def test_command_that_is_ended_by_a_signal_is_told(yard: Yard) -> None:
    found = await yard.run("echo bye; kill -KILL $$", OWNER_TAG)
    assert "command 1 of 2" in found.error
    assert "was ended by the signal KILL" in found.error
    assert "[signal KILL]" in found.output
    assert yard.read("marks") == ""


async def test_command_that_is_no_shell_text_is_told(yard: Yard) -> None:
    found = await yard.run("if then")
    assert "command 1 of 1" in found.error
    assert not found.well


async def test_shell_that_greets_at_length_does_not_hide_the_note(yard: Yard) -> None:
    yard.host.greeting = "hostler: nonsense\nWelcome, ünicorn!\n" * 9000
    assert (await yard.run(OWNER_TAG)).well
    assert (await yard.run(OWNER_TAG)).cause is Cause.CURRENT


async def test_texts_with_quotes_and_lines_reach_the_shell_as_they_are(yard: Yard) -> None:
    text = "cat >'it'\"'\"'s' <<'END'\n$HOME \\ 'quoted' \"too\" ü\nEND"
    assert (await yard.run(text)).well
    assert yard.read("it's") == "$HOME \\ 'quoted' \"too\" ü\n"


async def test_command_that_takes_too_long_is_ended_and_told(yard: Yard) -> None:
    order = replace(yard.order("echo begun; echo $$ >pid; sleep 4; touch late"), command=SHORT)
    found = await yard.prepare(order)
    assert "command 1 of 1" in found.error
    assert "did not end within 0.4 s" in found.error
    assert "begun" in found.output
    assert not found.well
    await eventually(lambda: gone(int(yard.read("pid"))))
    assert not (yard.host.disk / "late").exists()


async def test_output_that_is_held_open_by_the_background_keeps_nobody_waiting(
    yard: Yard,
) -> None:
    found = await yard.run("sleep 60 & echo started", OWNER_TAG)
    assert found.well
    assert "started" in found.output


async def test_command_that_closes_its_output_is_waited_for(yard: Yard) -> None:
    found = await yard.run("exec >&- 2>&-; sleep 1; exit 3")
    assert "failed with 3" in found.error


async def test_connection_that_is_cut_is_an_answer_and_all_is_run_again(yard: Yard) -> None:
    yard.host.cuts = "deep water"
    order = yard.order(OWNER_TAG, "echo deep water; sleep 1")
    found = await yard.prepare(order)
    assert found.login
    assert "lost while running command 2 of 2" in found.error
    assert (found.applied, found.ran) == ("", False)
    yard.host.cuts = ""
    retry_at = await yard.prepare(order)
    assert retry_at.well
    assert len(yard.read("marks").split()) == 2


async def test_cut_before_the_first_command_runs_nothing(yard: Yard) -> None:
    yard.host.cuts = "hostler: applied"
    found = await yard.run(OWNER_TAG)
    assert (found.login, found.well, found.cause) == (True, False, None)
    assert "what is noted at the host cannot be read: lost" in found.error
    assert yard.read("marks") == ""


async def test_cut_while_the_note_is_written_runs_nothing_needlessly(yard: Yard) -> None:
    yard.host.cuts = "applied.new"
    found = await yard.run(OWNER_TAG)
    assert (found.ran, found.well, found.applied) == (True, False, "")
    assert "all ran, but that cannot be noted at the host: lost" in found.error
    yard.host.cuts = ""
    assert (await yard.run(OWNER_TAG)).cause is Cause.CURRENT
    assert len(yard.read("marks").split()) == 1


async def test_host_that_stalls_after_the_login_is_given_up(yard: Yard) -> None:
    yard.host.stalls = timedelta(seconds=3)
    found = await yard.prepare(replace(yard.order(OWNER_TAG), login=SHORT))
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
async def test_whatever_answers_at_the_port_is_an_answer(yard: Yard, says: bytes) -> None:
    await yard.host.hang(says)
    found = await yard.prepare(replace(yard.order(OWNER_TAG), login=SHORT))
    assert not found.login
    assert found.error.startswith("no login at m1@127.0.0.1:")
    assert len(found.error) < 500


async def test_what_an_earlier_try_left_running_is_ended_first_with_its_children(
    yard: Yard,
) -> None:
    yard.host.cuts = "begun"
    text = "echo begun; sleep 60 & echo $! >pid; wait"
    await yard.run(text)
    await eventually(lambda: yard.read("pid") != "")
    pid = int(yard.read("pid"))
    assert not gone(pid)
    yard.host.cuts = ""
    assert (await yard.run("echo other")).well
    await eventually(lambda: gone(pid))


async def test_process_that_merely_has_the_number_of_an_earlier_one_lives(yard: Yard) -> None:
    assert (await yard.run("true")).well
    other = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    folder = yard.host.disk / ".hostler"
    for born in ("", "12345", "Sat Nov 21 10:00:00 2026"):
        (folder / "running").write_text(f"{other.pid} {born}\n")
        assert (await yard.run(f"echo {born}")).well
        assert other.returncode is None
    os.kill(other.pid, 9)
    assert await other.wait() == -9


async def test_home_that_cannot_be_written_is_told_and_nothing_counts_as_applied(
    yard: Yard,
) -> None:
    (yard.host.disk / ".hostler").write_text("in the way")
    found = await yard.run(OWNER_TAG)
    assert (found.well, found.applied) == (False, "")
    assert "at the host" in found.error


@pytest.mark.parametrize("note", ["", "garbage", "x" * 9000, "\x00\xff", "0" * 32])
async def test_note_that_makes_no_sense_counts_as_none(yard: Yard, note: str) -> None:
    folder = yard.host.disk / ".hostler"
    folder.mkdir()
    (folder / "applied").write_bytes(note.encode("latin-1"))
    found = await yard.run(OWNER_TAG)
    assert (found.well, found.ran, found.cause) == (True, True, Cause.FIRST)


# ---- what comes back


async def test_output_comes_back_printable_and_in_all_languages(yard: Yard) -> None:
    hostile = r"\033[2J\000\007\377\342\200\256 \r"
    found = await yard.run(f"printf '{hostile}'; echo 'Grüße, 世界'")
    assert found.well
    assert "Grüße, 世界" in found.output
    assert "\\x1b[2J\\x00\\x07\ufffd\\u202e \\r" in found.output
    assert all(c.isprintable() or c in "\n\t" for c in found.output)


async def test_huge_output_is_not_kept_and_its_end_is(yard: Yard) -> None:
    """100 MB go by; what the process holds grows by far less."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    order = yard.order("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end")
    found = await yard.prepare(replace(order, command=timedelta(seconds=50)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert found.well
    assert found.output.endswith("the end\n\n[exit 0]\n")
    assert len(found.output) <= 4000
    assert grown < 50_000  # kilobytes


async def test_commands_have_no_input(yard: Yard) -> None:
    assert (await yard.run("cat >input; wc -c <input >count")).well
    assert yard.read("count").strip() == "0"


# ---- the password of sudo


async def test_sudo_is_given_the_password_when_it_asks(yard: Yard) -> None:
    yard.host.ask_for(PASSWORD)
    found = await yard.run("sudo -S touch done")
    assert found.well
    assert (yard.host.disk / "done").exists()
    assert "Password:" in found.output
    assert "hostler-" not in found.output


async def test_password_is_nowhere_but_in_the_input_of_sudo(yard: Yard) -> None:
    yard.host.ask_for(PASSWORD)
    order = yard.order(
        "cat >plain.in; env >plain.env",
        "sudo -S true; cat >after.in; env >after.env; tr '\\0' ' ' </proc/$$/cmdline >argv",
    )
    assert (await yard.prepare(order)).well
    seen = [yard.read(name) for name in ("plain.in", "plain.env", "after.in", "after.env", "argv")]
    assert seen[0] == seen[2] == ""
    assert "HOSTLER_MACHINE" in seen[1]
    assert "sudo -S" in seen[4]
    assert not any(PASSWORD in text or "battery" in text for text in seen)
    assert not any("battery" in command for command in yard.host.commands)
    assert "battery" not in repr(order)


async def test_password_is_not_sent_to_a_sudo_that_does_not_ask(yard: Yard) -> None:
    """Else the command that sudo runs would read it, and `tee` would write it into a file."""
    found = await yard.run("sudo -S timeout 1 tee got")
    assert "exit 124" in found.output
    assert yard.read("got") == ""


async def test_question_that_only_looks_like_sudos_is_not_answered(yard: Yard) -> None:
    text = "printf Password:; timeout 1 cat >got # sudo -S"
    found = await yard.run(text)
    assert "Password:" in found.output
    assert yard.read("got") == ""


async def test_wrong_password_is_tried_once_and_told(yard: Yard) -> None:
    yard.host.ask_for("another")
    found = await yard.run("sudo -S true", OWNER_TAG)
    assert "sudo did not accept the password" in found.error
    assert yard.host.wrong_passwords == 1
    assert yard.read("marks") == ""


async def test_password_that_is_not_known_is_asked_for_in_vain(yard: Yard) -> None:
    yard.host.ask_for(PASSWORD)
    found = await yard.prepare(replace(yard.order("sudo -S true"), password=None))
    assert "asks for the sudo password, which is not known" in found.error
    assert yard.host.wrong_passwords == 0


@pytest.mark.parametrize(
    "text",
    [
        "echo {}; false",
        "true {}\nfalse",
        "for i in $(seq 1 700); do printf '%s' {}; done; false",
        "false {}",
    ],
)
async def test_password_that_a_command_prints_does_not_come_back(yard: Yard, text: str) -> None:
    password = "hunter2-hunter2-hunter2"
    order = replace(yard.order(text.replace("{}", password)), password=Secret(password))
    found = await yard.prepare(order)
    assert "failed with 1" in found.error
    assert "***" in found.output
    assert "hunter2" not in repr(found)


async def test_password_is_in_no_log(yard: Yard, caplog: pytest.LogCaptureFixture) -> None:
    """Not even where the library is asked to log all that it can."""
    yard.host.ask_for(PASSWORD)
    with caplog.at_level(logging.DEBUG):
        assert (await yard.run("sudo -S true")).well
        assert not (await yard.run("sudo -S false")).well
    assert caplog.records
    assert "battery" not in caplog.text


async def test_cancelled_preparation_leaves_no_login_behind(yard: Yard) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await yard.run("sleep 60")
    assert (await yard.run(OWNER_TAG)).well


def question(pinned: Prepared, command: str) -> Question:
    return Question(machine=MACHINE, command=command, fingerprint=pinned.fingerprint, within=SHORT)


async def test_a_question_that_hangs_is_not_answered(yard: Yard) -> None:
    pinned = await yard.run()
    asker = SshPreparer((yard.host.key,))
    reply = await asker.ask(yard.connection, question(pinned, "echo thinking; sleep 60"))
    assert reply.status is None
    assert "did not end within 0.4 s: thinking" in reply.text


async def test_a_question_tells_its_last_line_and_disturbs_no_list_that_runs(yard: Yard) -> None:
    pinned = await yard.run("echo mine >>~/.hostler/running")
    before = yard.read(".hostler/running")
    asker = SshPreparer((yard.host.key,))
    asked = question(
        pinned, "echo first; printf 'two\\007jobs\\n\\n'; test \"$HOSTLER_MACHINE\" = x"
    )
    reply = await asker.ask(yard.connection, asked)
    assert (reply.status, reply.text) == (1, "`busy` exited with 1: two\\x07jobs")
    assert yard.read(".hostler/running") == before
