"""Run: the engine in the foreground, its events on standard output, until it is stopped."""

import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import structlog
from cyclopts import Parameter

from hostler.domain.errors import UsageError
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.logs import log_to
from hostler.frontends.cli.console.options import Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import ClusterOptions, Purpose, Services
from hostler.frontends.cli.engine_process import EngineProcess, Signals

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

Level = Literal["debug", "info", "warning", "error"]


RunFile = Annotated[
    Path | None, Parameter(help="the fleet file; with --kubernetes it may be left out")
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArguments:
    """Whether objects of a cluster are run, and of which."""

    kubernetes: Annotated[
        bool, Parameter(negative=(), help="run what objects of a cluster's namespace ask for")
    ] = False
    kubeconfig: Annotated[
        Path | None,
        Parameter(help="the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the Pod's own"),
    ] = None
    context: Annotated[
        str | None, Parameter(help="the context in it; default: its current one")
    ] = None
    namespace: Annotated[
        str | None, Parameter(help="the namespace; default: the context's, or the Pod's")
    ] = None
    state: Annotated[
        Path | None,
        Parameter(
            help="the folder for secrets, and without FILE for records; default: in the cluster"
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class RunCommand:
    """The command that acts: all others record requests, or read."""

    services: Services
    guard: Guard

    def run(
        self,
        file: RunFile = None,
        /,
        *,
        cluster: ClusterArguments | None = None,
        log_level: Annotated[
            Level, Parameter(name="--log", help="the lowest level of events to print")
        ] = "info",
        json: Json = False,
    ) -> int:
        """Run the engine for every fleet of the file until Ctrl-C; machines stay as they are.

        SIGHUP, or `hostler reload`, makes it read the file again. With `--kubernetes`, fleets,
        providers and hosts are objects of a cluster's namespace, beside those of the file or
        without any file.
        """
        log_to(sys.stdout, json=json or not sys.stdout.isatty(), level=log_level)
        named = cluster or ClusterArguments()
        if named.kubernetes:
            return self.guard(json, lambda screen: self._run_in_cluster(file, named, screen))
        return self.guard(json, lambda screen: self._run(_named(file, named), screen))

    async def _run_in_cluster(
        self, file: Path | None, named: ClusterArguments, screen: Screen
    ) -> int:
        options = ClusterOptions(
            file=file,
            kubeconfig=named.kubeconfig,
            context=named.context,
            namespace=named.namespace,
            state=named.state,
        )
        await self.services.run_in_cluster(options)
        return _stopped(screen)

    async def _run(self, file: Path, screen: Screen) -> int:
        signals = Signals()
        with signals.heard(signal.SIGHUP):
            config = self.services.load(file)
            async with (
                self.services.store(config, Purpose.ENGINE) as store,
                self.services.metrics(config) as metrics,
                self.services.frontends(config) as frontends,
            ):
                process = EngineProcess(self.services, store, metrics, frontends, signals)
                await process.run(config)
        return _stopped(screen)


def _named(file: Path | None, named: ClusterArguments) -> Path:
    """Return the file; UsageError where there is none, or what only goes with a cluster."""
    if named != ClusterArguments():
        raise UsageError("--kubeconfig, --context, --namespace and --state go with --kubernetes")
    if file is None:
        raise UsageError("name the fleet file, or say --kubernetes")
    return file


def _stopped(screen: Screen) -> int:
    log.info("engine stopped", machines="stay as they are")
    screen.note("stopped; machines stay as they are, and stay on the bill")
    return Exit.OK
