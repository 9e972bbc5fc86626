"""Source: the bytes that Init brings, as plain JSON values; whatever they turn out to be."""

import json
from collections.abc import Iterator
from typing import NoReturn, cast

from hostler.domain.errors import ConfigError

LARGEST = 1_000_000
"""A plugin_config has fewer bytes than this."""
MOST_TEXTS, DEEPEST = 2000, 10
_LONGEST = 200
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
    _check_texts(cast("object", found))
    return cast("dict[str, object]", found)


def _check_texts(found: object) -> None:
    for number, (path, text) in enumerate(_texts(found, ROOT)):
        if _is_broken(text):
            raise ConfigError(f"{path[:_LONGEST]}: a text with half a character or a NUL in it")
        if number >= MOST_TEXTS:
            raise _wrong(f"more than {MOST_TEXTS:,} keys and texts")


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


def _texts(value: object, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Go through the texts, keys included, each with where it stands."""
    if depth > DEEPEST:
        raise _wrong("nested too deeply")
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for number, entry in enumerate(cast("list[object]", value)):
            yield from _texts(entry, f"{path}[{number}]", depth + 1)
    elif isinstance(value, dict):
        for key, entry in cast("dict[str, object]", value).items():
            yield f"{path}: a key", key
            yield from _texts(entry, f"{path}.{key[:60]}", depth + 1)


def _is_broken(text: str) -> bool:
    """Tell whether a text cannot be written into a file or sent."""
    return "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text)


def _wrong(reason: str) -> ConfigError:
    return ConfigError(f"{ROOT}: {reason}")
