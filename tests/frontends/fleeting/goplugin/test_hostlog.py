"""HostLog: whatever this process says, and what goes wrong in it, ends as lines for the host."""

import asyncio
import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog

from hostler.frontends.fleeting.goplugin.logging.events import send_events
from hostler.frontends.fleeting.goplugin.logging.hostlog import HostLog, capture, in_loop

NOW = datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)
Lines = Callable[[], list[dict[str, object]]]


@pytest.fixture
def _restored() -> Iterator[None]:
    """Put back what `capture` takes over."""
    root = logging.getLogger()
    saved = root.handlers[:], root.level, logging.raiseExceptions
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook, sys.stdout, sys.stderr
    yield
    sys.excepthook, threading.excepthook, sys.unraisablehook, sys.stdout, sys.stderr = hooks
    logging.captureWarnings(capture=False)
    root.handlers[:], logging.raiseExceptions = saved[0], saved[2]
    root.setLevel(saved[1])


@pytest.fixture
def out(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "stderr", os.O_WRONLY | os.O_CREAT)
    yield opened
    os.close(opened)


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    return lambda: [json.loads(each) for each in (tmp_path / "stderr").read_text().splitlines()]


@pytest.fixture
def log(out: int) -> HostLog:
    return HostLog(lambda: NOW, out)


@pytest.mark.usefixtures("_restored")
def test_the_standard_librarys_records_are_lines(log: HostLog, lines: Lines) -> None:
    capture(log)
    logging.getLogger("some.library").warning("took %d s", 3)
    logging.getLogger("some.library").warning("took %d s", "three")
    logging.getLogger("some.library").info("chatter")
    first, second = lines()
    assert (first["@message"], first["@level"]) == ("took 3 s", "warn")
    assert first["logger"] == "some.library"
    assert "three" in str(second["@message"])


@pytest.mark.usefixtures("_restored")
def test_a_traceback_is_one_error_line(log: HostLog, lines: Lines) -> None:
    capture(log)
    try:
        fail()
    except RuntimeError:
        logging.getLogger("some.library").exception("failed")
    (line,) = lines()
    assert line["@level"] == "error"
    assert "RuntimeError: on purpose" in str(line["stacktrace"])


@pytest.mark.usefixtures("_restored")
def test_what_is_printed_is_lines(log: HostLog, lines: Lines) -> None:
    capture(log)
    print("one\ntwo", end="")  # noqa: T201 - the subject
    print(" more", file=sys.stdout)  # noqa: T201 - the subject
    assert [line["@message"] for line in lines()] == ["one", "two more"]


@pytest.mark.usefixtures("_restored")
def test_warnings_are_lines(log: HostLog, lines: Lines) -> None:
    capture(log)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    (line,) = lines()
    assert line["@level"] == "warn"
    assert "DeprecationWarning: old" in str(line["@message"])


@pytest.mark.usefixtures("_restored")
def test_exceptions_that_nobody_caught_are_error_lines(log: HostLog, lines: Lines) -> None:
    capture(log)
    error = RuntimeError("lost")
    sys.excepthook(RuntimeError, error, None)
    thread = threading.Thread(target=fail, name="worker")
    thread.start()
    thread.join()
    first, second = lines()
    assert first["@level"] == second["@level"] == "error"
    assert "RuntimeError: lost" in str(first["stacktrace"])
    assert second["thread"] == "worker"


def fail() -> None:
    raise RuntimeError("on purpose")


async def test_exceptions_in_a_loop_are_error_lines(log: HostLog, lines: Lines) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(in_loop(log))
    loop.call_soon(fail)
    await asyncio.sleep(0)
    loop.call_exception_handler({"message": "bare"})
    first, second = lines()
    assert "RuntimeError: on purpose" in str(first["stacktrace"])
    assert (second["@level"], second["@message"]) == ("error", "bare")


def test_structlogs_events_are_lines_with_their_keys(log: HostLog, lines: Lines) -> None:
    early = structlog.get_logger("early")
    send_events(log)
    early.bind(turn="t-1").warning("not all accepted", asked=3)
    structlog.get_logger().debug("detail", **{"@level": 5, "level": "x", "message": "y"})
    first, second = lines()
    assert first["@message"] == "not all accepted"
    assert (first["@level"], first["asked"]) == ("warn", 3)
    assert (first["turn"], first["logger"]) == ("t-1", "early")
    assert (second["@level"], second["message"]) == ("debug", "y")


def test_structlogs_exceptions_have_their_traceback(log: HostLog, lines: Lines) -> None:
    send_events(log)
    logger = structlog.get_logger("x")
    try:
        fail()
    except RuntimeError as error:
        logger.exception("a")
        logger.warning("b", exc_info=error)
        logger.warning("c", exc_info=sys.exc_info())
    logger.warning("d", exc_info=None)
    *with_trace, without = lines()
    assert [line["error"] for line in with_trace] == ["RuntimeError: on purpose"] * 3
    assert all("RuntimeError: on purpose" in str(line["stacktrace"]) for line in with_trace)
    assert "stacktrace" not in without


def test_a_level_may_be_the_lowest(log: HostLog, lines: Lines) -> None:
    send_events(log, "info")
    structlog.get_logger("x").debug("unseen")
    assert lines() == []


def test_a_log_that_nobody_reads_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    HostLog(lambda: NOW, writing).event("info", "into the void")
    os.close(writing)
    HostLog(lambda: NOW, writing).event("info", "into a closed one")


def test_lines_of_many_threads_are_whole(log: HostLog, lines: Lines) -> None:
    def say(name: str) -> None:
        for _ in range(50):
            log.event("info", name, why="x" * 5000)

    threads = [threading.Thread(target=say, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines()) == 200
