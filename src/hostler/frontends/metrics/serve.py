"""Serve: /metrics for Prometheus, /healthz and /readyz for whoever keeps this process."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager

from aiohttp import web

from hostler.config.values import Listen
from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName

from .metrics import PrometheusMetrics

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@asynccontextmanager
async def serving(
    listen: Listen, metrics: PrometheusMetrics, fleets: Collection[FleetName]
) -> AsyncGenerator[Listen]:
    """Serve until the block ends; gives where (a port of 0 is any). ConfigError: it cannot.

    `fleets` are those that must have had a cycle; a collection that changes is read each time.
    """
    runner = web.AppRunner(application(metrics, fleets), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, listen.host, listen.port)
        try:
            await site.start()
        except OSError as error:
            message = f"cannot listen on {listen.host}:{listen.port}: {error.strerror}"
            raise ConfigError(f"metrics.listen: {message}") from error
        yield Listen(host=listen.host, port=_port(runner, listen))
    finally:
        await runner.cleanup()


def _port(runner: web.AppRunner, listen: Listen) -> int:
    address: object = next(iter(runner.addresses), None)
    if isinstance(address, tuple) and isinstance(address[1], int):
        return address[1]
    return listen.port


def application(metrics: PrometheusMetrics, fleets: Collection[FleetName]) -> web.Application:
    """Return the three pages."""
    app = web.Application()
    app.add_routes(
        [
            web.get("/metrics", _metrics(metrics)),
            web.get("/healthz", _healthy),
            web.get("/readyz", _ready(metrics, fleets)),
        ]
    )
    return app


_Page = Callable[[web.Request], "web.StreamResponse"]


def _metrics(metrics: PrometheusMetrics):
    async def page(request: web.Request) -> web.Response:
        del request
        return web.Response(body=metrics.page(), headers={"Content-Type": PROMETHEUS})

    return page


async def _healthy(request: web.Request) -> web.Response:
    """The process answers: its loop goes round."""
    del request
    return web.Response(text="ok\n")


def _ready(metrics: PrometheusMetrics, fleets: Collection[FleetName]):
    async def ready(request: web.Request) -> web.Response:
        """Every fleet has been observed and decided on once."""
        del request
        missing = sorted(set(fleets) - metrics.reconciled())
        if missing:
            text = f"not yet: no cycle of {', '.join(missing)}\n"
            return web.Response(status=503, text=text)
        return web.Response(text="ok\n")

    return ready
