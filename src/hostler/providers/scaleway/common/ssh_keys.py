"""SSH keys: those of IAM, which Scaleway hands to every server of the project when it boots."""

import base64
import binascii
import hashlib
import re

from hostler.ports.keys import Registered

from .endpoints import Api
from .errors import TROUBLE, Failed, Trouble, refusal_of
from .pages import Listing
from .wire import SshKey

_MD5 = re.compile(r"\b(?:[0-9a-f]{2}:){15}[0-9a-f]{2}\b", re.IGNORECASE)
_SHA256 = re.compile(r"SHA256:([A-Za-z0-9+/]{43})")
_MOST_NAMES = 100


class SshKeys:
    """The keys of one project."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def register(self, public: str, name: str) -> Registered:
        """See ports.keys.RegistersKeys."""
        listing = await self._api.ssh_keys()
        found = [key for key in listing.found.values() if same_key(public, key)]
        enabled = [key for key in found if not key.disabled]
        if enabled:
            return Registered(well=True, there=True, text=f"is registered as {enabled[0].name!r}")
        if found:
            text = f"is registered as {found[0].name!r}, and disabled there: enable it"
            return Registered(well=False, there=False, text=text)
        if listing.error:
            return Registered(well=False, there=False, text=_unread(listing))
        free = _free_name(name, {key.name or "" for key in listing.found.values()})
        try:
            await self._api.create_ssh_key(free, public)
        except TROUBLE as trouble:
            return Registered(well=False, there=False, text=_refused(trouble, "registered"))
        return Registered(well=True, there=True, text=f"was registered as {free!r}")

    async def release(self, public: str, name: str) -> Registered:
        """See ports.keys.RegistersKeys."""
        listing = await self._api.ssh_keys()
        ours = [
            key
            for key in listing.found.values()
            if same_key(public, key) and _is_ours(key.name or "", name)
        ]
        if not ours and listing.error:
            return Registered(well=False, there=True, text=_unread(listing))
        for key in ours:
            try:
                await self._api.delete_ssh_key(key.id)
            except TROUBLE as trouble:
                return Registered(well=False, there=True, text=_refused(trouble, "taken out"))
        text = "was taken out" if ours else f"is not registered as {name!r}: nothing to take out"
        return Registered(well=True, there=False, text=text)


def same_key(public: str, listed: SshKey) -> bool:
    """Tell whether a listed key is this one: by the key itself, or else by its fingerprint.

    IAM writes fingerprints as `256 MD5:56:60:… (ssh-ed25519)`: only the hexadecimal digits in them
    can be compared.
    """
    blob = _blob(public)
    if blob is None:
        return False
    if listed.public_key:
        return _blob(listed.public_key) == blob
    fingerprint = listed.fingerprint or ""
    digits = _MD5.search(fingerprint)
    if digits is not None:
        md5 = hashlib.md5(blob, usedforsecurity=False).hexdigest()
        return digits[0].replace(":", "").lower() == md5
    sha = _SHA256.search(fingerprint)
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return sha is not None and sha[1] == digest


def _blob(line: str) -> bytes | None:
    """Return the key in a line, without type and comment; None where there is none."""
    words = line.split()
    if len(words) < 2:
        return None
    try:
        return base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        return None


def _free_name(name: str, taken: set[str]) -> str:
    names = (name, *(f"{name}-{number}" for number in range(2, _MOST_NAMES)))
    return next((free for free in names if free not in taken), name)


def _is_ours(name: str, ours: str) -> bool:
    rest = name.removeprefix(ours)
    return name == ours or (name.startswith(ours) and rest[:1] == "-" and rest[1:].isdigit())


def _unread(listing: Listing[SshKey]) -> str:
    if listing.trouble is not None:
        return _refused(listing.trouble, "looked for")
    return f"could not be looked for: {listing.error}"


def _refused(trouble: Trouble, what: str) -> str:
    if isinstance(trouble, Failed) and refusal_of(trouble.problem) == "denied":
        cure = "the API key lacks the permission SSHKeysFullAccess"
        return f"could not be {what}: {cure} ({trouble})"
    return f"could not be {what}: {trouble}"
