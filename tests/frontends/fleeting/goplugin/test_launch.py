"""Launch and handshake: what the host's environment says, and the line that answers it."""

import base64
from pathlib import Path

import pytest

from hostler.frontends.fleeting.goplugin.launch import ByHand, Launch, launched, line

SOCKET = Path("/tmp/hostler-x/plugin1")  # noqa: S108 - never opened


@pytest.mark.parametrize("versions", ["", "  ", "one", ","])
def test_a_process_without_protocol_versions_was_started_by_hand(versions: str) -> None:
    with pytest.raises(ByHand, match="PLUGIN_PROTOCOL_VERSIONS") as raised:
        launched({"PLUGIN_PROTOCOL_VERSIONS": versions})
    assert "\n" not in str(raised.value)
    with pytest.raises(ByHand):
        launched({})


@pytest.mark.parametrize(("versions", "highest"), [("0", 0), ("1", 1), ("3,10,2", 10), ("x, 4", 4)])
def test_the_highest_version_is_echoed(versions: str, highest: int) -> None:
    assert launched({"PLUGIN_PROTOCOL_VERSIONS": versions}).version == highest


def test_every_variable_is_read() -> None:
    launch = launched(
        {
            "PLUGIN_PROTOCOL_VERSIONS": "1",
            "PLUGIN_CLIENT_CERT": "pem",
            "PLUGIN_MULTIPLEX_GRPC": "true",
            "PLUGIN_UNIX_SOCKET_DIR": "/run/x",
            "PLUGIN_UNIX_SOCKET_GROUP": "gitlab",
        }
    )
    assert launch == Launch(
        versions=(1,),
        client_certificate="pem",
        multiplex=True,
        socket_folder=Path("/run/x"),
        socket_group="gitlab",
    )


def test_the_line_has_six_fields_and_an_empty_certificate_without_tls() -> None:
    assert line(Launch(versions=(7,)), SOCKET) == f"1|7|unix|{SOCKET}|grpc|"


def test_the_certificate_is_base64_without_padding() -> None:
    for certificate in (bytes(range(100)), bytes(range(101)), bytes(range(102))):
        *_, field = line(Launch(versions=(1,)), SOCKET, certificate).split("|")
        assert "=" not in field
        assert base64.b64decode(field + "=" * (-len(field) % 4)) == certificate


def test_a_host_that_asks_for_multiplexing_is_told_no_and_others_get_no_seventh_field() -> None:
    assert line(Launch(versions=(1,), multiplex=True), SOCKET).split("|")[6:] == ["false"]
    assert line(Launch(versions=(1,)), SOCKET).split("|")[6:] == []
