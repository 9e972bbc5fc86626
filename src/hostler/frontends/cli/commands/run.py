"""Run: the engine in the foreground, its events on standard output, until it is stopped."""

import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import structlog
from cyclopts import Parameter
from msgspec import Struct

from hostler.domain.errors import UsageError
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.logs import libraries_heard, log_to
from hostler.frontends.cli.console.options import Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import ClusterOptions, Purpose, Services
from hostler.frontends.cli.engine_process import EngineProcess, Signals

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)

Level = Literal["debug", "info", "warning", "error"]


RunFile = Annotated[
    Path | None, Parameter(help="the fleet file; with --kubernetes it may be left out")
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArguments:
    """Whether objects of a cluster are run, and of which of its namespaces."""

    kubernetes: Annotated[
        bool, Parameter(negative=(), help="run what objects of a cluster ask for")
    ] = False
    kubeconfig: Annotated[
        Path | None,
        Parameter(help="the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the Pod's own"),
    ] = None
    context: Annotated[
        str | None, Parameter(help="the context in it; default: its current one")
    ] = None
    namespace: Annotated[
        tuple[str, ...],
        Parameter(
            help="a namespace whose objects are run, several times or with commas for several; the "
            "first is the home, where Leases are; default: the context's, or the Pod's",
            negative=(),
        ),
    ] = ()
    all_namespaces: Annotated[
        bool,
        Parameter(negative=(), help="run the objects of all namespaces; --namespace is the home"),
    ] = False
    state: Annotated[
        Path | None,
        Parameter(
            help="the folder for secrets, and without FILE for records; default: in the cluster"
        ),
    ] = None


class RunCommand(Struct, frozen=True):
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
        providers and hosts are objects of a cluster's namespaces, beside those of the file or
        without any file.
        """
        log_to(sys.stdout, json=json or not sys.stdout.isatty(), level=log_level)
        named = cluster or ClusterArguments()
        with libraries_heard():
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
            namespaces=_namespaces(named.namespace),
            all_namespaces=named.all_namespaces,
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
        raise UsageError(
            "--kubeconfig, --context, --namespace, --all-namespaces and --state go with "
            "--kubernetes"
        )
    if file is None:
        raise UsageError("name the fleet file, or say --kubernetes")
    return file


def _namespaces(named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the namespaces that were named, each once; UsageError where one cannot be."""
    found = tuple(dict.fromkeys(name for text in named for name in text.split(",")))
    wrong = [name for name in found if _NAMESPACE.fullmatch(name) is None]
    if wrong:
        raise UsageError(f"--namespace {wrong[0]!r}: that is not the name of a namespace")
    return found


def _stopped(screen: Screen) -> int:
    log.info("engine stopped", machines="stay as they are")
    screen.note("stopped; any machines stay as they are, and on the bill")
    return Exit.OK
