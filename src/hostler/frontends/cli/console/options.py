"""Options: what several commands take, with their help."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token

File = Annotated[
    Path, Parameter(help="the fleet file; or kubernetes:NAMESPACE for the objects there")
]
"""What a command reads; those that need a file say so where they are given objects."""
Name = Annotated[str, Parameter(help="a machine's id, or how it begins")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="print JSON")]


def whole_number(_: object, tokens: Sequence[Token]) -> int:
    """Return the whole number that somebody wrote; ValueError for a broken one: none is rounded."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


Whole = Annotated[int, Parameter(converter=whole_number)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Which fleet, and how to print."""

    fleet: Annotated[
        str | None,
        Parameter(
            help="this fleet alone; required if the file has several and only one can be shown"
        ),
    ] = None
    json: Json = False


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Which fleet, how to print, and whether to wait until an engine has taken the request."""

    fleet: Annotated[
        str | None,
        Parameter(
            help="the fleet's name; required if the file has several and no machine or host "
            "says which"
        ),
    ] = None
    why: Annotated[str, Parameter(help="the reason, kept in the history")] = ""
    wait: Annotated[
        bool, Parameter(help="wait up to 5 s until a running engine has taken the request")
    ] = True
    json: Json = False
