"""SSH asks a machine to shut down, by a real server on loopback."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncssh
import msgspec
import pytest
from power_rig import MethodRig
from ssh_rig import HOST_KEY, listening

from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.power import PowerAction, PowerState
from hostler.providers.power.methods.ssh import Ssh, SshTable
from hostler.simulators.power.box import Box


@asynccontextmanager
async def machine(folder: Path, **more: object) -> AsyncGenerator[MethodRig]:
    """Serve a machine whose login goes off at `off`, loses the line at `drop`, hangs at `hang`."""
    box = Box(name="box-1", time=asyncio.get_running_loop().time, on=True)

    async def serve(process: asyncssh.SSHServerProcess[str]) -> None:
        box.journal.append(process.command or "")
        match process.command:
            case "hang":
                await process.wait_closed()
            case "drop":
                box.on = False
                process.channel.get_connection().abort()
            case "forbidden" | "no-such-program":
                process.stdout.write("sudo: a password is required\n")
                process.exit(1 if process.command == "forbidden" else 127)
                return
            case _:
                box.on = False
        process.exit(0)

    async with listening(folder, serve) as known:
        yield MethodRig(Ssh(), box, msgspec.convert(known | more, SshTable))


async def test_the_machine_is_asked_once_and_goes_off(tmp_path: Path) -> None:
    async with machine(tmp_path) as rig:
        assert isinstance(await rig.open().act(PowerAction.OFF_SOFT), Done)
        assert not rig.has_power()
        assert rig.arrived() == ("sudo -n systemctl poweroff",)


async def test_a_line_that_breaks_off_and_one_that_hangs_promise_nothing(tmp_path: Path) -> None:
    async with machine(tmp_path, command="drop") as rig:
        assert isinstance(await rig.open().act(PowerAction.OFF_SOFT), Unknown)
    async with machine(tmp_path, command="hang", deadline=timedelta(seconds=0.5)) as rig:
        assert isinstance(await rig.open().act(PowerAction.OFF_SOFT), Unknown)
        assert rig.has_power()


async def test_a_command_that_fails_is_not_taken_for_accepted(tmp_path: Path) -> None:
    async with machine(tmp_path, command="forbidden") as rig:
        outcome = await rig.open().act(PowerAction.OFF_SOFT)
        assert isinstance(outcome, Unknown)
        text = "the command ended with the exit status 1: sudo: a password is required"
        assert outcome.text == text
    async with machine(tmp_path, command="no-such-program") as rig:
        outcome = await rig.open().act(PowerAction.OFF_SOFT)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert rig.has_power()


async def test_another_host_is_told_nothing(tmp_path: Path) -> None:
    async with machine(tmp_path, fingerprint=f"SHA256:{'A' * 43}") as rig:
        outcome = await rig.open().act(PowerAction.OFF_SOFT)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        assert rig.arrived() == ()


async def test_a_key_that_is_not_taken_is_tried_once(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(HOST_KEY.export_private_key())
    async with machine(tmp_path, key=str(other)) as rig:
        outcome = await rig.open().act(PowerAction.OFF_SOFT)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED


async def test_a_machine_at_which_nothing_listens_is_not_off(tmp_path: Path) -> None:
    async with machine(tmp_path, port=1) as rig:
        power = rig.open()
        outcome = await power.act(PowerAction.OFF_SOFT)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.NOT_SENT
        assert (await power.query()).state is PowerState.UNKNOWN


def test_check_and_missing_name_what_is_wrong(tmp_path: Path) -> None:
    known = {"address": "a", "fingerprint": f"SHA256:{'A' * 43}", "key": "no-such-key"}
    settings = msgspec.convert(known | {"command": " "}, SshTable)
    assert Ssh().check(settings) == ("command: expected what shuts it down",)
    (lack,) = Ssh().missing(settings, tmp_path, {})
    assert lack.key == "key"
    with pytest.raises(msgspec.ValidationError, match="fingerprint"):
        msgspec.convert(known | {"fingerprint": "MD5:00"}, SshTable)
