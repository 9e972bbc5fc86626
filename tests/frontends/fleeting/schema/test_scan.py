"""Descriptors found in the bytes of executables, whole, hostile or cut off."""

import gzip
import os
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from schema_kit import all_mapped, mapped, written

from hostler.frontends.fleeting.schema.binary.descriptors import Unusable
from hostler.frontends.fleeting.schema.binary.extent import ends, files, parsed
from hostler.frontends.fleeting.schema.binary.scan import Unreadable, scan_bytes
from hostler.frontends.fleeting.schema.candidates import Found, NoSchema, look_into
from hostler.frontends.fleeting.schema.mapping.mapping import map_service
from hostler.frontends.fleeting.schema.mapping.override import NOTHING, parse
from hostler.frontends.fleeting.schema.pin import digest

FILE = written()
DESCRIPTOR = FILE.SerializeToString(deterministic=True)
TRUE = digest(mapped(FILE))
NOISE = random.Random(1).randbytes(20_000)


def binary(folder: Path, content: bytes, name: str = "runner") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def around(descriptor: bytes) -> bytes:
    """Return a descriptor between strings, as a linker of Go lays them out."""
    return b"".join((NOISE, b"type..eq.struct", descriptor, b"invalid argument to Intn", NOISE))


def digests(found: Found) -> list[str]:
    return [digest(map_service(one, NOTHING)) for one in found.services]


def elf(*segments: tuple[int, bytes]) -> bytes:
    """Return an ELF file of 64 bits with these loadable segments: flags and content."""
    head, table, place, body = 64, 56 * len(segments), 64 + 56 * len(segments), b""
    headers = b""
    for flags, content in segments:
        headers += struct.pack(
            "<IIQQQQQQ", 1, flags, place + len(body), 0, 0, len(content), len(content), 4096
        )
        body += content
    start = b"\x7fELF\x02\x01\x01" + bytes(9)
    start += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, head, 0, 0, 64, 56, len(segments), 0, 0, 0)
    assert len(start) + table == place
    return start + headers + body


# ---------------------------------------------------------------- what is found


def test_a_descriptor_is_found_between_other_bytes(tmp_path: Path) -> None:
    found = look_into(binary(tmp_path, around(DESCRIPTOR)))
    assert (found.how, digests(found)) == ("plain", [TRUE])


def test_of_elf_only_segments_without_code_are_read(tmp_path: Path) -> None:
    found = look_into(binary(tmp_path, elf((5, NOISE), (4, around(DESCRIPTOR)))))
    assert digests(found) == [TRUE]
    with pytest.raises(NoSchema):
        look_into(binary(tmp_path, elf((5, around(DESCRIPTOR)), (4, NOISE))))


def test_an_elf_header_that_is_damaged_hides_nothing(tmp_path: Path) -> None:
    content = bytearray(elf((4, around(DESCRIPTOR))))
    content[32:40] = b"\xff" * 8
    assert digests(look_into(binary(tmp_path, bytes(content)))) == [TRUE]


TAILS = (
    *(b"", b"P", b"X", b"p", b"\x4a\x00", b"z\x00", b"Px", b"abc"),
    *(b":\x00", b"2\x00", b"B\x00", b"B\x03abc", b"*\x00", b"P\x00X\x00"),
)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
def test_what_follows_a_descriptor_is_not_taken_for_a_part_of_it(
    tmp_path: Path, tail: bytes, syntax: str
) -> None:
    file = written(syntax=syntax)
    content = NOISE + file.SerializeToString(deterministic=True) + tail + NOISE
    assert digests(look_into(binary(tmp_path, content))) == [digest(mapped(file))]


def test_compressed_descriptors_of_old_generators_are_found(tmp_path: Path) -> None:
    packed = gzip.compress(DESCRIPTOR, mtime=0)
    found = look_into(binary(tmp_path, NOISE + packed + NOISE))
    assert (found.how, digests(found)) == ("compressed", [TRUE])


