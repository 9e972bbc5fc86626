"""The executable `hostler`. What it runs is imported inside: Ctrl-C may come while that goes on."""

import signal
import sys


def main() -> None:
    """Run the command line of this process, and exit.

    SIGTERM ends a command as Ctrl-C does, so that what it opened is closed and removed.
    """
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from .collector import collect_seldom

        collect_seldom()
        from hostler.frontends.cli.console.process import run_process

        code = run_process(lambda: _run(sys.argv[1:]))
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _run(argv: list[str]) -> int:
    from .command_line import run

    return run(argv)
