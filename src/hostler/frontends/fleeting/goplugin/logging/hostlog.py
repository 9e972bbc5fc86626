"""HostLog: whatever this process has to say goes to the host, as lines that it can read.

Events of structlog, records of the standard library, warnings, exceptions that nobody caught, and
what a library prints, all end here. Writing a line never raises: no log is worth a plugin.
"""

import faulthandler
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

from .hclog import line

_STDERR = 2
_CAUSED = type[BaseException] | None

Now = Callable[[], datetime]


class HostLog:
    """Writes events as lines to a file descriptor, from any thread."""

    def __init__(self, now: Now, out: int = _STDERR) -> None:
        self._now = now
        self._out = out
        self._lock = threading.RLock()

    def event(self, level: str, message: str, /, **fields: object) -> None:
        """Write one event."""
        self.at(self._now(), level, message, fields)

    def at(self, at: datetime, level: str, message: str, fields: dict[str, object]) -> None:
        """Write one event of this time; nothing is raised."""
        try:
            made = line(level, message, at, fields)
        except Exception as error:  # noqa: BLE001 - the edge: no event may end the plugin
            made = line("error", "an event could not be written", at, {"why": repr(error)})
        self._write(made)

    def failure(self, message: str, error: BaseException, /, **fields: object) -> None:
        """Write an error with its whole traceback, in one line."""
        self.event("error", message, error=_summary(error), stacktrace=trace(error), **fields)

    def _write(self, data: bytes) -> None:
        """Write all of it, or drop it where nobody reads."""
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._out, data) :]
            except OSError:
                return


def trace(error: BaseException) -> str:
    """Return an exception's traceback, causes included, as one text."""
    return "".join(traceback.format_exception(error))


def _summary(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class Records(logging.Handler):
    """Hands the standard library's records on."""

    def __init__(self, log: HostLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record with its logger's name, and its traceback where it has one."""
        fields: dict[str, object] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            fields["stacktrace"] = trace(record.exc_info[1])
        at = datetime.fromtimestamp(record.created, UTC)
        self._log.at(at, record.levelname, _message(record), fields)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that do not fit their format: show both
        return f"{record.msg} {record.args!r}"


class Printed:
    """Stands for sys.stdout and sys.stderr: each line that is printed is an event."""

    encoding = "utf-8"
    errors = "replace"
    closed = False

    def __init__(self, log: HostLog) -> None:
        self._log = log
        self._begun = threading.local()

    def write(self, text: str) -> int:
        """Take text, and write each line that is whole."""
        *whole, rest = (getattr(self._begun, "text", "") + text).split("\n")
        self._begun.text = rest
        for printed in whole:
            if printed.strip():
                self._log.event("info", printed)
        return len(text)

    def flush(self) -> None:
        """Do nothing: a line is written when it is whole."""

    def isatty(self) -> bool:
        """Nobody sits there."""
        return False

    def fileno(self) -> int:
        """Return the descriptor beneath."""
        return _STDERR


def capture(log: HostLog) -> None:
    """Send everything that this process says through this log, from now on."""
    faulthandler.enable(_STDERR)
    logging.basicConfig(handlers=[Records(log)], level=logging.WARNING, force=True)
    logging.raiseExceptions = False
    logging.captureWarnings(capture=True)
    sys.stdout = sys.stderr = Printed(log)

    def uncaught(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
        log.failure("this is a bug in hostler: nobody caught an exception", error)

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            name = args.thread.name if args.thread else ""
            log.failure("this is a bug in hostler: a thread ended", args.exc_value, thread=name)

    def unraisable(args: "sys.UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            log.failure(args.err_msg or "an exception was ignored", args.exc_value)

    sys.excepthook = uncaught
    threading.excepthook = in_thread
    sys.unraisablehook = unraisable


def in_loop(log: HostLog) -> Callable[[object, dict[str, object]], None]:
    """Return what an event loop is to do with an exception that nobody waits for."""

    def handle(_: object, context: dict[str, object]) -> None:
        message = str(context.get("message", "an exception in the event loop"))
        error = context.get("exception")
        if isinstance(error, BaseException):
            log.failure(message, error)
        else:
            log.event("error", message)

    return handle
