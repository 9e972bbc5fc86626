"""Life: the plugin ends when it should, and only then."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from google.protobuf.message import Message
from goplugin_kit import NOW, Served, echo, served, text_of, texts, unary

from hostler.frontends.fleeting.goplugin import life as subject
from hostler.frontends.fleeting.goplugin.exchange import Calls
from hostler.frontends.fleeting.goplugin.launch import Launch
from hostler.frontends.fleeting.goplugin.life import Host, Life
from hostler.frontends.fleeting.goplugin.logging.hostlog import HostLog
from hostler.frontends.fleeting.goplugin.place import Place, listening, sweep

PATH = "/t.Group/Call"
NUMBERS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(subject, "_QUIET", 0.1)
    monkeypatch.setattr(subject, "_WATCH", 0.02)
    handlers = {number: signal.getsignal(number) for number in NUMBERS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@asynccontextmanager
async def living(tmp_path: Path) -> AsyncGenerator[tuple[Served, "asyncio.Task[str]"]]:
    """Serve a call that waits where it is asked to, and live until the end."""

    async def handle(request: Message) -> Sequence[Message]:
        if text_of(request) == "slow":
            await asyncio.Event().wait()
        return texts("done")

    async with served(tmp_path, unary(handle)) as plugin, asyncio.TaskGroup() as tasks:
        lived = tasks.create_task(plugin.life.lived())
        await asyncio.sleep(0)
        yield plugin, lived
        plugin.life.stop("the test is over")


async def test_sigterm_at_rest_is_obeyed(tmp_path: Path) -> None:
    async with living(tmp_path) as (_, lived):
        os.kill(os.getpid(), signal.SIGTERM)
        assert await lived == "SIGTERM"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
async def test_ctrl_c_and_the_runners_graceful_stop_are_not_obeyed(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with living(tmp_path) as (plugin, lived):
        os.kill(os.getpid(), number)
        await asyncio.sleep(0.3)
        assert not lived.done()
        assert [line["signal"] for line in plugin.logged()] == [number.name]


async def test_sigterm_while_a_call_runs_is_ignored(tmp_path: Path) -> None:
    async with living(tmp_path) as (plugin, lived), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(plugin.call(PATH, "slow"))
        while not plugin.calls.running:  # noqa: ASYNC110 - it begins at the other end of a socket
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.3)
        assert not lived.done()
        call.cancel()
        await asyncio.sleep(0.2)
        assert not lived.done()


async def test_sigterm_is_taken_back_by_a_call_that_begins_soon_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "_QUIET", 0.5)
    async with living(tmp_path) as (plugin, lived):
        await plugin.call(PATH)  # so that they are connected
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.02)
        assert await plugin.call(PATH) == "done"
        await asyncio.sleep(0.8)
        assert not lived.done()
        os.kill(os.getpid(), signal.SIGTERM)
        assert await lived == "SIGTERM", "a later one, at rest, is obeyed"


async def test_the_plugin_ends_when_nobody_reads_its_stdout_any_more() -> None:
    reading, writing = os.pipe()
    log = HostLog(lambda: NOW, writing)
    life = Life(Host(os.getppid(), writing), Calls(log), log)
    async with asyncio.TaskGroup() as tasks:
        lived = tasks.create_task(life.lived())
        await asyncio.sleep(0.1)
        assert not lived.done()
        os.close(reading)
        assert await lived == "the host has exited"
    os.close(writing)


@pytest.mark.parametrize("stdout", ["file", "socket"])
async def test_stdout_may_be_something_else_than_a_pipe(tmp_path: Path, stdout: str) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        opened = (
            os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT) if stdout == "file" else os.dup(2)
        )
        assert not Host(os.getppid(), opened).has_exited()
        assert Host(os.getppid() + 1, opened).has_exited()
        os.close(opened)
        assert not plugin.life.reason


async def test_the_first_reason_counts(tmp_path: Path) -> None:
    async with served(tmp_path) as plugin:
        plugin.life.stop("one")
        plugin.life.stop("two")
        assert await plugin.life.lived() == "one"


def placed(folder: Path | None = None, group: str = "") -> Place:
    return listening(Launch(versions=(1,), socket_folder=folder, socket_group=group))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_socket_lies_in_a_private_folder_that_goes_with_it() -> None:
    place = placed()
    assert place.path.parent == place.folder
    assert mode(place.folder) == 0o700
    assert mode(place.path) == 0o600
    place.remove()
    assert not place.folder.exists()
    place.remove()


def test_a_host_that_names_a_folder_finds_the_socket_right_in_it(tmp_path: Path) -> None:
    place = placed(tmp_path)
    assert place.path.parent == tmp_path
    assert place.folder != tmp_path
    assert list(place.folder.iterdir()) == [], "keys lie elsewhere"
    place.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("own", [True, False])
def test_a_group_of_the_hosts_choice_may_connect(tmp_path: Path, own: bool) -> None:
    place = placed(None if own else tmp_path, str(os.getgid()))
    assert mode(place.path) == 0o660
    assert place.path.stat().st_gid == os.getgid()
    assert mode(place.folder) == (0o710 if own else 0o700)
    place.remove()


def test_a_folder_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        placed(tmp_path / "absent")


def test_a_path_that_is_too_long_for_a_socket_is_avoided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    place = placed()
    assert len(str(place.path)) < 100
    place.remove()


@pytest.fixture
def tmp(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a short path, as that of a socket must be."""
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def killed() -> Place:
    """Return the place of a plugin that was killed: its socket is there, and nobody listens."""
    place = placed()
    place.socket.close()
    return place


def later(time: timedelta) -> datetime:
    return datetime.now(UTC) + time  # noqa: TID251 - the age of real files


def test_the_folders_of_killed_plugins_are_reclaimed_an_hour_later(tmp: Path) -> None:
    place = killed()
    assert sweep(later(timedelta(minutes=55))) == ()
    assert place.path.exists()
    assert sweep(later(timedelta(minutes=65))) == (place.folder,)
    assert list(tmp.iterdir()) == []


def test_a_folder_with_a_listener_or_with_anything_else_is_left_alone(tmp: Path) -> None:
    living, strange = placed(), killed()
    (strange.folder / "notes").write_text("mine")
    (tmp / "hostler-plugin-file").write_text("mine")
    (tmp / "hostler-plugin-link").symlink_to(killed().folder)
    assert len(sweep(later(timedelta(days=1)))) == 1, "only the one that the link points to"
    assert living.path.exists()
    assert strange.path.exists()
    living.remove()
