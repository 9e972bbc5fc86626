"""Main: the commands put together, the command line read, and the exit code returned."""

from collections.abc import Callable, Mapping, Sequence

import cyclopts
from cyclopts import App, CycloptsError, Group, UnusedCliTokensError

from hostler.domain.errors import UsageError

from .console.exits import Exit
from .console.guard import guarded
from .console.screen import Screen
from .context import Services

Command = Callable[..., int]
CommandGroups = Mapping[str, Mapping[str, Command]]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Run a fleet": ("run", "check", "reload", "store backup"),
    "Read": ("status", "top", "plan", "explain", "history", "orphans", "connect"),
    "Request": (
        "scale",
        "delete",
        "retire",
        "protect",
        "unprotect",
        "pause",
        "resume",
        "adopt",
        "pool",
        "host",
    ),
}
"""Every command that needs a fleet file, in the order of the help."""
_ABOUT = {
    "simulator": "Serve what is simulated on loopback, until Ctrl-C.",
    "store": "Copy the records, beside the engine.",
}
"""What is told of a command of two words, where its group does not say it."""


def commands(services: Services, verb: str = "") -> CommandGroups:
    """Return the command of this name, or all of them where it names none of ours."""
    every = (name for names in GROUPS.values() for name in names)
    chosen = {name for name in every if verb in {"", name.partition(" ")[0]}}
    if not chosen:
        return commands(services)
    return {
        title: {name: _command(name, services) for name in names if name in chosen}
        for title, names in GROUPS.items()
    }


def _command(name: str, services: Services) -> Command:
    """Import one command: nobody should wait for what the others need."""
    owner = _of_engine(name, services) or _of_records(name, services)
    command: Command = getattr(owner, name.rpartition(" ")[2])
    return command


def _of_engine(name: str, services: Services) -> object | None:
    """Return what has a command about an engine and its store; None for the others."""
    match name:
        case "run":
            from .commands.run import RunCommand as Owner
        case "reload":
            from .commands.reload import ReloadCommand as Owner
        case "check":
            from .commands.check import CheckCommand as Owner
        case "store backup":
            from .commands.store import StoreCommands as Owner
        case _:
            return None
    return Owner(services, guarded)


def _of_records(name: str, services: Services) -> object:
    """Return what has a command that reads records or asks for something."""
    match name:
        case "top":
            from .commands.top import TopCommand as Owner
        case "plan" | "explain":
            from .commands.plan import PlanCommands as Owner
        case "connect":
            from .commands.connect import ConnectCommand as Owner
        case "host":
            from .commands.host import HostCommand as Owner
        case "pool":
            from .commands.pool import PoolCommand as Owner
        case "status" | "history" | "orphans":
            from .commands.status import StatusCommands as Owner
        case _:
            from .commands.requests import RequestCommands as Owner
    return Owner(services, guarded)


def _version() -> str:
    from importlib.metadata import version

    return version("hostler")


def application(groups: CommandGroups) -> App:
    """Return the command line with these commands.

    One that is also the first word of others, as `simulator` is, is what that word does alone.
    """
    app = App(
        name="hostler",
        help="Manage fleets of machines: there when you need them, off the bill when you do not.",
        version=_version,
        help_format="plaintext",
        default_parameter=cyclopts.Parameter(negative_iterable=()),
    )
    for number, (title, found) in enumerate(groups.items()):
        group = Group(title, sort_key=number)
        parents = {name.rpartition(" ")[0] for name in found}
        for place, (name, command) in enumerate(found.items()):
            parent, _, inner = name.rpartition(" ")
            if parent:
                _subcommands(app, parent, title, group).command(
                    command, name=inner, help=_help(command), sort_key=place
                )
            elif name in parents:
                _subcommands(app, name, title, group).default(command)
            else:
                app.command(command, name=name, help=_help(command), group=group, sort_key=place)
    return app


def _help(command: Command) -> str:
    """Return a command's docstring with each paragraph in one line, which a terminal breaks."""
    paragraphs = (command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _subcommands(app: App, name: str, title: str, group: Group) -> App:
    """Return the app that holds commands of two words, such as `fleeting inspect`."""
    if name not in app:
        about = _ABOUT.get(name, f"Commands for {title}.")
        app.command(
            App(name=name, help=about, group=group, help_format="plaintext", version_flags=[])
        )
    return app[name]


def main(app: App, argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; mistakes are told as all errors are."""
    json = "--json" in argv
    if not all(_is_text(word) for word in argv):
        return Screen(json=json).fail(UsageError("an argument is not text in UTF-8"))
    try:
        code: object = app(
            list(argv), exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        return Screen(json=json).fail(UsageError(_mistake(app, error)))
    return code if isinstance(code, int) else int(Exit.OK)


def _mistake(app: App, error: CycloptsError) -> str:
    """Return what is wrong with a command line, and the commands of two words that it may mean."""
    if not isinstance(error, UnusedCliTokensError) or not error.unused_tokens:
        command = " ".join(("hostler", *(error.command_chain or ())))
        text, of = str(error), error.argument.name if error.argument is not None else ""
        named = text if not of or of in text else f"{of}: {text}"
        whole = named if named.endswith("...") else named.removesuffix(".")
        return f"{whole}; `{command} --help` says what it takes"
    mistake = f"unexpected argument: {' '.join(error.unused_tokens)}"
    for name in error.command_chain or ():
        app = app[name]
    inner = [name for name in app if not name.startswith("-")] if error.command_chain else []
    return f"{mistake} (there are: {', '.join(inner)})" if inner else mistake


def _is_text(word: str) -> bool:
    """Tell whether an argument is text: bytes that are none come as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in word)
