"""Packing: changes as short text: lines of JSON, compressed, in base64; in pieces that fit."""

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator

import msgspec

from hostler.domain.errors import StoreDamaged, StoreError
from hostler.stores.records.changes import Change

PIECE = 600_000
"""Bytes of JSON in a piece, unless a single change has more: it fits an object uncompressed too."""

LARGEST = 1_200_000
"""Bytes of packed text that an object has room for."""

_LEVEL = 3  # of zlib: a fifth of the size at 60 MB/s; higher levels gain little

_encoder = msgspec.json.Encoder()
_decode = msgspec.json.Decoder(Change).decode


def pack(changes: Iterable[Change]) -> Iterator[tuple[str, int]]:
    """Return pieces of packed text with the number of changes in each, in order.

    Raises StoreError for a change that is too large for an object.
    """
    lines, size = list[bytes](), 0
    for change in changes:
        line = _encoder.encode(change)
        if lines and size + len(line) > PIECE:
            yield _packed(lines), len(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield _packed(lines), len(lines)


def unpack(text: str) -> Iterator[Change]:
    """Return the changes of a piece; StoreDamaged where it is none."""
    try:
        lines = zlib.decompress(base64.b64decode(text, validate=True)).split(b"\n")
        yield from map(_decode, lines)
    except (binascii.Error, zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"the journal has an entry that cannot be read: {error}") from error


def _packed(lines: list[bytes]) -> str:
    text = base64.b64encode(zlib.compress(b"\n".join(lines), _LEVEL)).decode()
    if len(text) > LARGEST:
        raise StoreError(
            f"a record of {len(lines[0])} bytes cannot be stored in Kubernetes: even compressed it "
            f"has {len(text)} bytes, and {LARGEST} are the most"
        )
    return text