def test_imports_are_followed(tmp_path: Path) -> None:
    other = written({"Extra": "string a = 1;"}, package="other.v1", calls=(), path="other.proto")
    del other.message_type[:-1], other.enum_type[:], other.service[:]
    main = written({"DecreaseReply": "repeated string succeeded = 1; other.v1.Extra extra = 2;"})
    main.dependency.append("other.proto")
    content = (
        other.SerializeToString(deterministic=True),
        main.SerializeToString(deterministic=True),
    )
    found = look_into(binary(tmp_path, NOISE + content[0] + NOISE + content[1] + NOISE))
    assert len(found.services) == 1
    with pytest.raises(NoSchema, match=r"Extra"):
        look_into(binary(tmp_path, NOISE + content[1] + NOISE))


def test_an_import_that_nothing_uses_may_be_missing(tmp_path: Path) -> None:
    file = written()
    file.dependency.append("some/annotations.proto")
    content = file.SerializeToString(deterministic=True)
    assert digests(look_into(binary(tmp_path, around(content)))) == [TRUE]


def test_an_import_with_two_contents_is_refused(tmp_path: Path) -> None:
    contents = list[bytes]()
    for name in ("a", "b"):
        file = written({"Extra": f"string {name} = 1;"}, package="o", calls=(), path="o.proto")
        del file.message_type[:-1], file.enum_type[:], file.service[:]
        contents.append(file.SerializeToString(deterministic=True))
    main = written({"HeartbeatReply": "o.Extra extra = 2;"})
    main.dependency.append("o.proto")
    contents.append(main.SerializeToString(deterministic=True))
    with pytest.raises(NoSchema, match=r"2 different files o\.proto"):
        look_into(binary(tmp_path, NOISE.join(contents)))


def test_two_versions_are_both_found_and_the_called_one_comes_first(tmp_path: Path) -> None:
    one, two = written(package="a.v1"), written(package="a.v2")
    both = [each.SerializeToString(deterministic=True) for each in (one, two)]
    found = look_into(binary(tmp_path, NOISE.join((*both, b"/a.v2.Plugin/Update"))))
    assert [(each.name, each.used) for each in found.services] == [
        ("a.v2.Plugin", 1),
        ("a.v1.Plugin", 0),
    ]
    assert any("a.v2.Plugin: its method paths are in the binary" in note for note in found.notes)
    assert any("a.v1.Plugin: no method path" in note for note in found.notes)


def test_one_service_with_two_contents_is_refused(tmp_path: Path) -> None:
    one = written(path="a.proto")
    two = written({"IncreaseRequest": "int64 count = 4;"}, path="b.proto")
    both = [each.SerializeToString(deterministic=True) for each in (one, two)]
    with pytest.raises(NoSchema, match="twice"):
        look_into(binary(tmp_path, NOISE.join(both)))


def test_a_descriptor_set_is_read_as_such(tmp_path: Path) -> None:
    content = FileDescriptorSet(file=[FILE]).SerializeToString()
    found = look_into(binary(tmp_path, content))
    assert (found.how, digests(found)) == ("a descriptor set", [TRUE])
    assert found.services[0].used is None


# ---------------------------------------------------------------- what is missing


def test_a_service_that_lacks_methods_is_told_of_with_lines_that_name_them(tmp_path: Path) -> None:
    calls = ("Init", "Update", "Increase", "Decrease", "Heartbeat", "Shutdown")
    types = {"GetConnectInfo": ("ConnectInfoRequest", "ConnectInfoReply")}
    file = written(calls=calls, methods=types)
    path = binary(tmp_path, around(file.SerializeToString(deterministic=True)))
    with pytest.raises(NoSchema, match="has no ConnectInfo") as refused:
        look_into(path)
    lines = "\n".join(refused.value.lines)
    assert '["test.v1.Plugin".methods]\nConnectInfo = "GetConnectInfo"' in lines
    override = parse(lines.encode(), "")
    (service,) = look_into(path, override).services
    assert service.path("ConnectInfo") == "/test.v1.Plugin/GetConnectInfo"


