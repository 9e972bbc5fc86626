"""The user data that lets jobs in, beside the operator's own: read as cloud-init reads it."""

import email

import pytest

from hostler.domain.policy.user_data import KINDS
from hostler.frontends.fleeting.config.user_data import with_key

KEY = "ssh-ed25519 AAAAC3Nz hostler-ci"


def resources(text: str) -> list[tuple[str, str]]:
    """Return the leaves of a MIME message, as cloud-init walks through them."""
    found = list[tuple[str, str]]()
    for resource in email.message_from_string(text).walk():
        if resource.get_content_maintype() != "multipart":
            content = resource.get_payload(decode=True)
            assert isinstance(content, bytes)
            found.append((resource.get_content_type(), content.decode()))
    return found


def test_without_user_data_a_cloud_config_lets_root_in() -> None:
    assert with_key("", "root", KEY) == (
        f'#cloud-config\nssh_authorized_keys:\n- "{KEY}"\ndisable_root: false\n'
    )


def test_another_login_is_made_with_the_key() -> None:
    text = with_key(" \n", "builder", KEY)
    assert text.startswith("#cloud-config\n")
    assert f'- name: "builder"\n  ssh_authorized_keys: ["{KEY}"]' in text
    assert "- default\n" in text


@pytest.mark.parametrize(("begins", "kind"), KINDS.items())
def test_theirs_stands_beside_ours(begins: str, kind: str) -> None:
    theirs = f"{begins} and more\nline: two"
    (first, message), (second, ours) = resources(with_key(f"\n{theirs}", "root", KEY))
    assert (first, message.rstrip("\n")) == (kind, theirs)
    assert second == "text/cloud-config"
    assert KEY in ours


def test_our_cloud_config_adds_to_theirs_and_replaces_nothing() -> None:
    ours = resources(with_key("#cloud-config\nssh_authorized_keys: [x]", "root", KEY))[-1][1]
    assert "{name: list, settings: [append]}" in ours
    assert "no_replace" in ours


def test_another_login_gets_the_key_by_a_script_too() -> None:
    kinds = [kind for kind, _ in resources(with_key("#cloud-config\n", "builder", KEY))]
    assert kinds == ["text/cloud-config", "text/cloud-config", "text/x-shellscript"]


def test_letters_beyond_ascii_arrive_whole() -> None:
    theirs = "#!/bin/sh\necho 'Grüße, 世界'\n"
    assert resources(with_key(theirs, "root", KEY))[0] == ("text/x-shellscript", theirs)


def test_a_mime_message_is_kept_part_by_part() -> None:
    inner = (
        'Content-Type: multipart/mixed; boundary="b"\nMIME-Version: 1.0\n\n'
        "--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n"
        "--b\nContent-Type: text/cloud-config\n\n#cloud-config\n--b--\n"
    )
    assert [kind for kind, _ in resources(with_key(inner, "root", KEY))] == [
        "text/x-shellscript",
        "text/cloud-config",
        "text/cloud-config",
    ]


def test_what_cloud_init_would_leave_unread_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with #cloud-config"):
        with_key("packages: [git]", "root", KEY)


def test_the_same_group_has_the_same_text() -> None:
    assert with_key("#!x", "root", KEY) == with_key("#!x", "root", KEY)
    assert with_key("#!x", "root", KEY) != with_key("#!y", "root", KEY)
