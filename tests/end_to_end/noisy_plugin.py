"""A plugin for the tests of this folder: its calls wait, make noise, and fail; run as a process."""

import asyncio
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime

from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue

from hostler.frontends.fleeting.contract import Method
from hostler.frontends.fleeting.goplugin.launch import launched
from hostler.frontends.fleeting.goplugin.logging.hostlog import HostLog
from hostler.frontends.fleeting.goplugin.offer import Offer
from hostler.frontends.fleeting.goplugin.serving import serve


async def wait(request: Message) -> Sequence[Message]:
    """Answer after as many seconds as are asked for."""
    assert isinstance(request, StringValue)
    await asyncio.sleep(float(request.value))
    return [request]


async def noise(request: Message) -> Sequence[Message]:
    """Say something in every way that a library could."""
    print("printed\non two lines")  # noqa: T201 - the subject
    print("to stderr", file=sys.stderr)  # noqa: T201 - the subject
    os.write(1, b"")
    logging.getLogger("library").error("an error %s", object())
    warnings.warn("a warning", RuntimeWarning, stacklevel=1)
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    return [request]


async def structured(request: Message) -> Sequence[Message]:
    """Send an event of structlog, as the engine does."""
    import structlog  # noqa: PLC0415 - late, as in the real plugin

    log = structlog.get_logger("engine")
    log.warning("decided", **{"@message": 3, "ids": ["a"], "huge": "x" * 200_000})
    return [request]


async def fail(request: Message) -> Sequence[Message]:
    """Fail as a bug does."""
    raise KeyError(str(request))


async def to_stdout(request: Message) -> Sequence[Message]:
    """Write to the descriptor that was stdout, beneath Python."""
    os.write(1, b'{"@level": "info", "@message": "beneath", "@timestamp": "x"}\n')
    return [request]


def make(log: HostLog) -> Offer:
    """Offer the calls above, and an end that may hang."""
    if "make fails" in sys.argv:
        raise ValueError("no schema")
    from hostler.frontends.fleeting.goplugin.logging.events import send_events  # noqa: PLC0415 - late

    send_events(log)
    handlers = {
        "Wait": wait,
        "Noise": noise,
        "Structured": structured,
        "Fail": fail,
        "Stdout": to_stdout,
    }
    if "threads hang" in sys.argv:
        threading.Thread(target=time.sleep, args=(60,)).start()
    return Offer(
        methods=[
            Method(
                path=f"/t.T/{name}",
                request=StringValue,
                reply=StringValue,
                streams=False,
                handle=handle,
            )
            for name, handle in handlers.items()
        ],
        end=(lambda: time.sleep(60)) if "end hangs" in sys.argv else (lambda: None),
    )


if __name__ == "__main__":
    sys.exit(serve(launched(os.environ), make, lambda: datetime.now(UTC)))
