"""The executable: SIGTERM and SIGHUP end what runs as Ctrl-C does, and never amid a step."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from hostler.app import command_line, main
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.engine_process import Signals

INTERRUPTED = 130


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """Put the handlers back that the test process had."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in ends}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is pending is discarded
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("own_handlers")
@pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_a_command_between_two_steps(
    monkeypatch: pytest.MonkeyPatch, ctrl_c: signal.Handlers, end: signal.Signals
) -> None:
    """It broke off what the event loop was in the midst of, and a demo waited for ever since.

    A shell lets what its script starts beside itself ignore Ctrl-C: SIGTERM was ignored with it.
    A terminal that was closed left what a command had put into files.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, ctrl_c)
    went_on = list[str]()

    async def work(screen: Screen) -> int:
        del screen
        os.kill(os.getpid(), end)
        went_on.append("the step ends")
        try:
            await asyncio.sleep(5)
        finally:
            went_on.append("and what is open is closed")
        return 0

    def run(argv: list[str]) -> int:
        del argv
        return guarded(json=False, work=work)

    monkeypatch.setattr(command_line, "run", run)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == INTERRUPTED
    assert went_on == ["the step ends", "and what is open is closed"]


@pytest.mark.usefixtures("own_handlers")
def test_under_nohup_a_closed_terminal_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str]) -> int:
        del argv
        os.kill(os.getpid(), signal.SIGHUP)
        return 7

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(command_line, "run", run)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 7


@pytest.mark.usefixtures("own_handlers")
def test_a_command_that_was_started_to_ignore_ctrl_c_ignores_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(screen: Screen) -> int:
        del screen
        signal.raise_signal(signal.SIGINT)  # to this thread: the tests' others block nothing
        await asyncio.sleep(0.01)
        return 7

    def run(argv: list[str]) -> int:
        del argv
        return guarded(json=False, work=work)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    monkeypatch.setattr(command_line, "run", run)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 7


@pytest.mark.usefixtures("own_handlers")
def test_who_hears_ctrl_c_itself_hears_it_however_it_was_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine that a script ran beside itself did not end by SIGINT any more."""
    signals = Signals()

    async def work(screen: Screen) -> int:
        del screen
        with signals.heard(signal.SIGINT):
            signal.raise_signal(signal.SIGINT)
            async with asyncio.timeout(5):
                await signals.came.wait()
        return 7

    def run(argv: list[str]) -> int:
        del argv
        return guarded(json=False, work=work)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    monkeypatch.setattr(command_line, "run", run)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 7
    assert signals.stop
