"""Services: what go-plugin asks of every plugin: health, the controller, and the stdio stream.

From hashicorp/go-plugin v1.8.0, grpc_server.go, internal/plugin/*.proto, and grpc.health.v1. The
messages are small and fixed, so they stand here as bytes. GRPCBroker is not served: it carries
callbacks from plugin to host, of which fleeting has none, and a host goes on without it. Yet every
host opens its stream at the launch and asks nothing on it, so that is no call that runs.
"""

import asyncio
from collections.abc import Callable, Mapping

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from .exchange import Exchange, Route

_SERVING, _SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x03"
_NAMES = frozenset({b"", b"plugin"})
_STRING_1 = 0x0A


def services(stop: Callable[[str], None]) -> Mapping[str, Route]:
    """Return go-plugin's own methods by path; `stop` is told why to end."""

    async def shutdown(exchange: Exchange) -> None:
        await exchange.request()
        await exchange.answer([b""])
        stop("the host asked for the end")

    return {
        "/grpc.health.v1.Health/Check": _check,
        "/grpc.health.v1.Health/Watch": _watch,
        "/plugin.GRPCController/Shutdown": shutdown,
        "/plugin.GRPCStdio/StreamStdio": _stdio,
        "/plugin.GRPCBroker/StartStream": _broker,
    }


async def _check(exchange: Exchange) -> None:
    if not _is_known(await exchange.request()):
        raise GRPCError(Status.NOT_FOUND, "unknown service")
    await exchange.answer([_SERVING])


async def _watch(exchange: Exchange) -> None:
    """Tell the state once: it does not change while there is anybody to tell it."""
    known = _is_known(await exchange.request())
    await exchange.answer([_SERVING if known else _SERVICE_UNKNOWN])
    await asyncio.Event().wait()


async def _stdio(exchange: Exchange) -> None:
    """Keep the stream open, and empty: all that we print is log lines on stderr."""
    await exchange.request()
    await exchange.answer([])
    await asyncio.Event().wait()


async def _broker(exchange: Exchange) -> None:
    """Refuse whatever is asked of the broker, which is nothing for as long as the stream lives."""
    await exchange.request()
    raise GRPCError(Status.UNIMPLEMENTED, "no callbacks are served")


def _is_known(request: bytes) -> bool:
    """Tell whether a HealthCheckRequest, field 1 of which names a service, names ours."""
    if not request:
        return True
    return request[0] == _STRING_1 and request[1] == len(request) - 2 and request[2:] in _NAMES
