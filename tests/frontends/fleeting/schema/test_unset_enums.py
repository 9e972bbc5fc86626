"""Enums that nobody has set: generated code reads the first value, whether one is there or not."""

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.schema.codec.codec import Codec
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap

SYNTAXES = ("proto3", "proto2")


def unmapped(service: ServiceMap) -> set[str]:
    """Return the fields that are refused."""
    return {line.partition(": ")[0] for line in service.refused()}


OURS = {
    "an architecture": ("Arch ARM64 AMD64", "arch", True),
    "an unset architecture": ("Arch ARCH_UNSPECIFIED ARM64 AMD64", "arch", False),
    "an architecture that begins at three": ("Arch ARM64=3 AMD64=4", "arch", True),
    "a system": ("Os WINDOWS LINUX", "os", True),
    "another protocol first": ("Protocol WINRM SSH", "protocol", True),
    "ssh first": ("Protocol SSH WINRM", "protocol", False),
}


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("case", OURS)
def test_an_optional_enum_of_ours_says_its_first_value_where_nothing_is_known(
    case: str, syntax: str
) -> None:
    kind, name, asked = OURS[case]
    if "=" in kind and syntax == "proto3":
        kind = f"{kind.split()[0]} ARM64 AMD64"
    body = CONNECTOR.replace(f"string {name} ", f"optional {kind.split()[0]} {name} ")
    service = mapped(written({"Connector": body}, enums=kind, syntax=syntax))
    assert unmapped(service) == ({f"ConnectInfo.reply.connector.{name}"} if asked else set())


OTHERS = {
    "a level": ("Level LOW HIGH", True),
    "a level that begins at one": ("Level LOW=1 HIGH=2", True),
    "a level that may be none": ("Level LEVEL_NONE LOW HIGH", False),
    "a level that may be none, as one": ("Level LEVEL_NONE=1 LOW=2", False),
}


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("message", ["InitReply", "IncreaseReply", "DecreaseReply"])
@pytest.mark.parametrize("case", OTHERS)
def test_an_optional_enum_beside_ours_says_its_first_value(
    case: str, message: str, syntax: str
) -> None:
    kind, asked = OTHERS[case]
    if syntax == "proto3":
        kind = kind.replace("=1", "").replace("=2", "")
    direct = {message: f"{BODIES[message]} optional Level level = 20;"}
    inside = {message: f"{BODIES[message]} Part part = 20;", "Part": "optional Level level = 1;"}
    call = message.removesuffix("Reply")
    for bodies, name in ((direct, "level"), (inside, "part.level")):
        service = mapped(written(bodies, enums=kind, syntax=syntax))
        assert unmapped(service) == ({f"{call}.reply.{name}"} if asked else set())


def test_an_optional_enum_beside_each_instance_can_be_settled() -> None:
    bodies = {
        "UpdateReply": "repeated I instances = 1;",
        "I": "string id = 1; State state = 2; optional Market market = 3;",
    }
    file = written(bodies, stream=False, enums="Market SPOT REGULAR")
    assert unmapped(mapped(file)) == {"Update.reply.instances.market"}
    assert mapped(file, '[Update.reply.always]\n"instances.market" = "REGULAR"').whole


def test_one_of_several_that_is_not_chosen_says_nothing() -> None:
    body = f"{BODIES['IncreaseReply']} oneof more {{ Level level = 20; string text = 21; }}"
    assert mapped(written({"IncreaseReply": body}, enums="Level LOW HIGH")).whole


ASKED: dict[str, tuple[str, dict[str, object], str]] = {
    "optional and not set": ("optional Protocol protocol = 3;", {"connector": {}}, ""),
    "optional and set": (
        "optional Protocol protocol = 3;",
        {"connector": {"protocol": "WINRM"}},
        "winrm",
    ),
    "in a message that is not set": ("Protocol protocol = 3;", {}, ""),
    "in a message that is set": ("Protocol protocol = 3;", {"connector": {}}, "winrm"),
    "optional with a default": (
        "optional Protocol protocol = 3 [default=SSH];",
        {"connector": {}},
        "ssh",
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_an_enum_that_a_request_does_not_set_asks_for_nothing(case: str) -> None:
    field, asked, read = ASKED[case]
    bodies = {
        "InitRequest": "bytes config = 1; Config connector = 2;",
        "Config": CONNECTOR.replace("string protocol = 3;", field),
    }
    syntax = "proto2" if "default" in field else "proto3"
    service = mapped(written(bodies, enums="Protocol WINRM SSH", syntax=syntax))
    assert service.whole
    request = GetMessageClass(service.calls["Init"].method.input_type)()
    _, connector = Codec(service).begin(ParseDict(asked, request))
    assert connector.protocol == read
