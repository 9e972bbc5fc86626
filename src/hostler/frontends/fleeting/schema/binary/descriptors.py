"""Pool: descriptors of files that were found, made into services with message classes."""

from collections.abc import Iterator, Mapping, Sequence

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from msgspec import Struct

GOOGLE: Mapping[str, bytes] = {
    file.name: file.serialized_pb
    for file in (
        any_pb2.DESCRIPTOR,
        descriptor_pb2.DESCRIPTOR,
        duration_pb2.DESCRIPTOR,
        empty_pb2.DESCRIPTOR,
        field_mask_pb2.DESCRIPTOR,
        struct_pb2.DESCRIPTOR,
        timestamp_pb2.DESCRIPTOR,
        wrappers_pb2.DESCRIPTOR,
    )
}
"""The files that every schema may import, from the library: of one version, and never missing."""
_MOST_FILES = 200


class Unusable(Exception):
    """Files that cannot be put together; the text says why."""


class Files(Struct, frozen=True):
    """All that was found under each file name; more than one where contents differ."""

    by_name: Mapping[str, tuple[FileDescriptorProto, ...]]

    def services(self) -> Iterator[tuple[FileDescriptorProto, str]]:
        """Go through the full names of all services, with their files."""
        for files in self.by_name.values():
            for file in files:
                for service in file.service:
                    yield file, f"{file.package}.{service.name}".lstrip(".")


def gather(found: Sequence[FileDescriptorProto]) -> Files:
    """Return the files by name, each content once."""
    by_name = dict[str, dict[bytes, FileDescriptorProto]]()
    for file in found:
        by_name.setdefault(file.name, {})[file.SerializeToString(deterministic=True)] = file
    return Files({name: tuple(contents.values()) for name, contents in by_name.items()})


def build(root: FileDescriptorProto, files: Files, service: str) -> ServiceDescriptor:
    """Return a service with all that its messages need, in a pool of its own.

    Unusable where an import has two contents, or where the files do not fit together.
    """
    pool = descriptor_pool.DescriptorPool()
    added = set[str]()
    try:
        _add(root, files, pool, added, ())
        return pool.FindServiceByName(service)
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise Unusable(f"{root.name}: {' '.join(str(error).split())[:300]}") from None


def closure(root: FileDescriptorProto, files: Files) -> tuple[FileDescriptorProto, ...]:
    """Return a file and all that it imports as far as it was found, imports first."""
    order = dict[str, FileDescriptorProto]()

    def visit(file: FileDescriptorProto, above: tuple[str, ...]) -> None:
        for name in file.dependency:
            found = files.by_name.get(name, ())
            if found and name not in order and name not in above and len(above) < _MOST_FILES:
                visit(found[0], (*above, name))
        order[file.name] = file

    visit(root, (root.name,))
    return tuple(order.values())


def _add(
    file: FileDescriptorProto,
    files: Files,
    pool: descriptor_pool.DescriptorPool,
    added: set[str],
    above: tuple[str, ...],
) -> None:
    """Add a file behind what it imports; what was found nowhere is left out and may not be used."""
    known = list[str]()
    for name in file.dependency:
        if name in above or len(added) > _MOST_FILES:
            raise Unusable(f"{file.name} imports itself, or more than can be")
        if name in added or _import(name, files, pool, added, (*above, file.name)):
            known.append(name)
    added.add(file.name)
    pool.AddSerializedFile(_pruned(file, known).SerializeToString())


def _import(
    name: str,
    files: Files,
    pool: descriptor_pool.DescriptorPool,
    added: set[str],
    above: tuple[str, ...],
) -> bool:
    """Add an imported file; tell whether there is one."""
    found = files.by_name.get(name, ())
    if name in GOOGLE:
        added.add(name)
        pool.AddSerializedFile(GOOGLE[name])
        return True
    if len(found) > 1:
        raise Unusable(f"there are {len(found)} different files {name}")
    for file in found:
        _add(file, files, pool, added, above)
    return bool(found)


def _pruned(file: FileDescriptorProto, known: Sequence[str]) -> FileDescriptorProto:
    """Return a file with only these imports, which are all public then."""
    if len(known) == len(file.dependency):
        return file
    pruned = FileDescriptorProto()
    pruned.CopyFrom(file)
    del pruned.dependency[:], pruned.public_dependency[:], pruned.weak_dependency[:]
    pruned.dependency.extend(known)
    pruned.public_dependency.extend(range(len(known)))
    return pruned
