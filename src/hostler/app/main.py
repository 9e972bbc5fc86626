"""The executable `hostler`."""

import sys
from collections.abc import Callable, Mapping

from hostler.doors.cli.main import application, commands
from hostler.doors.cli.main import main as run_command

from .compose import Composed
from .trials import trials


def groups() -> Mapping[str, Mapping[str, Callable[..., int]]]:
    """Return every command, by group and name."""
    return {**commands(Composed()), "Try": trials()}


def main() -> None:
    """Run the command line of this process, and exit."""
    sys.exit(run_command(application(groups()), sys.argv[1:]))
