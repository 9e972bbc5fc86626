"""Web: devices that are asked over HTTP: their table, and what the statuses of answers mean."""

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta, Struct

from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Refusal
from hostler.ports.addresses import canonical
from hostler.ports.files import unreadable
from hostler.ports.http import Endpoint, HttpRequest, NoAnswer, NotSent, Response, Transport
from hostler.ports.kind import Lack
from hostler.ports.power import PowerOpening
from hostler.ports.secret import Secret

from .addresses import faults_of
from .passwords import hidden_in, lacking, password_of
from .switch import Failed, MethodTable, nonsense, refused

T = TypeVar("T")

LARGEST = 1 << 20
"""Bytes of an answer: the largest device tells a hundredth of it."""
_FORBIDDEN = 403
_DENIED = frozenset({401, _FORBIDDEN})
_BUSY = frozenset({409, 423, 425, 503})
_RATE = 429
_READ, _SHOWN = 4096, 120
_ODD = re.compile(r"[\\\s\x00-\x1f]")
"""What is in no host's name, and what speaks HTTP refuses there."""
_FIELD = re.compile(r'(\w+)=(?:"([^"]*)"|([^\s,]+))')


class WebTable(MethodTable, frozen=True, kw_only=True):
    """What may be said of every device that is asked over HTTP."""

    url: Annotated[str, Meta(min_length=1, description="its address, such as http://10.0.0.7")]
    user: Annotated[str | None, Meta(description="the user, where it asks for one")] = None
    password_env: Annotated[
        str | None, Meta(description="the environment variable that holds the password")
    ] = None
    password_file: Annotated[
        str | None, Meta(description="the file that holds the password, seen from the fleet file")
    ] = None
    ca_file: Annotated[
        str | None,
        Meta(description="a file of certificates in PEM to trust instead of the system's"),
    ] = None
    verify: Annotated[
        bool,
        Meta(description="whether its certificate is checked; most controllers sign their own"),
    ] = True


def faults(table: WebTable) -> tuple[str, ...]:
    """Return what cannot be the address or the credentials of a device."""
    found, parts = list[str](), _parts(table.url)
    if parts is None or any(faults_of("url", parts.hostname or "")):
        found.append("url: expected http:// or https://, and a host")
    elif parts.username or parts.password or parts.query or parts.fragment:
        found.append(
            "url: expected no user, password, query or fragment; those have their own keys"
        )
    if table.password_env is not None and table.password_file is not None:
        found.append("password_file: expected either this or password_env")
    if table.user is None and (table.password_env or table.password_file):
        found.append("user: expected the user whose password is given")
    return tuple(found)


def _parts(url: str) -> SplitResult | None:
    """Return the parts of an address, or None where it is none."""
    try:
        parts = urlsplit(url)
        host = bool(parts.hostname) and _ODD.search(parts.netloc) is None
        well = parts.scheme in {"http", "https"} and host and parts.port != 0
    except ValueError:
        return None
    return parts if well else None


def missing(table: WebTable, folder: Path, environment: Mapping[str, str]) -> tuple[Lack, ...]:
    """Return which files are not to be read here, or what the environment lacks."""
    found = [*lacking(table, folder, environment)]
    if table.ca_file is not None and (why := unreadable(folder / table.ca_file)):
        found.append(Lack(key="ca_file", text=f"{folder / table.ca_file} cannot be read: {why}"))
    return tuple(found)


class Credentials(Struct, frozen=True, kw_only=True):
    """Whom a device lets in; without a user nobody is named."""

    user: str
    password: Secret

    def basic(self) -> tuple[str, str]:
        """Return the header of basic authentication."""
        text = f"{self.user}:{self.password.reveal()}".encode()
        return "Authorization", f"Basic {base64.b64encode(text).decode()}"

    def hidden_in(self, text: str) -> str:
        """Return a text without the password, and without the header of basic authentication."""
        _, _, encoded = self.basic()[1].partition(" ")
        return hidden_in(text.replace(encoded, "***"), self.password)

    def digest(self, challenge: str, method: str, uri: str) -> tuple[str, str]:
        """Return the header that answers a challenge of digest authentication (RFC 7616)."""
        asked = {name: quoted or plain for name, quoted, plain in _FIELD.findall(challenge)}
        algorithm = asked.get("algorithm", "MD5")
        if "nonce" not in asked or algorithm.upper() not in {"MD5", "SHA-256"}:
            raise refused(
                Refusal.DENIED, f"it asks for a login of a kind not known here: {algorithm}"
            )

        def hashed(text: str) -> str:
            weak = algorithm.upper() == "MD5"  # what old devices ask for
            return (
                hashlib.md5(text.encode(), usedforsecurity=False)
                if weak
                else hashlib.sha256(text.encode())
            ).hexdigest()

        realm, nonce, client = asked.get("realm", ""), asked["nonce"], secrets.token_hex(8)
        who = hashed(f"{self.user}:{realm}:{self.password.reveal()}")
        what = hashed(f"{method}:{uri}")
        proof = hashed(f"{who}:{nonce}:00000001:{client}:auth:{what}")
        fields = {
            "username": self.user,
            "realm": realm,
            "nonce": nonce,
            "uri": uri,
            "cnonce": client,
            "response": proof,
        }
        quoted = ", ".join(f'{name}="{value}"' for name, value in fields.items())
        opaque = f', opaque="{asked["opaque"]}"' if "opaque" in asked else ""
        text = f"Digest {quoted}, algorithm={algorithm}, qop=auth, nc=00000001{opaque}"
        return "Authorization", text


