"""Source: the bytes that Init brings, as plain JSON values; whatever they turn out to be."""

import json
from collections.abc import Iterator
from typing import NoReturn, cast

from hostler.domain.errors import ConfigError

LARGEST = 1_000_000
"""A plugin_config has fewer bytes than this."""
ROOT = "plugin_config"
"""How paths in it begin: the name of its table in the runner's config.toml."""
_EMPTY = (
    "there is none: the runner's config.toml needs a table [runners.autoscaler.plugin_config] with "
    "at least `name` and `server_type`"
)


def read_json(content: bytes) -> dict[str, object]:
    """Return the object in these bytes; ConfigError says why there is none."""
    if len(content) > LARGEST:
        raise _wrong(f"larger than {LARGEST:,} bytes")
    text = _text(content)
    if text.strip() in {"", "null", "{}"}:
        raise _wrong(_EMPTY)
    found = _parsed(text)
    if not isinstance(found, dict):
        raise _wrong("expected an object of keys and values")
    for path in _broken_texts(cast("object", found), ROOT):
        raise ConfigError(f"{path}: a text with half a character or a NUL in it")
    return cast("dict[str, object]", found)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong(f"not UTF-8 text (at byte {error.start})") from None


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise _wrong("nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _wrong(f"not valid JSON: {error.msg} ({where})") from None
    except ValueError:
        raise _wrong("a number in it is too long to be read") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _wrong(f"the key {twice[:60]!r} stands there twice in one object; keep one of them")
    return found


def _constant(word: str) -> NoReturn:
    raise _wrong(f"{word} is no value of JSON; expected a number")


def _broken_texts(value: object, path: str) -> Iterator[str]:
    """Go through the texts, keys included, that cannot be written into a file or sent."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            yield path
    elif isinstance(value, list):
        for number, entry in enumerate(cast("list[object]", value)):
            yield from _broken_texts(entry, f"{path}[{number}]")
    elif isinstance(value, dict):
        for key, entry in cast("dict[str, object]", value).items():
            yield from _broken_texts(key, f"{path}: a key")
            yield from _broken_texts(entry, f"{path}.{key[:60]}")


def _wrong(said: str) -> ConfigError:
    return ConfigError(f"{ROOT}: {said}")
