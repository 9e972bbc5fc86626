"""Run the official Go client against a simulated Scaleway, each time from source.

Call it as `python tests/simulators/go_client/run.py`.

It is no part of `make test`, because it needs Go and its module proxy. Exits as the client does.
"""

import asyncio
import os
import sys
from pathlib import Path

from hostler.simulators.scaleway.http import Settings, serve, world_of

LIMIT = 300.0
MACS = 3  # that the client orders; none can be deleted before a day has passed


async def main() -> int:
    """Start a simulator, run the client, print what is left, and return the client's exit code."""
    settings = Settings(port=0, speed=200.0)
    world = world_of(settings)
    world.console.set_stock("M4-S", "no_stock")
    async with serve(world, "127.0.0.1", 0, settings.speed) as server, asyncio.timeout(LIMIT):
        environment = {**os.environ, "SCW_API_URL": server.url}
        client = await asyncio.create_subprocess_exec(
            "go", "run", "-mod=mod", ".", cwd=Path(__file__).parent, env=environment
        )
        code = await client.wait()
    left = world.leaks()
    macs = [leak for leak in left if leak.kind == "mac"]
    sys.stdout.write(f"exit {code}, {len(left)} parts left, {dict(world.calls)}\n")
    return code or int(len(left) != len(macs) or len(macs) != MACS)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