def test_a_service_without_any_of_the_names_is_told_of_after_observing_everything(
    tmp_path: Path,
) -> None:
    names = ("GetInit", "GetUpdate", "GetIncrease", "GetDecrease", "GetHeartbeat")
    types = dict.fromkeys(names, ("UpdateRequest", "UpdateReply"))
    file = written(calls=(), methods=types)
    content = around(file.SerializeToString(deterministic=True))
    with pytest.raises(NoSchema, match=r"test\.v1\.Plugin has no Init"):
        look_into(binary(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        NOISE,
        b"x",
        b"\x0a\x0bConnectInfo\x12" * 5_000,
        b"\x0a\x07a.proto" * 20_000,
        b"\x0a\x07a.proto\x0a\x0bConnectInfo\x12" * 3_000,
        b"\x0a\x07a.proto" + b"\x1a\x09\x0a\x07a.proto" * 90_000 + b"\x0a\x0bConnectInfo\x12" * 60,
        b"\x0a\x07a.proto" + b"\x22\x02\xff\xff" * 90_000 + b"\x0a\x0bConnectInfo\x12" * 60,
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00" * 5_000,
        b"\x0a\x07a.proto" + b"\x1a\x00" * 50_000 + b"\x0a\x0bConnectInfo\x12",
        zlib.compress(NOISE),
        b"\x7fELF" + b"\x02\x01" * 100,
    ],
)
def test_hostile_and_useless_files_are_refused_quickly(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(NoSchema):
        look_into(binary(tmp_path, content))


def test_a_bomb_in_a_gzip_stream_is_not_unpacked_whole(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(200_000_000), mtime=0)
    with pytest.raises(NoSchema):
        look_into(binary(tmp_path, NOISE + bomb * 3))


def test_what_is_no_file_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, binary(tmp_path, b"", "empty")):
        with pytest.raises(Unreadable):
            look_into(path)


# ---------------------------------------------------------------- damage


def rounds() -> int:
    """Return how many random cases are tried; more by hand."""
    return int(os.environ.get("HOSTLER_SCHEMA_ROUNDS", "150"))


def judged(content: bytes) -> list[str]:
    """Return the mappings that are served for these bytes: none where all is refused."""
    found = scan_bytes(content).anchored()
    return sorted(_served(found))


def _served(found: list[FileDescriptorProto]) -> Iterator[str]:
    for file in found:
        try:
            services = all_mapped([file])
        except Unusable:
            continue
        yield from (digest(one) for one in services if one.whole)


def test_a_file_that_is_cut_off_anywhere_says_the_same_or_nothing(tmp_path: Path) -> None:
    content = NOISE[:100] + DESCRIPTOR + NOISE[:100]
    path = tmp_path / "runner"
    for size in range(1, len(content), 7):
        path.write_bytes(content[:size])
        try:
            found = look_into(path)
        except NoSchema:
            continue
        assert [each for each in digests(found) if each != TRUE] == []


def test_damage_outside_a_descriptor_changes_nothing_that_is_served() -> None:
    chance, before = random.Random(7), around(b"")
    for _ in range(rounds()):
        noise = bytearray(before)
        for _ in range(chance.randint(1, 200)):
            noise[chance.randrange(len(noise))] = chance.randrange(256)
        half = len(noise) // 2
        assert judged(bytes(noise[:half]) + DESCRIPTOR + bytes(noise[half:])) == [TRUE]


def test_damage_inside_a_descriptor_is_never_served_but_as_what_it_says() -> None:
    chance = random.Random(11)
    for _ in range(rounds()):
        damaged = bytearray(DESCRIPTOR)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        message = set[str]()
        for file, _ in files(bytes(damaged)):
            message.update(_served([file]))
        assert set(judged(NOISE[:500] + bytes(damaged) + NOISE[:500])) <= message


def test_what_is_not_written_again_as_the_same_bytes_is_no_descriptor() -> None:
    assert parsed(b"\x0a\x07a.proto\x12\x01a") is not None
    assert parsed(b"\x0a\x07a.proto\x12\x81\x00a") is None


def test_of_a_file_that_could_end_anywhere_few_ends_are_tried() -> None:
    content = b"\x0a\x07a.proto" + b"\x1a\x01b" * 1_000
    sizes = [size for _, size in files(content)]
    assert sizes == sorted(range(len(content), 0, -3)[:64], reverse=True)


def test_editions_are_found(tmp_path: Path) -> None:
    file = written(syntax="editions")
    file.edition = 1000  # pyright: ignore[reportAttributeAccessIssue] - an enum's number
    content = file.SerializeToString(deterministic=True)
    assert digests(look_into(binary(tmp_path, around(content)))) == [digest(mapped(file))]


def test_ends_of_a_descriptor_include_its_true_end() -> None:
    assert len(DESCRIPTOR) in ends(DESCRIPTOR + NOISE)
    assert next(files(DESCRIPTOR + NOISE))[1] == len(DESCRIPTOR)
