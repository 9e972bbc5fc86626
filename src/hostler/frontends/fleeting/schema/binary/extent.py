"""Extent: where a file's descriptor ends, which nothing in a binary says.

Strings of Go have no terminator, so the next one follows at once. Top-level fields are written in
the order of their numbers, and the longest prefix that reads back as the same bytes is the file
(reference/schema-discovery.md 3.1).
"""

from collections.abc import Iterator, Sequence

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

Data = bytes | memoryview
Sized = tuple[FileDescriptorProto, int]
"""A file, and how many bytes its descriptor has."""
LARGEST = 4 * 1024 * 1024
"""Bytes of one file's descriptor; generated ones are far smaller."""
_MOST_FIELDS = 100_000
_MOST_TRIES = 64
_VARINT, _LENGTH = 0, 2
_SYNTAX, _EDITION, _SOURCE_INFO = 12, 14, 9
_WIRE = {
    1: _LENGTH,
    2: _LENGTH,
    3: _LENGTH,
    4: _LENGTH,
    5: _LENGTH,
    6: _LENGTH,
    7: _LENGTH,
    8: _LENGTH,
    _SOURCE_INFO: _LENGTH,
    10: _VARINT,
    11: _VARINT,
    _SYNTAX: _LENGTH,
    _EDITION: _VARINT,
    15: _LENGTH,
}
_ONCE = frozenset({1, 2, 8, _SOURCE_INFO, _SYNTAX, _EDITION})


def ends(data: Data) -> tuple[int, ...]:
    """Return every place at which the descriptor that begins here could end, the first first."""
    found, last, place, syntax = list[int](), 0, 0, b""
    for number, start, end in _fields(data):
        if number < last or (number == last and number in _ONCE) or (not found and number != 1):
            break
        if number >= _EDITION and syntax != b"editions":
            break
        if number == _SYNTAX:
            syntax = bytes(data[start:end])
        last, place = number, end
        found.append(place)
        if syntax == b"proto3":
            break
    return tuple(found)


def files(
    data: Data, places: Sequence[int] | None = None
) -> Iterator[tuple[FileDescriptorProto, int]]:
    """Go through what could stand here, the longest first, with its length.

    `places` are its ends, where they are known already. What follows a file can read as a few
    fields more, never as many: so a bounded number is tried.
    """
    found = ends(data) if places is None else places
    for end in reversed(found[-_MOST_TRIES:]):
        content = bytes(data[:end])
        file = parsed(content)
        if file is not None:
            yield file, end


def parsed(content: bytes) -> FileDescriptorProto | None:
    """Return the file that these bytes are, if written again it is the same bytes."""
    try:
        file = FileDescriptorProto.FromString(content)
    except (DecodeError, UnicodeDecodeError):
        return None
    same = file.SerializeToString(deterministic=True) == content
    return file if same and file.name else None


def _fields(data: Data) -> Iterator[tuple[int, int, int]]:
    """Go through top-level fields: number, and the span of the value; ends where none can be."""
    place, limit = 0, min(len(data), LARGEST)
    for _ in range(_MOST_FIELDS):
        tag = _varint(data, place, limit)
        if tag is None:
            return
        number, wire = tag[0] >> 3, tag[0] & 7
        value = _varint(data, tag[1], limit)
        if value is None or _WIRE.get(number) != wire:
            return
        start = value[1] if wire == _LENGTH else tag[1]
        end = value[1] + value[0] if wire == _LENGTH else value[1]
        if end > limit:
            return
        yield number, start, end
        place = end


def _varint(data: Data, place: int, limit: int) -> tuple[int, int] | None:
    """Return a varint and the place behind it, or None where there is none."""
    value = 0
    for shift in range(0, 35, 7):
        if place >= limit:
            return None
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    return None
