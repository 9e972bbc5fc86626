"""What a Job in our image runs: packets that leave, and a machine that is asked to shut down."""

import socket

import pytest

from hostler.app.command_line import run
from hostler.providers.power.methods.wake_on_lan import packet

MAC = "52:54:00:12:34:56"
FINGERPRINT = f"SHA256:{'A' * 43}"


def test_magic_packets_leave(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(5)
        port = str(listener.getsockname()[1])
        assert run(["wake-on-lan", MAC, "--broadcast", "127.0.0.1", "--port", port]) == 0
        assert listener.recv(200) == packet(MAC)
    assert capsys.readouterr().out == "sent\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["wake-on-lan", "52:54"], "mac"),
        (["wake-on-lan", MAC, "--broadcast", "there"], "broadcast"),
        (["wake-on-lan", MAC, "--port", "99999"], "port: expected a whole number of at least 1"),
        (["ssh-shutdown", "127.0.0.1", "--fingerprint", "MD5:00"], "fingerprint"),
        (["ssh-shutdown", "127.0.0.1", "--fingerprint", FINGERPRINT, "--command", " "], "command"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    printed = capsys.readouterr().err
    assert named in printed
    assert "$." not in printed


def test_a_machine_that_is_not_reached_fails_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ssh-shutdown", "127.0.0.1", "--port", "1", "--fingerprint", FINGERPRINT, "--json"]
    assert run(words) == 1
    assert '"outcome":"failed"' in capsys.readouterr().out
