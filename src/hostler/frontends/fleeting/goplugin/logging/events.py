"""Events: structlog's, sent to the host. Imported late: structlog takes longer than a handshake."""

import sys
from collections.abc import MutableMapping
from typing import NoReturn, cast

import structlog

from .hostlog import HostLog, trace


class _Named:
    """What structlog calls a logger; it only keeps its name, for the last processor writes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def msg(self, **event: object) -> None:
        """Do nothing: no event comes this far."""

    debug = info = warning = error = critical = exception = msg


def send_events(log: HostLog, lowest: str = "debug") -> None:
    """Make every logger of structlog, made or to be made, write to this log."""

    def sent(logger: object, level: str, event: MutableMapping[str, object]) -> NoReturn:
        message = str(event.pop("event", ""))
        caught = _caught(event.pop("exc_info", None))
        fields = {**event, "logger": getattr(logger, "name", "")}
        if caught is not None:
            fields |= {"error": f"{type(caught).__name__}: {caught}", "stacktrace": trace(caught)}
        log.event(level, message, **{str(key): value for key, value in fields.items()})
        raise structlog.DropEvent

    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, sent],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=lambda *names: _Named(str(names[0]) if names else ""),
        cache_logger_on_first_use=False,
    )


def _caught(exc_info: object) -> BaseException | None:
    """Return the exception that is meant by what structlog accepts as exc_info."""
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        members = cast("tuple[object, ...]", exc_info)
        return next((one for one in members if isinstance(one, BaseException)), None)
    return sys.exc_info()[1] if exc_info else None
