"""The executable `fleeting-plugin-hostler`, which GitLab Runner launches.

Only what a handshake needs is imported before the handshake; the rest follows in a thread.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

NAME = "fleeting-plugin-hostler"
_STARTED = 30.0
"""Seconds after which a start is over, whether or not Init was called."""
USAGE = f"""\
usage: {NAME}                  serve, as GitLab Runner launches it
       {NAME} version          print the version (also -version, --version)
       {NAME} bootstrap NAME   copy this executable to where the runner looks
                                                for [[registry/]repository/]name[:version]
"""


def main() -> None:
    """Run the command line of this process, and exit."""
    sys.exit(run(sys.argv[1:], os.environ))


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run one command line and return its exit code."""
    match arguments:
        case []:
            return serving(environment)
        case ["version" | "-version" | "--version"]:
            print(f"{NAME} {version()}")
            return 0
        case ["help" | "-h" | "-help" | "--help"]:
            print(USAGE, end="")
            return 0
        case ["bootstrap", name]:
            return bootstrap(name, environment)
        case _:
            print(f"{NAME}: not understood: {' '.join(arguments)}", file=sys.stderr)
            print(USAGE, end="", file=sys.stderr)
            return 2


def version() -> str:
    """Return the version of hostler."""
    from importlib.metadata import version as of

    return of("hostler")


def serving(environment: Mapping[str, str]) -> int:
    """Serve the host that launched us; without one, say so in a line."""
    from hostler.frontends.fleeting.goplugin.launch import ByHand, launched

    try:
        launch = launched(environment)
    except ByHand as by_hand:
        print(by_hand, file=sys.stderr)
        return 2
    _start_light()
    from hostler.frontends.fleeting.goplugin.logging.hostlog import HostLog
    from hostler.frontends.fleeting.goplugin.offer import Offer
    from hostler.frontends.fleeting.goplugin.serving import serve

    def make(log: HostLog) -> Offer:
        from .fleeting.offer import offer

        return offer(log, environment, _now)

    code = serve(launch, make, _now)
    os._exit(code)  # all is put away: a thread that still imports or waits must not hold this up


def _start_light() -> None:
    """Spare the start what it has no use for: a sixth of the time until Init is answered.

    The collector of garbage finds none while modules are imported; and structlog would import rich,
    for colours that no line to a host has.
    """
    import gc
    import threading

    gc.disable()
    later = threading.Timer(_STARTED, gc.enable)
    later.daemon = True
    later.start()
    sys.modules["rich"] = None  # pyright: ignore[reportArgumentType] - None bars a module


def bootstrap(name: str, environment: Mapping[str, str]) -> int:
    """Copy this executable to where the runner looks for an artifact of this name."""
    import shutil

    from hostler.frontends.fleeting.installation.artifact import named, plugin_folder, put

    executable = shutil.which(sys.argv[0])
    try:
        artifact = named(name, version())
        if executable is None:
            raise FileNotFoundError(f"{sys.argv[0]} is not an executable file")
        place = put(Path(executable), plugin_folder(environment), artifact)
    except (OSError, ValueError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1
    print(place)
    return 0


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - as the clock's adapter has it, without its import


if __name__ == "__main__":
    main()
