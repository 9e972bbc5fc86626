"""Logs: structlog's events as lines for a person, or as JSON for a program."""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

import structlog

from .format import clean

LEVELS = ("debug", "info", "warning", "error")
_NUMBERS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Lines:
    """Writes a line for each event. A log that cannot be written stops nobody: lines are lost.

    Its disk is full, or whoever read it is gone: that is said once, on standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._lost = stream, False

    def __call__(self, *_: object) -> "_Lines":
        """Return the logger that structlog asks for."""
        return self

    def msg(self, message: str) -> None:
        """Write a line, or lose it."""
        try:
            self._stream.write(f"{message}\n")
            self._stream.flush()
        except (OSError, ValueError) as error:
            if not self._lost:
                self._lost = True
                with suppress(OSError, ValueError):
                    sys.stderr.write(f"hostler: log lines are lost, and it goes on: {error}\n")

    log = debug = info = warning = error = critical = exception = msg


def log_to(stream: TextIO, *, json: bool, level: str = "info") -> None:
    """Send this process's events to a stream."""
    last: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if json
        else structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    traces = [structlog.processors.format_exc_info] if json else []
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso" if json else "%H:%M:%S", utc=json),
            *traces,
            *([] if json else [_printable]),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_NUMBERS[level]),
        logger_factory=_Lines(stream),
        cache_logger_on_first_use=False,
    )


class _Records(logging.Handler):
    """Makes events of what libraries log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record with its logger's name, and its traceback where it has one."""
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit their format
            text = f"{record.msg} {record.args!r}"
        trace = {"exc_info": record.exc_info} if record.exc_info else {}
        log: structlog.stdlib.BoundLogger = structlog.get_logger()
        log.log(record.levelno, text, logger=record.name, **trace)


@contextmanager
def libraries_heard() -> Generator[None]:
    """Log in the block what libraries warn of as events too: nobody else reads their lines."""
    records, root = _Records(logging.WARNING), logging.getLogger()
    root.addHandler(records)
    try:
        yield
    finally:
        root.removeHandler(records)


def _printable(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """Let no text from outside steer the terminal."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception":
            event[key] = clean(value)
    return event


def log_nothing_below(level: str) -> None:
    """Let commands that print results be quiet: only what is this grave goes to standard error."""
    log_to(sys.stderr, json=False, level=level)
