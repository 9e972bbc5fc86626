"""Explore: play every corner of a box's power, to the end."""

import sys
import time
from collections.abc import Iterable

from hostler.frontends.cli.console.logs import log_nothing_below
from hostler.testing.time.loop import SimLoop

from .corners import Corner, corners, play


def played(corner: Corner) -> str:
    """Play one corner in a time of its own; return what is wrong."""
    loop = SimLoop()
    try:
        return loop.run_until_complete(play(corner))
    finally:
        loop.close()


def explore(chosen: Iterable[Corner]) -> list[tuple[Corner, str]]:
    """Play these corners; return those that are wrong, each with why."""
    return [(corner, why) for corner in chosen if (why := played(corner))]


def main() -> int:
    """Play all of them, print what was found, and return 1 if anything is wrong."""
    log_nothing_below("error")
    begun, known = time.process_time(), tuple(corners())
    wrong = explore(known)
    took = time.process_time() - begun
    print(f"power of a box: {len(known)} corners, {len(wrong)} wrong, {took:.0f} s")
    for corner, why in wrong:
        print(f"  {corner}: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
