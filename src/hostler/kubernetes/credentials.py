"""Credentials: who the client says it is, also while tokens rotate and certificates expire."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hostler.ports.clock import Clock
from hostler.ports.files import read_text, why_not_read
from hostler.ports.secret import Secret

from .errors import Unauthorized

REREAD = timedelta(seconds=60)
"""How old the token of a file may be before it is read again, as Kubernetes' own clients do."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client's certificate and its key, in PEM; neither shows itself."""

    chain: bytes = field(repr=False)
    key: bytes = field(repr=False)


class Identity(Struct, frozen=True, kw_only=True):
    """What is shown to the server: a token, a certificate, both, or nothing."""

    token: Secret | None = None
    certificate: Certificate | None = None


class Credentials(Protocol):
    """Gives the identity that is good now."""

    async def identity(self) -> Identity:
        """Return it; Unauthorized, in a sentence without any secret, where there is none."""
        ...

    def refuse(self, refused: Identity) -> bool:
        """Note that the server refused an identity; tell whether another may be had.

        Of many calls at a time each is refused by itself, some when there is another one already.
        """
        ...


class FixedCredentials:
    """An identity that never changes."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def identity(self) -> Identity:
        """Return it."""
        return self._identity

    def refuse(self, refused: Identity) -> bool:
        """Tell that there is no other."""
        del refused
        return False


class TokenFile:
    """The token of a file that somebody writes anew before it expires (a service account's)."""

    def __init__(self, path: Path, clock: Clock, certificate: Certificate | None = None) -> None:
        self._path, self._clock, self._certificate = path, clock, certificate
        self._token: Secret | None = None
        self._read_at = 0.0

    async def identity(self) -> Identity:
        """Return the token, read again each minute; the last good one where the file is broken."""
        now = self._clock.boot()
        if self._token is None or now - self._read_at >= REREAD.total_seconds():
            self._read()
            self._read_at = now
        return Identity(token=self._token, certificate=self._certificate)

    def refuse(self, refused: Identity) -> bool:
        """Read the file before the next request; whether it has another token is seen then."""
        del refused
        self._read_at = float("-inf")
        return True

    def _read(self) -> None:
        try:
            text = read_text(self._path).strip()
            why = "" if text else "it is empty"
        except (OSError, ValueError) as error:
            text, why = "", why_not_read(error)
        if text:
            self._token = Secret(text)
        elif self._token is None:
            raise Unauthorized(f"the token file {self._path} cannot be used: {why}")


def environment_with(added: Mapping[str, str]) -> dict[str, str]:
    """Return this process' environment and some variables more, for a program that is started."""
    return {**os.environ, **added}