class Web:
    """Asks one device. What its statuses mean is the same for all: see `ask`."""

    def __init__(
        self, transport: Transport, deadline: timedelta, credentials: Credentials | None
    ) -> None:
        self._transport, self._deadline, self.credentials = transport, deadline, credentials

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        headers: tuple[tuple[str, str], ...] = (),
        body: object = None,
    ) -> Response:
        """Ask once and return an answer of 200 to 299; `body` is sent as JSON.

        Raises `Failed`: DENIED for 401 and 403, BUSY or RATE for what time heals, INVALID for
        other statuses below 500, of which a device promises no effect; else nobody knows.
        """
        response = await self.exchange(method, path, query=query, headers=headers, body=body)
        if response.status // 100 != 2:
            raise self.judged(response)
        return response

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        headers: tuple[tuple[str, str], ...] = (),
        body: object = None,
    ) -> Response:
        """Ask once and return the answer, whatever its status."""
        typed = () if body is None else (("Content-Type", "application/json"),)
        request = HttpRequest(
            method=method,
            path=path,
            query=query,
            headers=(*headers, *typed),
            body=b"" if body is None else msgspec.json.encode(body),
        )
        try:
            return await self._transport.send(request, self._deadline)
        except (NotSent, NoAnswer) as error:
            raise type(error)(self.safe(str(error))) from None

    def judged(self, response: Response, right: str = "") -> Failed:
        """Return what an answer other than 200 to 299 means.

        `right` names what was needed, of a device that answers 403 where that is missing and never
        for a wrong login: then other things may be asked with this one still.
        """
        status, text = response.status, self.excerpt(response)
        if right and status == _FORBIDDEN:
            return refused(Refusal.INVALID, f"403: the user lacks {right}: {text}")
        if status in _DENIED:
            return refused(Refusal.DENIED, f"{status}: the credentials are refused")
        if status in _BUSY or status == _RATE:
            why = Refusal.RATE if status == _RATE else Refusal.BUSY
            return refused(why, f"{status}: {text}", _after(response))
        if 300 <= status < 400 and (link := response.header("Location")):
            where = self.safe(link)
            return refused(Refusal.INVALID, f"{status}: it leads to {where}: is that its `url`?")
        if 300 <= status < 500:
            return refused(Refusal.INVALID, f"{status}: {text}")
        return nonsense(f"{status}: {text}")

    def excerpt(self, response: Response, length: int = _SHOWN) -> str:
        """Return the beginning of an answer's text as it may be printed: in one line, no secret."""
        return self.safe(response.body[:_READ].decode(errors="replace"), length)

    def safe(self, text: str, length: int = _SHOWN) -> str:
        """Return the beginning of what a device said, in one line, without the secret."""
        hidden = self.credentials.hidden_in(text) if self.credentials else text
        return " ".join(hidden.split())[:length]

    def decoded(self, response: Response, kind: type[T]) -> T:
        """Return what an answer says; `Failed` where it is not what such a device says."""
        try:
            return msgspec.json.decode(response.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise nonsense(f"its answer makes no sense: {self.excerpt(response)!r}") from None

    async def close(self) -> None:
        """Give back connections."""
        await self._transport.close()


def _after(response: Response) -> timedelta | None:
    text = response.header("Retry-After") or ""
    return timedelta(seconds=int(text)) if text.isdecimal() and len(text) < 6 else None


def web_of(table: WebTable, opening: PowerOpening) -> Web:
    """Return what asks the device of a table; ConfigError where a secret or a file is missing."""
    authorities = opening.folder / table.ca_file if table.ca_file else None
    if authorities is not None and (why := unreadable(authorities)):
        raise ConfigError(f"ca_file: {authorities} cannot be read: {why}")
    parts = urlsplit(table.url)
    endpoint = Endpoint(
        base=table.url.rstrip("/"),
        authorities=authorities,
        verified=table.verify,
        connect=min(timedelta(seconds=5), table.deadline),
        largest=LARGEST,
    )
    del parts
    password = password_of(table, opening)
    known = Credentials(user=table.user, password=password) if table.user is not None else None
    return Web(opening.connect(endpoint), table.deadline, known)


def place_of(table: WebTable) -> str:
    """Return the device that a table leads to, whatever path stands in its address."""
    parts = urlsplit(table.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{canonical(parts.hostname or '')}:{port}"
