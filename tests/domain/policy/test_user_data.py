"""Two texts of user data as one: read as cloud-init reads it."""

import email

import pytest

from hostler.domain.policy.user_data import joined

FLEET = "#cloud-config\npackages: [curl]\n"
OWN = "## template: jinja\n#cloud-config\nruncmd: [kubeadm join]\n"


def parts(text: str) -> list[tuple[str, str, str]]:
    """Return the parts of a message: type, how it is merged, text."""
    found = list[tuple[str, str, str]]()
    for one in email.message_from_string(text).walk():
        if one.get_content_maintype() != "multipart":
            content = one.get_payload(decode=True)
            assert isinstance(content, bytes)
            merge = one.get("X-Merge-Type", "")
            found.append((one.get_content_type(), merge, content.decode().rstrip("\n")))
    return found


def test_the_first_stands_first_and_the_second_adds_to_it() -> None:
    first, second = parts(joined(FLEET, OWN))
    assert first == ("text/cloud-config", "", FLEET.rstrip("\n"))
    assert second == (
        "text/jinja2",
        "list(append)+dict(no_replace,recurse_list)+str()",
        OWN.rstrip("\n"),
    )


@pytest.mark.parametrize(("first", "second"), [("", OWN), (OWN, ""), (" \n", OWN)])
def test_one_alone_stays_as_it_is(first: str, second: str) -> None:
    assert joined(first, second) == OWN


def test_the_same_texts_are_the_same_at_each_try() -> None:
    assert joined(FLEET, OWN) == joined(FLEET, OWN) != joined(FLEET, OWN + " ")


def test_letters_beyond_ascii_arrive_whole() -> None:
    script = "#!/bin/sh\necho Grüße"
    assert parts(joined(FLEET, script))[1][2] == script


@pytest.mark.parametrize(
    ("first", "second"), [("version: v1alpha1", OWN), (FLEET, "token: s3cret")]
)
def test_what_cloud_init_would_not_read_is_refused_without_a_word_of_it(
    first: str, second: str
) -> None:
    with pytest.raises(ValueError, match="#cloud-config") as refused:
        joined(first, second)
    assert "s3cret" not in str(refused.value)
