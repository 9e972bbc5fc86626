"""Elf: the parts of an executable that can hold descriptors."""

import struct
from typing import Final

_MAGIC: Final = b"\x7fELF"
_LOAD, _NOTE, _EXECUTE = 1, 4, 1
_MOST_HEADERS = 1_000
Span = tuple[int, int]


def spans(data: memoryview) -> tuple[Span, ...]:
    """Return the loadable segments that are not code; of anything but ELF, everything.

    A damaged header means everything too: looking too far costs a tenth of a second.
    """
    whole = ((0, len(data)),)
    try:
        headers = [(k, f, s, e) for k, f, s, e in _headers(data) if k == _LOAD]
    except (struct.error, ValueError):
        return whole
    found = [(start, end) for _, flags, start, end in headers if not flags & _EXECUTE]
    return tuple(sorted(span for span in found if span[0] < span[1])) or whole


def build_id(data: memoryview) -> str:
    """Return the build id that the linker left: Go's text, GNU's in hexadecimal, or ""."""
    try:
        for kind, _, start, end in _headers(data):
            if kind == _NOTE and (found := _note(data[start:end])):
                return found
    except (struct.error, ValueError):
        pass
    return ""


def _headers(data: memoryview) -> list[tuple[int, int, int, int]]:
    """Return kind, flags, start and end of each segment, cut to the file."""
    if bytes(data[:4]) != _MAGIC or data[4] not in {1, 2} or data[5] not in {1, 2}:
        raise ValueError("not ELF")
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(order + ("Q" if wide else "I"), data, 32 if wide else 28)
    size, count = struct.unpack_from(order + "HH", data, 54 if wide else 42)
    inside = table + size * count <= len(data)
    if not inside or not 0 < count <= _MOST_HEADERS or size < (56 if wide else 32):
        raise ValueError("no segments")
    return [_header(data, table + size * place, order, wide=wide) for place in range(count)]


def _header(data: memoryview, at: int, order: str, *, wide: bool) -> tuple[int, int, int, int]:
    if wide:
        kind, flags, start, _, _, size = struct.unpack_from(order + "IIQQQQ", data, at)
    else:
        kind, start, _, _, size, _, flags = struct.unpack_from(order + "IIIIIII", data, at)
    return kind, flags, min(start, len(data)), min(start + size, len(data))


def _note(data: memoryview) -> str:
    """Return the content of the first note that is a build id."""
    place = 0
    while place + 12 <= len(data):
        name, size, kind = struct.unpack_from("<III", data, place)
        start = place + 12 + (name + 3) // 4 * 4
        owner = bytes(data[place + 12 : place + 12 + name]).rstrip(b"\0")
        if (owner, kind) in {(b"GNU", 3), (b"Go", 4)} and start + size <= len(data):
            found = bytes(data[start : start + size])
            return found.hex() if owner == b"GNU" else found.decode("ascii", "replace")
        place = start + (size + 3) // 4 * 4
    return ""
