"""Keys: the SSH key by which jobs reach a group's instances: given, or made once and stored."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkstemp

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from hostler.domain.errors import ConfigError

FILE = "id_ed25519"
LARGEST = 64_000
_SSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"


class BadKey(ConfigError):
    """A private key that cannot be used; the sentence says why, and contains nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A private key as it stands in a file, and the line of its public half, without a comment."""

    private: bytes = field(repr=False)
    public: str


def read_pair(private: bytes) -> KeyPair:
    """Return the pair that a private key is half of: OpenSSH or PEM, RSA, ECDSA or Ed25519."""
    if not private.strip():
        raise BadKey("it is empty")
    load = load_ssh_private_key if private.lstrip().startswith(_SSH) else load_pem_private_key
    try:
        key = load(private.lstrip(), None)
    except TypeError:
        raise BadKey("it has a passphrase, which nobody could type here: take it off") from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadKey("it is no private key, or a damaged one, or of an unknown kind") from None
    if not isinstance(key, Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey):
        raise BadKey("SSH servers refuse keys of its kind: use Ed25519, ECDSA or RSA")
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return KeyPair(private=private, public=public.decode())


def stored_pair(folder: Path) -> KeyPair:
    """Return the group's own key pair; made where there is none yet, and never replaced.

    BadKey where the stored key cannot be read: living instances know only that one.
    """
    path = folder / FILE
    try:
        if not path.exists():
            _make(path)
        with path.open("rb") as file:
            content = file.read(LARGEST)
    except OSError as error:
        raise BadKey(f"{path} cannot be used: {error.strerror}") from error
    try:
        return read_pair(content)
    except BadKey as error:
        raise BadKey(
            f"{path}: {error}; bring it back from a backup, or remove it and have a new one made, "
            "which instances that live now do not know"
        ) from None


def _make(path: Path) -> None:
    """Make a key under its name: whole, only for its owner, and never over another one."""
    private = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )
    descriptor, name = mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(private)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()
