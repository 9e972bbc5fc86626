"""Look: what a runner's binary, or a descriptor set, says about the services in it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError
from msgspec import Struct
from msgspec.structs import replace

from .binary.descriptors import GOOGLE, Files, Unusable, build, closure, gather
from .binary.scan import Scan, build_id_of, opened, sane
from .mapping.override import NOTHING, Override
from .mapping.services import Service, complete, nearest, service
from .nearly import lines_of, nearly

_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"#!")
_LARGEST_SET = 64 * 1024 * 1024


class Found(Struct, frozen=True, kw_only=True):
    """The complete services of one file, the likeliest first, and how they were found.

    `descriptor_set` is the schema as a descriptor set, to be kept for worse days.
    """

    services: tuple[Service, ...]
    descriptor_set: bytes
    how: str
    build_id: str = ""
    notes: tuple[str, ...] = ()


class NoSchema(Exception):
    """Nothing to serve in a file; the text says what was there instead.

    `lines` are those of an override file that would make a service of what is there.
    """

    def __init__(self, text: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.lines = lines


def look_into(path: Path, override: Override = NOTHING) -> Found:
    """Return the services in a file: a runner's binary, any other binary, or a descriptor set.

    NoSchema says why there is none, Unreadable why the file could not be read.
    """
    with opened(path) as scan:
        if not bytes(scan.view[:4]).startswith(_MAGIC) and (files := _set(scan)):
            return _found(gather(files), "a descriptor set", None, override)
        return _in_binary(scan, override)


def from_set(content: bytes, override: Override = NOTHING) -> Found:
    """Return the services of a descriptor set that was kept."""
    files = _parsed_set(content)
    if not files:
        raise NoSchema("it is no descriptor set")
    return _found(gather(files), "a descriptor set", None, override)


def _in_binary(scan: Scan, override: Override) -> Found:
    """Look for descriptors around the methods, then in gzip streams, then for all there are."""
    ways: Sequence[tuple[str, Callable[[], list[FileDescriptorProto]]]] = (
        ("plain", lambda: _with_imports(scan.anchored(), scan)),
        ("compressed", scan.unpacked),
        ("plain, found by looking at everything", scan.everything),
    )
    failure, seen = NoSchema(""), list[FileDescriptorProto]()
    for how, search in ways:
        seen += search()
        try:
            return _found(gather(seen), how, scan, override)
        except NoSchema as error:
            failure = error
    raise failure


def _with_imports(found: list[FileDescriptorProto], scan: Scan) -> list[FileDescriptorProto]:
    """Return files with all that they import, as far as it is there."""
    known = {*GOOGLE, *(file.name for file in found)}
    todo = [name for file in found for name in file.dependency]
    while todo:
        name = todo.pop()
        if name in known or len(known) > 200 + len(GOOGLE):
            continue
        known.add(name)
        imported = scan.named(name)
        found = [*found, *imported]
        todo += [one for file in imported for one in file.dependency]
    return found


def _found(files: Files, how: str, scan: Scan | None, override: Override) -> Found:
    """Return the complete services of these files; NoSchema with what there is instead."""
    services, faults = list[Service](), list[str]()
    descriptor_set = dict[str, FileDescriptorProto]()
    for file, name in files.services():
        try:
            one = service(build(file, files, name), override)
        except Unusable as error:
            faults.append(str(error))
            continue
        used = scan.uses(name, [m.name for m in one.descriptor.methods]) if scan else None
        services.append(replace(one, used=used))
        if one.complete:
            descriptor_set |= {each.name: each for each in closure(file, files)}
    chosen = complete(services)
    if not chosen:
        raise _instead(services, faults, len(files.by_name), override)
    twice = _twice(chosen)
    if twice:
        raise NoSchema(f"{twice} stands there twice, with different contents")
    return Found(
        services=chosen,
        descriptor_set=FileDescriptorSet(file=descriptor_set.values()).SerializeToString(
            deterministic=True
        ),
        how=how,
        build_id=build_id_of(scan) if scan else "",
        notes=(*_evidence(chosen), *faults),
    )


def _twice(found: Iterable[Service]) -> str:
    names = [one.name for one in found]
    return next((name for name in names if names.count(name) > 1), "")


def _evidence(found: Sequence[Service]) -> tuple[str, ...]:
    """Return what the literal method paths in the binary say."""
    hints = list[str]()
    for one in found:
        if one.used:
            hints.append(f"{one.name}: its method paths are in the binary: a client is linked in")
        elif one.used == 0:
            hints.append(f"{one.name}: no method path of it is in the binary")
    return tuple(hints)


def _instead(
    services: Sequence[Service], faults: Sequence[str], files: int, override: Override
) -> NoSchema:
    """Return what is there where no service is complete."""
    near = [nearly(one, override) for one in nearest(services)[:3]]
    if not near:
        summary = f"{len(services)} services in {files} descriptors, none like fleeting's"
        found = summary if files else "no protobuf descriptor in it"
        return NoSchema("; ".join((found, *faults[:3])))
    reasons = [*(one.reason for one in near), *faults[:3]]
    return NoSchema("; ".join(reasons), tuple(lines_of(near)))


def _set(scan: Scan) -> list[FileDescriptorProto]:
    """Return the files of a descriptor set, or none where it is something else."""
    return _parsed_set(bytes(scan.view)) if len(scan.view) <= _LARGEST_SET else []


def _parsed_set(content: bytes) -> list[FileDescriptorProto]:
    try:
        found = FileDescriptorSet.FromString(content)
    except (DecodeError, UnicodeDecodeError):
        return []
    if found.ByteSize() != len(content) or not all(one.name and sane(one) for one in found.file):
        return []
    return list(found.file)
