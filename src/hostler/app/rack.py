"""Rack: the simulated rack in the foreground, with a fleet file by which an engine drives it."""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

from hostler.frontends.cli.console.exits import Exit
from hostler.simulators.power.rack.fleet_file import NotOurs
from hostler.simulators.power.rack.server import RackServer, Settings, serve, write_fleet

from .signals import end_by_signals


def main(settings: Settings, write_to: Path | None, *, as_json: bool) -> int:
    """Serve until a signal comes, and return the exit code."""
    try:
        return asyncio.run(_serve(settings, write_to, as_json=as_json))
    except NotOurs as error:
        sys.stderr.write(f"hostler: simulator: --write-fleet: {error}\n")
    except OSError as error:
        why = error.strerror or error
        sys.stderr.write(
            f"hostler: the rack cannot be served: {why} "
            "(--port, --guest-port and --write-fleet choose others)\n"
        )
    except KeyboardInterrupt:
        return int(Exit.OK)
    return int(Exit.USAGE)


async def _serve(settings: Settings, write_to: Path | None, *, as_json: bool) -> int:
    with suppress(asyncio.CancelledError):
        end_by_signals()
        async with serve(settings) as server:
            if write_to is not None:
                write_fleet(server, write_to)
            sys.stdout.write(_hello(server, write_to, as_json=as_json))
            sys.stdout.flush()
            await asyncio.Event().wait()
    return int(Exit.OK)


def _hello(server: RackServer, written: Path | None, *, as_json: bool) -> str:
    """Say where the page is, and how the rack is driven."""
    if as_json:
        found = {
            "url": server.url,
            "fleet_file": None if written is None else str(written),
            "machines": {one.name: one.method for one in server.rack.machines.values()},
        }
        return json.dumps(found) + "\n"
    drive = "start it with --write-fleet rack.toml for a fleet file"
    if written is not None:
        drive = f"hostler run {written}"
    lines = (
        f"# {len(server.rack.machines)} simulated machines; Ctrl-C ends them",
        f"# page:  {server.url}/",
        f"# faults:  curl {server.url}/_sim/faults",
        f"# driven by:  {drive}",
    )
    return "".join(f"{line}\n" for line in lines)
