"""Credentials that a program prints: `exec` of a kubeconfig (client.authentication.k8s.io/v1).

Nothing of what the program prints, and none of its arguments, is ever shown: secrets stand there.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from hostler.ports.clock import Clock
from hostler.ports.programs import killed, started
from hostler.ports.secret import Secret

from .credentials import Certificate, Identity, environment_with
from .errors import Unauthorized

LARGEST = 1 << 20
EARLY = timedelta(seconds=10)
"""How long before it expires an identity is no longer used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program, how it is run, and what it is given: `cluster` as JSON, empty for nothing."""

    command: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    hint: str = ""
    cluster: Mapping[str, object] | None = field(default=None, repr=False)
    within: timedelta = timedelta(seconds=60)


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


class ExecCredentials:
    """Runs the program when an identity is needed, and again when it expires or is refused."""

    def __init__(self, program: Program, clock: Clock) -> None:
        self._program, self._clock = program, clock
        self._lock = asyncio.Lock()
        self._identity: Identity | None = None
        self._expires: datetime | None = None

    async def identity(self) -> Identity:
        """Return the identity; one run of the program serves all who wait."""
        async with self._lock:
            if self._identity is None or self._expired():
                self._identity, self._expires = self._read(await self._run())
            return self._identity

    def refuse(self, refused: Identity) -> bool:
        """Forget the identity, so that the program runs again, unless it did since."""
        if self._identity is refused:
            self._identity = None
        return True

    def _expired(self) -> bool:
        return self._expires is not None and self._clock.now() + EARLY >= self._expires

    async def _run(self) -> bytes:
        program = self._program
        words = (program.command, *program.arguments)
        info = {"interactive": False, **({"cluster": program.cluster} if program.cluster else {})}
        request = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": info}
        added = {**program.environment, "KUBERNETES_EXEC_INFO": json.dumps(request)}
        output = b""
        try:
            async with (
                asyncio.timeout(program.within.total_seconds()),
                started(words, environment_with(added), errors=False) as running,
            ):
                async for piece in running.pieces():
                    output += piece
                    if len(output) > LARGEST:
                        raise self._failed("it prints without end")
                status = await running.status()
        except TimeoutError:
            raise self._failed(f"no end within {program.within.seconds} s") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it cannot be started"
            raise self._failed(f"{why}{f' ({program.hint})' if program.hint else ''}") from None
        if status:
            ended = killed(status) or f"exit status {status}"
            raise self._failed(f"{ended}; run it by hand to see why")
        return output

    def _read(self, output: bytes) -> tuple[Identity, datetime | None]:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._failed("what it prints is no ExecCredential") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._program.api_version:
            raise self._failed(f"it does not answer in {self._program.api_version}")
        status = answer.status or _Status()
        certificate = self._certificate(status)
        if not status.token and certificate is None:
            raise self._failed("it gives neither a token nor a certificate with its key")
        token = Secret(status.token) if status.token else None
        return Identity(token=token, certificate=certificate), status.expiration_timestamp

    def _certificate(self, status: _Status) -> Certificate | None:
        chain, key = status.client_certificate_data, status.client_key_data
        return Certificate(chain.encode(), key.encode()) if chain and key else None

    def _failed(self, why: str) -> Unauthorized:
        return Unauthorized(f"the credentials' program {self._program.command!r} failed: {why}")
