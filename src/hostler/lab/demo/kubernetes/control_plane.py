"""Control plane: Kubernetes' own programs with Cluster API's core, a given cluster, or a model.

Which one runs is said on the screen: what is simulated is never shown as real.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from random import Random
from threading import Event
from typing import TypeVar

from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.lab.controlplane.api_server import ApiServer, running
from hostler.lab.controlplane.controllers import controllers
from hostler.lab.controlplane.core import core
from hostler.lab.controlplane.programs import (
    CLUSTER_API,
    CONTROL_PLANE,
    CORE_VERSION,
    KUBERNETES_VERSION,
)
from hostler.ports.clock import Clock
from hostler.simulators.kubernetes.controllers.workloads import Workloads
from hostler.simulators.kubernetes.http import ADMIN, serve
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.testing.peers.go_hosts import Building, GoHosts, NoGo, go_program

T = TypeVar("T")

_KUBERNETES = f"Kubernetes {KUBERNETES_VERSION}"
_CORE = f"Cluster API's core {CORE_VERSION}"
STEP = 400
"""Packages between two lines about a build."""


class Choice(StrEnum):
    """Which control plane is asked for."""

    AUTO = "auto"
    REAL = "real"
    SIMULATED = "simulated"


class Kind(StrEnum):
    """Which control plane there is."""

    REAL = "real"
    GIVEN = "given"
    SIMULATED = "simulated"


class ControlPlane(Struct, frozen=True):
    """A control plane that serves; `name` is what it is, for a person."""

    kubeconfig: Path
    kind: Kind
    name: str


class Opening(Struct, frozen=True, kw_only=True):
    """What is needed to open one; `tell` says what is done, `folder` is thrown away by others."""

    folder: Path
    clock: Clock
    random: Random
    tell: Callable[[str], None]


@asynccontextmanager
async def opened(
    choice: Choice, existing: ControlPlane | None, opening: Opening
) -> AsyncGenerator[ControlPlane]:
    """Give a control plane until the block is left; ConfigError says why there can be none.

    `existing` is one that is there, and stays.
    """
    if existing is not None:
        yield existing
        return
    programs = None if choice is Choice.SIMULATED else await _built(choice, opening)
    if programs is None:
        async with _simulated(opening) as simulated:
            yield simulated
    else:
        async with _real(programs, opening) as real:
            yield real


# ---------------------------------------------------------------- real


async def _built(choice: Choice, opening: Opening) -> tuple[Path, Path] | None:
    """Return the programs, built if need be; None where they cannot be and need not be."""
    try:
        for programs, name in ((CONTROL_PLANE, "testcluster"), (CLUSTER_API, "core")):
            if not programs.has(name):
                go_program(programs.oldest)
        first = await _program(CONTROL_PLANE, "testcluster", _KUBERNETES, opening)
        second = await _program(CLUSTER_API, "core", _CORE, opening)
    except NoGo as error:
        if choice is Choice.REAL:
            raise ConfigError(f"the control plane cannot be built: {error}") from error
        opening.tell(f"the real control plane cannot be built: {str(error).splitlines()[0]}")
        return None
    return first, second


async def _program(programs: GoHosts, name: str, words: str, opening: Opening) -> Path:
    """Return one program; its first build takes minutes, and says how far it is."""
    if programs.has(name):
        opening.tell(f"{words} is built already")
        return await _in_thread(lambda: programs.program(name), Event())
    opening.tell(f"{words} is built from its Go modules, once: some minutes, up to 2,800 packages")
    ended, loop, last = Event(), asyncio.get_running_loop(), [0]

    def progress(packages: int) -> None:
        if packages >= last[0] + STEP:
            last[0] = packages
            loop.call_soon_threadsafe(opening.tell, f"{words}: {packages:,} packages so far")

    building = Building(progress=progress, ended=ended)
    return await _in_thread(lambda: programs.program(name, building=building), ended)


@asynccontextmanager
async def _real(programs: tuple[Path, Path], opening: Opening) -> AsyncGenerator[ControlPlane]:
    """Run Kubernetes' own programs and core on loopback; all of them end with the block."""
    ended, stack = Event(), ExitStack()

    def begin() -> ApiServer:
        server = stack.enter_context(running(programs[0], opening.folder, ended))
        stack.enter_context(controllers(server, ended))
        return stack.enter_context(core(server, programs[1], ended))

    try:
        opening.tell("etcd, API server, controllers, scheduler, kwok and Cluster API's core start")
        server = await _in_thread(begin, ended)
        yield ControlPlane(server.kubeconfig, Kind.REAL, f"{_KUBERNETES}, {_CORE}")
    finally:
        stack.close()  # by SIGKILL: their data is thrown away


async def _in_thread(work: Callable[[], T], ended: Event) -> T:
    """Do what blocks; where nobody waits any more, tell it so, and wait until it has stopped."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        ended.set()
        future.add_done_callback(_retrieve)
        await asyncio.wait((future,))
        raise


def _retrieve(future: "asyncio.Future[T]") -> None:
    """Take an exception off a future that nobody awaits, also after a second Ctrl-C."""
    if not future.cancelled():
        future.exception()


# ---------------------------------------------------------------- simulated


@asynccontextmanager
async def _simulated(opening: Opening) -> AsyncGenerator[ControlPlane]:
    """Serve hostler's own API server, in which nothing of Kubernetes runs."""
    opening.tell("the control plane is SIMULATED: hostler's own API server, and a model of core")
    server = KubernetesServer(opening.clock, opening.random)
    server.run(Workloads(job=lambda _: None, start=1.0, stop=1.0))
    async with serve(server) as served:
        path = opening.folder / "kubeconfig"
        path.touch(0o600)
        path.write_bytes(served.kubeconfig(ADMIN))
        name = "a SIMULATED API server and model of Cluster API's core"
        yield ControlPlane(path, Kind.SIMULATED, name)
