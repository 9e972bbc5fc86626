"""Simulating: the simulated Scaleway in the foreground, with what a client needs to reach it."""

import asyncio
import sys
from contextlib import suppress
from typing import TypedDict, Unpack

from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.logs import log_to
from hostler.simulators.scaleway.faults.rates import BadFaultRates
from hostler.simulators.scaleway.http import Settings, SimulatorServer, run_simulator
from hostler.simulators.scaleway.instances.account.api_keys import ACCESS_KEY
from hostler.simulators.scaleway.state.options import MacOptions

from .signals import end_by_signals

SECRET = "11111111-1111-1111-1111-111111111111"  # noqa: S105 - the simulator takes any UUID
PROJECT = "22222222-2222-2222-2222-222222222222"
ZONE = "fr-par-1"


class Options(TypedDict):
    """The options of the command, as the simulator's own settings name them."""

    host: str
    port: int
    speed: float
    seed: int
    fault_rates: str
    guest_port: int | None
    rate: float
    macs: tuple[str, ...]
    mac_options: MacOptions
    ssh_port: int | None


def main(**options: Unpack[Options]) -> int:
    """Serve until a signal comes, and return the exit code."""
    log_to(sys.stderr, json=not sys.stderr.isatty(), level="info")
    try:
        return asyncio.run(_serve(Settings(**options, project=PROJECT)))
    except BadFaultRates as error:
        sys.stderr.write(f"hostler: --fault-rates: {error}\n")
    except ValueError as error:
        sys.stderr.write(f"hostler: simulator: {error}\n")
    except OSError as error:
        where = f"{options['host']}:{options['port']}"
        why = f"{error.strerror or error} (--port, --ssh and --guest-port choose others)"
        sys.stderr.write(f"hostler: cannot serve on {where}: {why}\n")
    except KeyboardInterrupt:
        return int(Exit.OK)
    return int(Exit.USAGE)


async def _serve(settings: Settings) -> int:
    with suppress(asyncio.CancelledError):
        end_by_signals()
        await run_simulator(settings, _hello)
    return int(Exit.OK)


def _hello(server: SimulatorServer) -> None:
    """Say how to reach it, as lines that a shell can take: all that official clients ask for."""
    variables = {
        "SCW_API_URL": server.url,
        "SCW_ACCESS_KEY": ACCESS_KEY,
        "SCW_SECRET_KEY": SECRET,
        "SCW_DEFAULT_ORGANIZATION_ID": server.world.options.organization,
        "SCW_DEFAULT_PROJECT_ID": PROJECT,
        "SCW_DEFAULT_ZONE": ZONE,
        "SCW_DEFAULT_REGION": ZONE.rsplit("-", 1)[0],
    }
    sys.stdout.writelines(f"export {name}={value}\n" for name, value in variables.items())
    if server.world.ssh_port:
        sys.stdout.write(f"# SSH on Macs: port {server.world.ssh_port} of their addresses\n")
    sys.stdout.flush()
