"""The executable `hostler`."""

import sys

from hostler.doors.cli.main import Groups, application, commands
from hostler.doors.cli.main import main as run_command

from .compose import Composed
from .trials import trials


def groups(verb: str = "") -> Groups:
    """Return the command of this name, or every command where it names none."""
    tried = trials()
    if verb in tried:
        return {"Try": {verb: tried[verb]}}
    return {**commands(Composed(), verb), "Try": tried}


def main() -> None:
    """Run the command line of this process, and exit."""
    argv = sys.argv[1:]
    verb = argv[0] if argv and not argv[0].startswith("-") else ""
    sys.exit(run_command(application(groups(verb)), argv))
