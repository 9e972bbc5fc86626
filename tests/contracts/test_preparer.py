"""What every preparer promises, asked of the real one and of the fake that other tests rest on."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pytest

from hostler.access.preparer import SshPreparer
from hostler.domain.ids import machine_id
from hostler.domain.policy.bootstrap import Cause
from hostler.ports.command import Asker, Question
from hostler.ports.preparer import Order, Prepared, Preparer
from hostler.ports.provider import Connection
from hostler.testing.fakes.preparer import FakePreparer
from hostler.testing.peers.sshd import SshHost, ssh_host

ONE, TWO, BAD = "echo one >>ran", "echo two >>ran", "false"
ORDER = Order(machine=machine_id(1), commands=(ONE, TWO))


class Rig(Protocol):
    """One host, and how it is prepared."""

    connection: Connection

    @property
    def preparer(self) -> Preparer: ...

    @property
    def asker(self) -> Asker: ...

    def says(self, status: int) -> str:
        """Return a command that exits with this."""
        ...

    @property
    def ran(self) -> list[str]: ...

    async def reinstall(self) -> None: ...


@dataclass
class RealRig:
    host: SshHost

    def __post_init__(self) -> None:
        self.connection = Connection(address=self.host.address, port=self.host.port, user="m1")

    @property
    def preparer(self) -> Preparer:
        return SshPreparer((self.host.key,))

    @property
    def asker(self) -> Asker:
        return SshPreparer((self.host.key,))

    def says(self, status: int) -> str:
        return f'test -n "$HOSTLER_MACHINE" && echo at work >&2; exit {status}'

    @property
    def ran(self) -> list[str]:
        file = self.host.disk / "ran"
        return file.read_text().split() if file.exists() else []

    async def reinstall(self) -> None:
        await self.host.reinstall()


class FakeRig:
    def __init__(self) -> None:
        self.connection = Connection(address="192.0.2.1")
        self.preparer = self.asker = FakePreparer()
        self.preparer.failing.add(BAD)

    def says(self, status: int) -> str:
        self.preparer.statuses[ORDER.machine] = status
        return "busy"

    @property
    def ran(self) -> list[str]:
        return [text.split()[1] for text in self.preparer.disk("192.0.2.1").ran]

    async def reinstall(self) -> None:
        self.preparer.reinstall("192.0.2.1")


@pytest.fixture(params=["real", "fake"])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Rig]:
    if request.param == "fake":
        yield FakeRig()
        return
    async with ssh_host(tmp_path) as host:
        yield RealRig(host)


async def prepared(rig: Rig, order: Order = ORDER) -> Prepared:
    return await rig.preparer.prepare(rig.connection, order)


async def test_login_alone_is_ready_and_runs_nothing(rig: Rig) -> None:
    found = await prepared(rig, replace(ORDER, commands=()))
    assert (found.well, found.cause, found.applied) == (True, Cause.NOTHING, "")
    assert found.fingerprint.startswith("SHA256:")


async def test_commands_run_once_and_in_order(rig: Rig) -> None:
    first, again = await prepared(rig), await prepared(rig)
    assert (first.failed, first.ended) == (again.failed, again.ended) == (0, "")
    assert (first.well, first.ran, first.cause) == (True, True, Cause.FIRST)
    assert (again.well, again.ran, again.cause) == (True, False, Cause.CURRENT)
    assert first.applied == again.applied == ORDER.wanted
    assert rig.ran == ["one", "two"]


async def test_other_list_or_machine_or_a_request_runs_them_again(rig: Rig) -> None:
    await prepared(rig)
    causes = [
        (await prepared(rig, order)).cause
        for order in (
            replace(ORDER, commands=(TWO,)),
            replace(ORDER, commands=(TWO,), machine=machine_id(2)),
            replace(ORDER, commands=(TWO,), machine=machine_id(2), forced=True),
        )
    ]
    assert causes == [Cause.DRIFT, Cause.MOVED, Cause.FORCED]
    assert rig.ran == ["one", "two", "two", "two", "two"]


async def test_failing_command_stops_the_list_and_takes_the_note_away(rig: Rig) -> None:
    await prepared(rig)
    found = await prepared(rig, replace(ORDER, commands=(TWO, BAD, ONE)))
    assert (found.login, found.well, found.ran, found.applied) == (True, False, False, "")
    assert "command 2 of 3" in found.error
    assert (found.failed, found.ended) == (2, "exit 1")
    back = await prepared(rig, replace(ORDER, applied=ORDER.wanted))
    assert (back.well, back.cause) == (True, Cause.EMPTIED)
    assert rig.ran == ["one", "two", "two", "one", "two"]


async def test_reinstallation_changes_the_key_and_empties_the_disk(rig: Rig) -> None:
    first = await prepared(rig)
    pinned = replace(ORDER, fingerprint=first.fingerprint, applied=first.applied)
    assert (await prepared(rig, pinned)).well
    await rig.reinstall()
    found = await prepared(rig, pinned)
    assert (found.wrong_key, found.login, found.cause) == (True, False, None)
    assert rig.ran == []
    trusted = await prepared(rig, replace(pinned, fingerprint=""))
    assert (trusted.well, trusted.cause) == (True, Cause.EMPTIED)
    assert trusted.fingerprint == found.fingerprint != first.fingerprint


async def test_host_without_an_address_is_no_login(rig: Rig) -> None:
    rig.connection = Connection(address="")
    found = await prepared(rig)
    assert not found.login
    assert "address" in found.error


async def question(rig: Rig, status: int) -> Question:
    """Return a question to the host, whose key was pinned by a login."""
    found = await prepared(rig)
    return Question(machine=ORDER.machine, command=rig.says(status), fingerprint=found.fingerprint)


@pytest.mark.parametrize("status", [0, 1, 127])
async def test_a_question_is_answered_by_how_its_command_ends(rig: Rig, status: int) -> None:
    reply = await rig.asker.ask(rig.connection, await question(rig, status))
    assert reply.status == status
    assert f"exited with {status}" in reply.text


async def test_who_shows_another_key_is_asked_nothing(rig: Rig) -> None:
    asked = await question(rig, 1)
    await rig.reinstall()
    reply = await rig.asker.ask(rig.connection, asked)
    assert reply.status is None
    assert "another key" in reply.text


async def test_a_host_without_an_address_gives_no_answer(rig: Rig) -> None:
    asked = await question(rig, 1)
    reply = await rig.asker.ask(Connection(address=""), asked)
    assert reply.status is None
    assert reply.text
