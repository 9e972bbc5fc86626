"""Bootstrap data that is a script: what may be run, and what of it is never shown."""

import pytest

from hostler.domain.ids import machine_id
from hostler.domain.policy.bootstrap_data import (
    LARGEST,
    DataRun,
    DataState,
    hidden,
    script_of,
)

PLACE = "secret/fleet/w-1"
TOKEN = "abcdef.0123456789abcdef"


def test_a_script_is_what_begins_with_its_interpreter_white_space_aside() -> None:
    assert script_of(b"\n  #!/bin/sh\ntrue\n", PLACE) == b"#!/bin/sh\ntrue\n"


def test_bytes_that_are_no_utf8_are_the_scripts_own_affair() -> None:
    assert script_of(b"#!/bin/sh\necho \xe9\xff\n", PLACE) == b"#!/bin/sh\necho \xe9\xff\n"


def test_the_largest_script_is_taken_and_one_byte_more_is_not() -> None:
    whole = b"#!/bin/sh\n".ljust(LARGEST, b"#")
    assert script_of(whole, PLACE) == whole
    with pytest.raises(ValueError, match="1,048,577 bytes: 1,048,576 are the most"):
        script_of(whole + b"#", PLACE)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is no script"),
        (b" \n", "is no script"),
        (b"#!\ns3cret\n", "is no script"),
        (b"#cloud-config\ns3cret\n", "is no script"),
        (b"\xef\xbb\xbf#!/bin/sh\ns3cret\n", "is no script"),
        (b"#!/bin/sh\ns3cret\0\n", "NUL"),
        (b"#!/bin/sh\r\ns3cret\r\n", "CRLF"),
    ],
    ids=["empty", "blank", "no interpreter", "cloud-config", "byte order mark", "NUL", "CRLF"],
)
def test_what_no_host_can_run_is_refused_in_a_sentence_without_it(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        script_of(data, PLACE)
    assert PLACE in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "script",
    [
        f"kubeadm join --token {TOKEN}",
        f"TOKEN='{TOKEN}'",
        f'{{"token": "{TOKEN}"}}',
        f"curl -H 'Authorization: Bearer {TOKEN}' | sh",
        f"echo {TOKEN}|join",
    ],
)
def test_a_token_is_blotted_out_wherever_it_stands(script: str) -> None:
    text = hidden(f"+ join {TOKEN}\nrefused: {TOKEN}.", f"#!/bin/sh\n{script}\n".encode())
    assert TOKEN not in text
    assert "refused" in text


@pytest.mark.parametrize(
    "script",
    [
        "PASSWORD=hunter",
        "login --password hunter",
        'password: "hunter"',
        "export MY_SECRET=hunter",
        "API_KEY='hunter'",
    ],
)
def test_a_plain_word_is_blotted_out_where_its_name_says_what_it_is(script: str) -> None:
    assert hidden("bad: hunter", f"#!/bin/sh\n{script}\n".encode()) == "bad: ***"


def test_plain_words_and_paths_of_a_script_are_shown() -> None:
    script = b"#!/bin/bash\ninstall -m 755 agent /usr/local/bin/agent\nsystemctl restart agent\n"
    text = "install: cannot stat 'agent': /usr/local/bin/agent: systemctl failed"
    assert hidden(text, script) == text


def test_each_line_of_a_key_is_blotted_out() -> None:
    lines = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCB{n}" for n in range(3)]
    script = "\n".join(["#!/bin/sh", "cat >key <<EOF", *lines, "EOF"]).encode()
    assert not any(line in hidden("\n".join(lines), script) for line in lines)


def test_a_run_counts_for_its_own_machine_alone() -> None:
    run = DataRun(machine=machine_id(1), state=DataState.DONE)
    assert run.of(machine_id(1)) is run
    assert run.of(machine_id(2)) == DataRun(machine=machine_id(2))
