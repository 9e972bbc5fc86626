"""TOML: tables written as a fleet file that reads back as they are."""

import json
from collections.abc import Iterator, Mapping
from typing import cast

Tables = Mapping[str, object]


def write_toml(tables: Tables) -> str:
    """Return tables of texts, numbers, flags, lists and further tables as TOML."""
    return "\n".join(_table(tables, ())) + "\n"


def _table(table: Tables, path: tuple[str, ...]) -> Iterator[str]:
    """Go through the lines of a table: its own keys first, then the tables in it."""
    inner = {k: cast("Tables", v) for k, v in table.items() if isinstance(v, Mapping)}
    own = {key: value for key, value in table.items() if key not in inner}
    if path and (own or not inner):
        yield f"\n[{'.'.join(_text(word) for word in path)}]"
    for key, value in own.items():
        yield f"{_text(key)} = {_value(value)}"
    for key, value in inner.items():
        yield from _table(value, (*path, key))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value, plain=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(entry) for entry in cast('list[object]', value))}]"
    raise TypeError(type(value))


def _text(text: str, *, plain: bool = True) -> str:
    """Return a text in quotes; JSON's escapes are TOML's, but for DEL."""
    if plain and text and text.isascii() and text.replace("_", "a").replace("-", "a").isalnum():
        return text
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
