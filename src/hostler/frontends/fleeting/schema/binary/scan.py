"""Scan: the descriptors of files, searched for in the bytes of an executable."""

import mmap
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from .elf import Span, build_id, spans
from .extent import LARGEST, ends, files

_ANCHORS = (b"\x0a\x0bConnectInfo\x12", b"\x0a\x09Heartbeat\x12")
"""How a method begins in a service's descriptor: its name, then the type of its request. The
second is looked for where the first is nowhere: to tell of a service that lacks one method."""
_SUFFIX = b".proto"
_GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
_MOST_HITS = 64
_MOST_STEPS = 400
_MOST_FILES = 5_000
_MOST_GZIP = 5_000
_MOST_WORK = 2_000_000
"""Fields that are walked over, in all: a file that has more was made to keep us busy."""
_HUGE = 2 * 1024**3


class Unreadable(Exception):
    """A file that cannot be looked into; the text says why."""


@dataclass(slots=True)
class Scan:
    """One look into the bytes of a file, or of what was compressed in it."""

    data: mmap.mmap | bytes
    view: memoryview
    spans: tuple[Span, ...]
    work: int = field(default=_MOST_WORK)

    def anchored(self) -> list[FileDescriptorProto]:
        """Return the files with methods of ours."""
        ways = (self._holding(anchor) for anchor in _ANCHORS)
        return next((found for found in ways if found), list[FileDescriptorProto]())

    def _holding(self, anchor: bytes) -> list[FileDescriptorProto]:
        """Return the files in which these bytes stand."""
        found, behind = list[FileDescriptorProto](), 0
        for hit in self._hits(anchor, _MOST_HITS):
            around = self._around(hit) if hit >= behind else None
            if around is not None:
                start, file, size = around
                found.append(file)
                behind = start + size
        return found

    def named(self, name: str) -> list[FileDescriptorProto]:
        """Return the files of one name, the longest of each that begins alike."""
        written = name.encode()
        found = list[FileDescriptorProto]()
        for hit in self._hits(_head(written), _MOST_HITS):
            best = self._at(hit)
            if best is not None and best[0].name == name:
                found.append(best[0])
        return _longest(found)

    def everything(self) -> list[FileDescriptorProto]:
        """Return every file."""
        found, behind = list[FileDescriptorProto](), 0
        for hit in self._hits(_SUFFIX, _MOST_FILES):
            start = self._start(hit)
            if start is None or start < behind:
                continue
            if best := self._at(start):
                found.append(best[0])
                behind = start + best[1]
        return found

    def unpacked(self) -> list[FileDescriptorProto]:
        """Return the files that old generators of Go compress."""
        found = list[FileDescriptorProto]()
        for hit in self._hits(_GZIP, _MOST_GZIP):
            content = _unzip(self.view[hit : hit + LARGEST])
            best = next((one for one in files(content) if sane(one[0])), None)
            if best is not None and best[1] == len(content):
                found.append(best[0])
        return found

    def uses(self, service: str, methods: Sequence[str]) -> int:
        """Return how often the path of a method stands in it, as a linked client leaves it."""
        start = f"/{service}/".encode()
        wanted = tuple(name.encode() for name in methods)
        longest = max((len(name) for name in wanted), default=0)
        count = 0
        for hit in self._hits(start, 10 * _MOST_HITS):
            behind = hit + len(start)
            count += bytes(self.view[behind : behind + longest]).startswith(wanted)
        return count

    def _hits(self, wanted: bytes, most: int) -> Iterator[int]:
        """Go through the places where bytes stand."""
        for start, end in self.spans:
            place = self.data.find(wanted, start, end)
            while place >= 0 and most > 0:
                yield place
                most -= 1
                place = self.data.find(wanted, place + 1, end)

    def _around(self, hit: int) -> tuple[int, FileDescriptorProto, int] | None:
        """Return the file that a place is in: walk back over names, forward over fields."""
        floor, place = max(0, hit - LARGEST), hit
        for _ in range(_MOST_STEPS):
            place = self.data.rfind(_SUFFIX, floor, place + len(_SUFFIX) - 1)
            if place < 0:
                return None
            start = self._start(place)
            best = self._at(start) if start is not None else None
            if start is not None and best is not None and start + best[1] > hit:
                return start, *best
        return None

    def _start(self, suffix: int) -> int | None:
        """Return where the name that ends here begins as a file's first field, or None."""
        end = suffix + len(_SUFFIX)
        for size in range(len(_SUFFIX) + 1, min(256, end)):
            start = end - size - (2 if size < 128 else 3)
            if start >= 0 and self.view[start] == 0x0A and _head_fits(self.view, start, size):
                return start
        return None

    def _at(self, start: int) -> tuple[FileDescriptorProto, int] | None:
        """Return the longest sane file that begins here, and its size."""
        if self.work <= 0:
            return None
        view = self.view[start : start + LARGEST]
        places = ends(view)
        self.work -= 1 + len(places)
        return next((one for one in files(view, places) if sane(one[0])), None)


