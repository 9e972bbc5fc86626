"""Decode: plain TOML values into msgspec Structs, going on past what is wrong.

msgspec stops at the first error; a person wants all of them. So Structs are walked here, field by
field, and msgspec judges single values.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import cast, get_args, get_origin

import msgspec

from hostler.ports.kind import Piece

from .errors import HIDDEN, Faults, did_you_mean, join
from .structure import bare_of, choices, extra, fields_of, is_size, metas, refusal, struct_of
from .units import A_DURATION, A_SIZE, parse_duration, parse_size

Raw = Mapping[str, object]


class _Wrong(Exception):
    """A value that could not be decoded; its fault is noted already."""


def is_table(raw: object) -> bool:
    """Tell whether a TOML value is a table."""
    return isinstance(raw, dict)


def table(raw: object) -> Raw:
    """Return a TOML table as what it is; anything else as an empty one."""
    return cast("Raw", raw) if isinstance(raw, dict) else {}


def decode_table(
    raw: object,
    kinds: tuple[type[object], ...],
    path: str,
    faults: Faults,
    also: tuple[str, ...] = (),
) -> tuple[object | None, ...]:
    """Decode one table whose keys are shared out among several Structs; `also` are other keys.

    Returns an object per Struct, None where a required key is missing or wrong; a wrong optional
    key counts as left out, so that what follows can still be checked.
    """
    if not is_table(raw):
        faults.add(path, raw, "a table")
        return tuple(None for _ in kinds)
    fields = tuple({f.encode_name: f for f in fields_of(kind)} for kind in kinds)
    known = {name for names in fields for name, f in names.items() if not refusal(f.type)}
    known.update(also)
    entries = table(raw)
    for key in entries:
        if not any(key in names for names in fields):
            _unknown(join(path, key), key, known, faults)
    return tuple(
        _build(kind, names, entries, path, faults)
        for kind, names in zip(kinds, fields, strict=True)
    )


def check_pieces(pieces: Iterable[Piece], path: str, faults: Faults) -> None:
    """Add what cannot be of the pieces that can be read of a table which as a whole cannot.

    What is wrong in their types was added with the whole; what follows from that is left out.
    """
    for piece in pieces:
        unread = Faults()
        (made,) = decode_table(piece.raw, (piece.settings,), "", unread)
        wrong = {fault.path.partition(".")[0] for fault in unread.found}
        for fault in piece.check(made) if made is not None else ():
            key, _, expected = fault.partition(": expected ")
            if key.partition(".")[0] not in wrong:
                faults.note(f"{path}.{piece.place}.{key}", expected)


def known_keys(kind: type[object]) -> frozenset[str]:
    """Return the keys that a Struct takes."""
    return frozenset(f.encode_name for f in fields_of(kind))


def _unknown(path: str, key: str, known: set[str], faults: Faults) -> None:
    near = did_you_mean(key, sorted(known))
    faults.note(path, "no such key", hint=near or _list_of(known))


def _list_of(known: set[str]) -> str:
    return f"known keys: {', '.join(sorted(known))}" if known else ""


def _build(
    kind: type[object],
    fields: Mapping[str, msgspec.structs.FieldInfo],
    entries: Raw,
    path: str,
    faults: Faults,
) -> object | None:
    values, whole = dict[str, object](), True
    for key, field in fields.items():
        try:
            if key in entries:
                values[field.name] = _value(entries[key], field.type, join(path, key), faults)
            elif field.required:
                expected = f"{_expected(field.type)}; it is missing"
                faults.add(join(path, key), None, expected)
                whole = False
        except _Wrong:
            whole = whole and not field.required
    return kind(**values) if whole else None


def _value(raw: object, kind: object, path: str, faults: Faults) -> object:
    """Return one decoded value; adds faults and raises _Wrong where it is wrong."""
    if cure := refusal(kind):
        faults.note(path, "not allowed in this file", value=HIDDEN, hint=cure)
        raise _Wrong
    bare = bare_of(kind, raw)
    struct = struct_of(bare)
    if struct is not None:
        (built,) = decode_table(raw, (struct,), path, faults)
        if built is None:
            raise _Wrong
        return built
    if get_origin(bare) is tuple and isinstance(raw, list):
        return _tuple(cast("list[object]", raw), kind, bare, path, faults)
    return _scalar(raw, kind, bare, path, faults)


def _tuple(raw: list[object], kind: object, bare: object, path: str, faults: Faults) -> object:
    (item, *_) = get_args(bare)
    before = len(faults.found)
    values = list[object]()
    for number, entry in enumerate(raw):
        try:
            values.append(_value(entry, item, f"{path}[{number}]", faults))
        except _Wrong:
            continue
    least = next((m.min_length for m in metas(kind) if m.min_length), 0)
    if len(raw) < least:
        faults.add(path, None, f"at least {least} of: {_expected(item)}; it is empty")
    if len(faults.found) > before:
        raise _Wrong
    return tuple(values)


def _scalar(raw: object, kind: object, bare: object, path: str, faults: Faults) -> object:
    try:
        if bare is timedelta:
            return _duration(raw, kind)
        if is_size(kind):
            return parse_size(raw if isinstance(raw, str) else "")
        return msgspec.convert(raw, type=kind)
    except (ValueError, msgspec.ValidationError) as error:
        words = choices(bare)
        hint = did_you_mean(raw, words) if isinstance(raw, str) else ""
        faults.add(path, raw, _expected(kind), hint)
        raise _Wrong from error


def _duration(raw: object, kind: object) -> timedelta:
    time = parse_duration(raw if isinstance(raw, str) else "")
    if not time and extra(kind, "positive"):
        raise ValueError(A_DURATION)
    return time


_WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    timedelta: A_DURATION,
}


def _expected(kind: object) -> str:
    """Return what a field takes, in words."""
    if phrase := extra(kind, "expected"):
        return phrase
    if is_size(kind):
        return A_SIZE
    bare = bare_of(kind, None)
    if get_origin(bare) is tuple:
        return f"a list of: {_expected(get_args(bare)[0])}"
    if words := choices(bare):
        return "one of " + ", ".join(words)
    phrase = _WORDS.get(bare, "a table")
    return phrase + "".join(_limits(kind))


def _limits(kind: object) -> Iterator[str]:
    if extra(kind, "positive"):
        yield ", longer than nothing"
    for meta in metas(kind):
        if meta.ge is not None:
            yield f" of at least {meta.ge:g}"
        if meta.gt is not None:
            yield f" above {meta.gt:g}"
        if meta.le is not None:
            yield f" and at most {meta.le:g}"
        if meta.min_length:
            yield " that is not empty"


expected = _expected
"""What a field of this type takes, in words: also for the reference of settings."""
