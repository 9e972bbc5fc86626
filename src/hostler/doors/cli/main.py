"""Main: the commands put together, the command line read, and the exit code returned."""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

import cyclopts
from cyclopts import App, CycloptsError, Group

from .asking import Asked
from .exits import Exit
from .guard import guarded
from .logs import log_nothing_below
from .outside import Outside
from .reading import Reading
from .running import Running
from .watching import Watching
from .wishing import Wishing

Command = Callable[..., int]


def commands(outside: Outside) -> Mapping[str, Mapping[str, Command]]:
    """Return every command of this door, by group and name."""
    reading, wishing = Reading(outside, guarded), Wishing(outside, guarded)
    asked, running = Asked(outside, guarded), Running(outside, guarded)
    return {
        "Keep a fleet": {"run": running.run, "check": asked.check},
        "See": {
            "status": reading.status,
            "top": Watching(outside, guarded).top,
            "plan": asked.plan,
            "explain": asked.explain,
            "story": reading.story,
            "leaks": reading.leaks,
        },
        "Ask": {
            "scale": wishing.scale,
            "end": wishing.end,
            "hold": wishing.hold,
            "unhold": wishing.unhold,
            "pause": wishing.pause,
            "resume": wishing.resume,
            "adopt": wishing.adopt,
        },
    }


def application(groups: Mapping[str, Mapping[str, Command]]) -> App:
    """Return the command line with these commands."""
    app = App(
        name="hostler",
        help="Keep hosts: machines that are there when they are wanted, and off the bill when not.",
        version=lambda: version("hostler"),
        help_format="plaintext",
        default_parameter=cyclopts.Parameter(negative_iterable=()),
    )
    for number, (title, found) in enumerate(groups.items()):
        group = Group(title, sort_key=number)
        for place, (name, command) in enumerate(found.items()):
            app.command(command, name=name, group=group, sort_key=place)
    return app


def main(app: App, argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    log_nothing_below("error")
    try:
        code: object = app(list(argv), exit_on_error=False, result_action="return_value")
    except CycloptsError:
        return int(Exit.USAGE)
    return code if isinstance(code, int) else int(Exit.OK)
