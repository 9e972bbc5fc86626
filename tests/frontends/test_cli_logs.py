"""Logs: what libraries warn of is in the log of an engine as its own events are."""

import json
import logging
import os
from collections.abc import Iterator
from io import StringIO

import pytest
import structlog

from hostler.frontends.cli.console.logs import libraries_heard, log_to


@pytest.fixture(autouse=True)
def _own_settings() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def fail_of(logger: logging.Logger) -> None:
    try:
        os.environ.pop("no such name")
    except KeyError:
        logger.exception("Error handling request from %s", "192.0.2.1")


def test_a_librarys_failure_is_one_line_of_json_with_its_trace() -> None:
    """Whoever sent nonsense to the port of metrics put a bare trace between the lines of JSON."""
    stream, logger = StringIO(), logging.getLogger("aiohttp.server")
    log_to(stream, json=True)
    with libraries_heard():
        fail_of(logger)
        wrong = {"msg": "%d", "args": ("no number",), "levelno": logging.WARNING}
        logging.getLogger().handlers[-1].handle(logging.makeLogRecord(wrong))
        logger.info("nobody wants to know")
    failure, warning = map(json.loads, stream.getvalue().splitlines())
    assert failure["event"] == "Error handling request from 192.0.2.1"
    assert (failure["level"], failure["logger"]) == ("error", "aiohttp.server")
    assert failure["exception"].endswith("KeyError: 'no such name'")
    assert (warning["level"], warning["event"]) == ("warning", "%d ('no number',)")


def test_libraries_are_heard_by_a_person_too_and_only_in_the_block() -> None:
    stream = StringIO()
    log_to(stream, json=False)
    with libraries_heard():
        fail_of(logging.getLogger("grpclib.server"))
    fail_of(logging.getLogger("grpclib.server"))
    assert stream.getvalue().count("Error handling request from 192.0.2.1") == 1
    assert "KeyError: 'no such name'" in stream.getvalue()
