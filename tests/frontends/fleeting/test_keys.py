"""The key pair of a group: made once and stored, or given; and why one is unfit."""

import asyncio
import stat
from pathlib import Path

import asyncssh
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from hostler.frontends.fleeting.ssh_key import FILE, BadKey, read_pair, stored_pair

Kinds = ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
MADE: dict[str, Kinds] = {
    "ssh-ed25519": ed25519.Ed25519PrivateKey.generate(),
    "ssh-rsa": rsa.generate_private_key(65537, 2048),
    "ecdsa-sha2-nistp256": ec.generate_private_key(ec.SECP256R1()),
}

HIDDEN = b"""\
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABBwIBFKLl
kxQNP9z/AoPWi1AAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIGBcr8Q1npdMrCH6
sNtXptdwqhR4T+B1izc1sMOH0nBBAAAAkNesXIsOwhed5CtZCDczvTaVaupSxF3o9FCtJ5
0FXHDWtch5cLs9eRizc2ORUL7eR7/jrLyVitveq5ghhroucA/FFKReeW6DMgBQCRNqgyeM
UizOCbaLsytS01NCPHhzqBUiUTtE+9hNsWBgJ8DaafdMibG43l3n1/7NiNR8UaHl6h3YNS
uOPkAvz0VBzMPGQA==
-----END OPENSSH PRIVATE KEY-----
"""


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = stored_pair(tmp_path)
    assert stored_pair(tmp_path) == first
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [FILE]
    assert first.public.startswith("ssh-ed25519 ")


def test_two_that_make_it_at_once_have_the_same(tmp_path: Path) -> None:
    async def race() -> set[str]:
        made = await asyncio.gather(*(asyncio.to_thread(stored_pair, tmp_path) for _ in range(8)))
        return {pair.public for pair in made}

    assert len(asyncio.run(race())) == 1


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(
    "form",
    [PrivateFormat.OpenSSH, PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL],
    ids=["openssh", "pkcs8", "traditional"],
)
def test_the_public_half_is_what_other_programs_derive(kind: str, form: PrivateFormat) -> None:
    if kind == "ssh-ed25519" and form is PrivateFormat.TraditionalOpenSSL:
        form = PrivateFormat.PKCS8
    private = MADE[kind].private_bytes(Encoding.PEM, form, NoEncryption())
    theirs = asyncssh.import_private_key(private).export_public_key().decode()
    pair = read_pair(b"\n" + private)
    assert pair.public.split() == theirs.split()[:2]
    assert pair.public.startswith(kind)


def test_a_passphrase_is_reported() -> None:
    hiding = BestAvailableEncryption(b"secret")
    hidden = MADE["ssh-rsa"].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hiding)
    for private in (hidden, HIDDEN):
        with pytest.raises(BadKey, match="has a passphrase"):
            read_pair(private)


def test_kinds_that_ssh_does_not_know_are_refused() -> None:
    private = x25519.X25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    with pytest.raises(BadKey, match="use Ed25519"):
        read_pair(private)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"ssh-ed25519 AAAA",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"\xff" * 100,
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ],
)
def test_what_is_no_key_is_refused_without_being_shown(content: bytes) -> None:
    with pytest.raises(BadKey) as caught:
        read_pair(content)
    assert "AAAA" not in str(caught.value)


def test_a_key_that_is_cut_off_anywhere_is_refused() -> None:
    whole = MADE["ssh-ed25519"].private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    for cut in range(0, len(whole) - 8, 7):
        with pytest.raises(BadKey):
            read_pair(whole[:cut])


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadKey, match="cannot be used: No such file"):
        stored_pair(tmp_path / "none")
