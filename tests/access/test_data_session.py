"""A machine's own script, at a host with a real SSH server on loopback and a real shell."""

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from prepared_host import PreparedHost, eventually

from hostler.access.data_scripts import beginning
from hostler.domain.ids import machine_id
from hostler.domain.policy.bootstrap_data import DataState
from hostler.ports.preparer import MachineData, Order, Prepared
from hostler.testing.peers.sshd import ssh_host

MACHINE, HEIR = machine_id(1), machine_id(2)
TOKEN = "abcdef.0123456789abcdef"
SCRIPT = "#!/bin/sh\necho $HOSTLER_MACHINE >>ran\n"


class Place(PreparedHost):
    """One host, and what is given to its machine."""

    async def run(
        self, script: str | bytes, *commands: str, within: float = 60.0, **changes: object
    ) -> Prepared:
        content = script.encode() if isinstance(script, str) else script
        data = MachineData(script=content, within=timedelta(seconds=within))
        return await self.prepare(
            replace(Order(machine=MACHINE, commands=commands, data=data), **changes)
        )

    def files(self) -> list[str]:
        return sorted(file.name for file in self.host.disk.glob(".hostler/data-*/*"))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    async with ssh_host(tmp_path) as host:
        yield Place(host)


async def test_a_script_runs_once_for_a_machine_after_the_fleets_commands(place: Place) -> None:
    found = await place.run(SCRIPT, "echo fleet >>ran")
    assert (found.well, found.data, found.error) == (True, DataState.DONE, "")
    assert place.read("ran") == f"fleet\n{MACHINE}\n"
    again = await place.run(SCRIPT + "echo changed since >>ran\n", "echo fleet >>ran")
    assert (again.well, again.data) == (True, DataState.DONE)
    assert place.read("ran") == f"fleet\n{MACHINE}\n"


async def test_the_next_machine_of_a_host_has_its_script_run(place: Place) -> None:
    await place.run(SCRIPT)
    assert (await place.run(SCRIPT, machine=HEIR)).data is DataState.DONE
    assert place.read("ran").split() == [MACHINE, HEIR]


async def test_a_script_is_in_no_command_and_leaves_no_file(place: Place) -> None:
    seen = (
        f"#!/bin/sh\n: {TOKEN}\nls -l .hostler/data-$HOSTLER_MACHINE/script >rights\nps ax >all\n"
    )
    assert (await place.run(seen)).data is DataState.DONE
    assert TOKEN not in " ".join(place.host.commands)
    assert TOKEN not in place.read("all")
    assert place.read("rights").startswith("-rw-------")
    assert place.files() == ["begun", "status"]


async def test_the_interpreter_of_the_first_line_runs_it(place: Place) -> None:
    found = await place.run("#!/usr/bin/env python3\nopen('ran', 'w').write('python')\n")
    assert (found.data, place.read("ran")) == (DataState.DONE, "python")


async def test_bytes_that_are_no_utf8_arrive_as_they_are(place: Place) -> None:
    assert (await place.run(b"#!/bin/sh\nprintf '%s' '\xe9\xff' >ran\n")).data is DataState.DONE
    assert (place.host.disk / "ran").read_bytes() == b"\xe9\xff"


async def test_the_largest_script_arrives_whole(place: Place) -> None:
    script = SCRIPT + "#" * (1_048_576 - len(SCRIPT) - 1) + "\n"
    assert (await place.run(script)).data is DataState.DONE
    assert place.read("ran") == f"{MACHINE}\n"


async def test_a_failure_is_told_with_the_last_lines_and_no_secret(place: Place) -> None:
    script = (
        f"#!/bin/sh\necho begin\necho 'PASSWORD=hunter'\necho joined with {TOKEN} >&2\n"
        "echo cannot reach the server\nexit 7\n"
    )
    found = await place.run(script)
    assert (found.well, found.data) == (False, DataState.FAILED)
    assert found.error == (
        "its bootstrap script failed with 7: ***=*** / joined with *** / cannot reach the server"
    )
    assert "cannot reach the server" in found.output
    assert not any(one in f"{found}" for one in (TOKEN, "hunter"))
    again = await place.run(script)
    assert (again.data, again.error) == (DataState.FAILED, "its bootstrap script failed with 7")


