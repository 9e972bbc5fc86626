"""Secrets: what objects name of Secrets, as variables and files that only this process has.

A variable's name, and a file's folder, change with the content: so that an account is opened anew
when its Secret is another one.
"""

import base64
import binascii
import hashlib
import hmac
import shutil
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from hostler.domain.errors import ConfigError
from hostler.kubernetes.errors import ApiError, NotFound
from hostler.kubernetes.objects import Key
from hostler.kubernetes.resources import Resource

from .models import SECRETS, StoredSecret

SYSTEMS_OWN = frozenset(
    {
        "kubernetes.io/service-account-token",
        "bootstrap.kubernetes.io/token",
        "kubernetes.io/dockercfg",
        "kubernetes.io/dockerconfigjson",
        "helm.sh/release.v1",
    }
)
"""Types of Secrets that are for the cluster itself: what objects say sends on none of them."""

_OTHER = "expected one that was made for credentials, such as one of type Opaque"


class ReadsSecrets(Protocol):
    """What is needed of a client."""

    async def get(self, resource: Resource[StoredSecret], key: Key) -> StoredSecret:
        """Return a Secret."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretData:
    """What is in one Secret; `problem` says why nothing can be read of it.

    `place` is its name among those of all namespaces; left out, it is its own.
    """

    name: str
    place: str = ""
    values: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    problem: str = ""


async def read_secret_data(reader: ReadsSecrets, key: Key, place: str = "") -> SecretData:
    """Return a Secret's values; an ApiError that time may heal is raised."""
    read = await _read(reader, key)
    return replace(read, place=place)


async def _read(reader: ReadsSecrets, key: Key) -> SecretData:
    name = key.name
    try:
        found = await reader.get(SECRETS, key)
    except NotFound:
        return SecretData(name=name, problem=f"there is no Secret {name} in {key.namespace}")
    except ApiError as error:
        if error.retryable:
            raise
        return SecretData(name=name, problem=f"the Secret {name} cannot be read: {error}")
    if found.type in SYSTEMS_OWN:
        return SecretData(name=name, problem=f"the Secret {name} is of type {found.type}: {_OTHER}")
    try:
        values = {each: base64.b64decode(one) for each, one in (found.data or {}).items()}
    except (binascii.Error, ValueError):
        return SecretData(name=name, problem=f"the Secret {name} cannot be read: no base64")
    return SecretData(name=name, values=values)


class SecretPlaces:
    """Where secrets are put: variables of this process, and files in a folder of its own.

    Where `unread` ones pass, what a Secret lacks, or who may not read it, has its variable or file
    too, with nothing in it: who needs that is told what is missing, and all others do without.
    """

    def __init__(
        self,
        folder: Path,
        variables: MutableMapping[str, str],
        salt: bytes,
        *,
        unread: bool = False,
    ) -> None:
        self._folder, self._variables, self._salt = folder, variables, salt
        self._unread = unread
        self._changing = set[Path]()
        self._variable_names = set[str]()
        self._where = dict[str, str]()
        self._problems = dict[str, str]()

    def worded(self, text: str) -> str:
        """Return a text about our variables and files in the words of who wrote the Secrets.

        Where one is of a Secret that could not be read, why that is so says it all.
        """
        for place, problem in self._problems.items():
            if place in text:
                return problem
        for place in sorted(self._where, key=len, reverse=True):
            for named in (f"the environment variable {place}", place):
                text = text.replace(named, self._where[place])
        return text

    def clear(self) -> None:
        """Remove the files of an earlier process; ConfigError where there is no place for ours."""
        shutil.rmtree(self._folder, ignore_errors=True)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or type(error).__name__
            text = f"{self._folder}, for what objects name of Secrets, cannot be made: {why}"
            raise ConfigError(text) from error

    def variable(self, secret: SecretData, key: str) -> str:
        """Return the variable that has this value; ConfigError where the Secret lacks it."""
        try:
            name, value = self._variable(secret, key)
        except ConfigError as error:
            return self._unread_as(f"S{self._digest(_place(secret), key, b'')}", secret, error)
        self._variables[name] = value
        self._variable_names.add(name)
        self._where[name] = _about(secret, key)
        return name

    def file(self, secret: SecretData, key: str, *, stable: bool) -> str:
        """Return the path of a file with this value, which changes with it unless `stable`.

        ConfigError too where it cannot be written: what objects name may need more than there is.
        """
        try:
            value = self._value(secret, key)
        except ConfigError as error:
            return self._unread_as(str(self._folder / _place(secret) / key), secret, error)
        suffix = "" if stable else f"-{self._digest(_place(secret), key, value)}"
        folder = self._folder / f"{_place(secret)}{suffix}"
        self._changing |= set[Path]() if stable else {folder}
        self._where[str(folder / key)] = _about(secret, key)
        try:
            return self._written(folder, key, value)
        except OSError as error:
            why = error.strerror or type(error).__name__
            text = f"the key {key} of the Secret {secret.name} cannot be put into a file: {why}"
            raise ConfigError(text) from None

    def forget(self, used: Collection[str]) -> None:
        """Remove variables, and files whose paths change, but for these: they are others by now.

        What cannot be removed is tried again with the next call.
        """
        names = frozenset(used)
        for name in self._variable_names - names:
            self._variables.pop(name, None)
            self._where.pop(name, None)
        self._variable_names &= names
        named = {Path(path).parent for path in names}
        for folder in self._changing - named:
            shutil.rmtree(folder, ignore_errors=True)
            self._changing -= set[Path]() if folder.exists() else {folder}
            for path in [path for path in self._where if Path(path).parent == folder]:
                del self._where[path]

    def _written(self, folder: Path, key: str, value: bytes) -> str:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / key
        if not path.exists() or path.read_bytes() != value:
            fresh = folder / f"{key}~"  # no key has this letter
            fresh.touch(mode=0o600)
            fresh.write_bytes(value)
            fresh.replace(path)
        return str(path)

    def _unread_as(self, place: str, secret: SecretData, error: ConfigError) -> str:
        """Return a variable or path with nothing in it, where such may be; else raise the error."""
        if not (self._unread and secret.name):
            raise error
        self._problems[place] = str(error)
        return place

    def _variable(self, secret: SecretData, key: str) -> tuple[str, str]:
        value = self._value(secret, key)
        try:
            text = value.decode().strip()
        except UnicodeDecodeError:
            raise ConfigError(f"the key {key} of the Secret {secret.name} is no text") from None
        return f"S{self._digest(_place(secret), key, value)}", text

    def _value(self, secret: SecretData, key: str) -> bytes:
        if secret.problem:
            raise ConfigError(secret.problem)
        if not secret.name:
            raise ConfigError(f"{key} is to be the key of a Secret: name that in secretName")
        value = secret.values.get(key)
        if value is None or key.startswith(".."):
            known = ", ".join(sorted(secret.values)) or "none"
            raise ConfigError(f"the Secret {secret.name} has no key {key}; it has {known}")
        return value

    def _digest(self, name: str, key: str, value: bytes) -> str:
        text = b"\0".join((name.encode(), key.encode(), value))
        return hmac.new(self._salt, text, hashlib.sha256).hexdigest()[:24]


def _about(secret: SecretData, key: str) -> str:
    return f"the key {key} of the Secret {secret.name}"


def _place(secret: SecretData) -> str:
    return secret.place or secret.name
