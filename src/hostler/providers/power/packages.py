"""Packages: the table of a rack whose boxes may also name methods of installed packages.

A key of a box is the name under the entry-point group `hostler.power`. A package that cannot be
used is in nobody's way: only a file that names its method is refused, with the reason.
"""

from typing import Annotated, Any, cast

from msgspec import Meta, defstruct, field, structs

from hostler.domain.errors import ConfigError
from hostler.ports.kind import refused

from .registry import BUILT_IN, METHODS
from .settings import BoxTable, PowerTable

_Field = tuple[str, Any, Any]


def power_table() -> type[PowerTable]:
    """Return the table of a rack with the methods that are installed now.

    Raises ConfigError where one has the name of another key of a box.
    """
    names = tuple(sorted({*METHODS} - {*BUILT_IN}))
    if not names:
        return PowerTable
    known = {one.encode_name for one in structs.fields(BoxTable)}
    if taken := known.intersection(names):
        raise ConfigError(f"a package has a power method {taken.pop()!r}: a box has such a key")
    box = defstruct(
        "BoxTable",
        [_field(number, name) for number, name in enumerate(names)],
        bases=(BoxTable,),
        namespace={"packaged": names, "__doc__": BoxTable.__doc__},
        frozen=True,
        kw_only=True,
    )
    boxes = next(one for one in structs.fields(PowerTable) if one.name == "boxes")
    (about,) = boxes.type.__metadata__
    made = defstruct(
        "PowerTable",
        [("boxes", Annotated[tuple[box, ...], about])],
        bases=(PowerTable,),
        namespace={"__doc__": PowerTable.__doc__},
        frozen=True,
        kw_only=True,
    )
    return cast("type[PowerTable]", made)


def _field(number: int, name: str) -> _Field:
    about = Meta(description=f"the method {name} of an installed package")
    return f"packaged_{number}", Annotated[_table_of(name), about], field(default=None, name=name)


def _table_of(name: str) -> Any:
    """Return a method's table; one that no file may hold, where its package cannot be used."""
    try:
        return METHODS[name]().settings | None
    except ConfigError as error:
        return Annotated[object, refused(str(error))]