async def test_output_is_not_shown_where_nobody_knows_what_is_secret(place: Place) -> None:
    go = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.1; done\necho " + TOKEN + "\nexit 1\n"
    place.host.cuts = "given."
    first = asyncio.create_task(place.run(go))  # noqa: TID251 - it is looked in on meanwhile
    await eventually(lambda: "begun" in place.files())
    (place.host.disk / "go").touch()
    await first
    place.host.cuts = ""
    await eventually(lambda: "status" in place.files())
    missing = MachineData(problem="the Secret is gone")
    found = await place.prepare(Order(machine=MACHINE, data=missing))
    assert found.data is DataState.FAILED
    assert TOKEN not in f"{found}"


async def test_a_script_that_runs_is_neither_begun_again_nor_ended_by_a_broken_line(
    place: Place,
) -> None:
    script = SCRIPT + "sleep 3\necho end >>ran\n"
    place.host.cuts = "given."
    cut = await place.run(script)
    assert cut.data is DataState.RUNNING or "cannot be begun" in cut.error
    place.host.cuts = ""
    found = await place.run(script)
    assert found.data is DataState.DONE
    assert place.read("ran") == f"{MACHINE}\nend\n"


async def test_a_script_that_takes_too_long_is_ended_with_what_it_started(place: Place) -> None:
    script = "#!/bin/sh\n(sleep 6; echo late >>ran) &\nsleep 30\n"
    found = await place.run(script, within=2)
    assert found.data is DataState.FAILED
    assert "took too long" in found.error
    await asyncio.sleep(5)
    assert place.read("ran") == ""


async def test_a_script_that_was_cut_off_is_not_run_again(place: Place) -> None:
    """Its host was switched off, say: nothing proves how far it came."""
    script = SCRIPT + "sleep 30\n"
    running = asyncio.create_task(place.run(script))  # noqa: TID251 - it is struck meanwhile
    await eventually(lambda: place.read("ran") != "")
    await place.host.kill()
    await running
    found = await place.run(script)
    assert found.data is DataState.FAILED
    assert "was cut off" in found.error
    assert place.read("ran") == f"{MACHINE}\n"
    assert "script" not in place.files()


async def test_what_did_not_arrive_whole_is_not_begun(place: Place) -> None:
    cut = MachineData(script=SCRIPT.encode())
    object.__setattr__(cut, "script", _Short(SCRIPT.encode()))
    found = await place.prepare(Order(machine=MACHINE, data=cut))
    assert "did not arrive whole" in found.error
    assert (found.data, place.read("ran"), place.files()) == (None, "", [])
    assert (await place.run(SCRIPT)).data is DataState.DONE


class _Short(bytes):
    """Bytes that say that they are one more."""

    def __len__(self) -> int:
        return super().__len__() + 1


async def test_data_that_is_not_there_is_told_and_nothing_is_begun(place: Place) -> None:
    missing = MachineData(problem="the Secret fleet/w-1 is gone")
    found = await place.prepare(
        Order(machine=MACHINE, commands=("echo fleet >>ran",), data=missing)
    )
    assert (found.login, found.data) == (True, DataState.WAITING)
    assert found.error == "the Secret fleet/w-1 is gone"
    assert place.read("ran") == "fleet\n"
    assert (await place.run(SCRIPT, "echo fleet >>ran")).data is DataState.DONE


async def test_a_reinstalled_disk_has_the_script_run(place: Place) -> None:
    await place.run(SCRIPT)
    await place.host.reinstall()
    assert (await place.run(SCRIPT)).data is DataState.DONE
    assert place.read("ran") == f"{MACHINE}\n"


async def test_whoever_begins_it_second_begins_nothing(place: Place) -> None:
    """Two engines may come to the same point at once: only one of them makes the folder."""
    script = SCRIPT.encode()
    text = beginning(MACHINE, place.host.address, len(script), 60)
    for _ in range(2):
        process = await asyncio.create_subprocess_shell(
            text, stdin=PIPE, stdout=PIPE, env={**os.environ, "HOME": str(place.host.disk)},
            cwd=place.host.disk, start_new_session=True,
        )  # fmt: skip
        await process.communicate(script)
        assert process.returncode == 0
    found = await place.run(SCRIPT)
    assert (found.data, place.read("ran")) == (DataState.DONE, f"{MACHINE}\n")