@contextmanager
def opened(path: Path) -> Generator[Scan]:
    """Open a file for scanning. Unreadable says why it cannot be."""
    try:
        with path.open("rb") as file:
            status = path.stat()
            if not S_ISREG(status.st_mode) or not status.st_size:
                raise Unreadable("it is empty, or no file")
            if status.st_size > _HUGE:
                raise Unreadable(f"it is larger than {_HUGE:,} bytes")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise Unreadable(str(getattr(error, "strerror", None) or error)) from error
    try:
        with memoryview(mapped) as view:
            yield Scan(mapped, view, spans(view))
    finally:
        with suppress(BufferError):  # an error on its way holds what it saw: freed with it
            mapped.close()


def scan_bytes(content: bytes) -> Scan:
    """Return a scan of bytes in memory."""
    view = memoryview(content)
    return Scan(content, view, spans(view))


def build_id_of(scan: Scan) -> str:
    """Return the build id of the executable, or an empty string."""
    return build_id(scan.view)


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PACKAGE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*)?", re.ASCII)


def sane(file: FileDescriptorProto) -> bool:
    """Tell whether what was read can be a file: what follows one may read as part of it."""
    indexes = (*file.public_dependency, *file.weak_dependency)
    named = (*file.message_type, *file.enum_type, *file.service, *file.extension)
    names = [one.name for one in named]
    names += [method.name for service in file.service for method in service.method]
    texts = (file.name, file.package, file.syntax, *file.dependency, *names)
    return (
        all(_is_text(text) for text in texts)
        and all(0 <= index < len(file.dependency) for index in indexes)
        and all(_IDENTIFIER.fullmatch(name) for name in names)
        and _PACKAGE.fullmatch(file.package) is not None
        and file.syntax in {"", "proto2", "proto3", "editions"}
    )


def _is_text(value: object) -> bool:
    """Tell whether a text is one: what is not UTF-8 comes as bytes, whatever the type says."""
    return isinstance(value, str)


def _head(name: bytes) -> bytes:
    size = len(name)
    return b"\x0a" + (bytes((size,)) if size < 128 else bytes((size & 127 | 128, size >> 7))) + name


def _head_fits(view: memoryview, start: int, size: int) -> bool:
    if size < 128:
        return view[start + 1] == size
    return view[start + 1] == (size & 127 | 128) and view[start + 2] == size >> 7


def _longest(found: list[FileDescriptorProto]) -> list[FileDescriptorProto]:
    """Return the files without those that are the beginning of another one."""
    written = sorted({f.SerializeToString(deterministic=True) for f in found}, key=len)
    complete = [
        one
        for place, one in enumerate(written)
        if not any(other.startswith(one) for other in written[place + 1 :])
    ]
    return [FileDescriptorProto.FromString(one) for one in complete]


def _unzip(data: memoryview) -> bytes:
    """Return what a gzip stream holds, or nothing where it is none, damaged, or too large."""
    try:
        return zlib.decompressobj(31).decompress(data, LARGEST)
    except zlib.error:
        return b""
