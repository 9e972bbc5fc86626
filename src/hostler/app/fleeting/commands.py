"""Commands of `hostler fleeting`; each imports its work once it is run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hostler.frontends.cli.console.guard import guarded

Json = Annotated[bool, Parameter(name="--json", negative=(), help="print JSON")]
OverrideFile = Annotated[
    Path | None, Parameter(help="a file of overrides; default: the plugin's own")
]


def inspect(
    path: Annotated[Path, Parameter(help="the runner's executable, or a descriptor set")],
    /,
    *,
    override: OverrideFile = None,
    json: Json = False,
) -> int:
    """Show the schema in a runner's binary, and how the plugin maps it."""
    from .inspect import show_schema

    return guarded(json, lambda screen: show_schema(path, override, screen))


def pin(
    path: Annotated[
        Path | None,
        Parameter(help="the runner's executable; default: the schema that was used last"),
    ] = None,
    /,
    *,
    file: Annotated[
        Path | None,
        Parameter(help="where to write the pin; default: where the plugin looks for it"),
    ] = None,
    override: OverrideFile = None,
    json: Json = False,
) -> int:
    """Pin a mapping, so that the plugin refuses a runner whose schema differs."""
    from .inspect import pin_mapping

    return guarded(json, lambda screen: pin_mapping(path, file, override, screen))


def doctor(
    file: Annotated[
        Path | None,
        Parameter(help="the runner's config.toml, or a JSON file with a plugin_config"),
    ] = None,
    /,
    *,
    runner: Annotated[
        str, Parameter(help="the runner's name; required if several use the plugin")
    ] = "",
    binary: Annotated[
        Path | None, Parameter(help="the runner's executable; default: the one on the PATH")
    ] = None,
    json: Json = False,
) -> int:
    """Check an installation of the runner's plugin from end to end, creating nothing."""
    from .doctor import examine

    return guarded(json, lambda screen: examine(file, runner, binary, screen))
