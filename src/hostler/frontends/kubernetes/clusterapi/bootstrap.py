"""Bootstrap: the Secret of a Machine's bootstrap data: what decisions learn of it, and its text.

What goes into requests, records and conditions is where it is. The text is read by who gives it to
a machine, at that moment: a bootstrap provider renews its tokens until the Node has joined.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from hostler.domain.model.machine import BootstrapFormat
from hostler.kubernetes.errors import ApiError, Forbidden, NotFound
from hostler.kubernetes.objects import Key, M
from hostler.kubernetes.resources import Resource
from hostler.ports.bootstrap import BootstrapRefused, BootstrapUnavailable

from .names import BOOTSTRAP_KEY, CLOUD_CONFIG, FORMAT_KEY, SCRIPT
from .objects import SECRETS, Secret
from .reasons import ReadyReason

_KIND = "secret"
_LONGEST = 40
"""Letters of a foreign format that are told; what is in a Secret is nobody's to print at length."""


class ReadsSecrets(Protocol):
    """What is needed of a client."""

    async def get(self, resource: Resource[M], key: Key) -> M:
        """Return an object, or NotFound."""
        ...


class BootstrapPlace(Struct, frozen=True, kw_only=True):
    """Where bootstrap data is, and its format.

    Without a place the data is empty, and the fleet's own setup is all there is. `reason` and
    `problem` say why no machine can be given it.
    """

    place: str = ""
    format: BootstrapFormat = BootstrapFormat.CLOUD_INIT
    reason: ReadyReason | None = None
    problem: str = ""


class _Unreadable(Exception):
    """Why there is no data in a Secret, in a sentence."""


class _Foreign(Exception):
    """The data is in a format that no machine takes."""


async def examined(api: ReadsSecrets, key: Key) -> BootstrapPlace | None:
    """Return where the data of a Secret is; None where there is none yet. ApiErrors go through."""
    try:
        data = _data(await api.get(SECRETS, key), key)
    except (NotFound, _Unreadable):
        return None
    except Forbidden as error:
        return BootstrapPlace(reason=ReadyReason.BOOTSTRAP_UNREADABLE, problem=str(error))
    except _Foreign as error:
        return BootstrapPlace(reason=ReadyReason.BOOTSTRAP_UNSUPPORTED, problem=str(error))
    if not data.strip():
        return BootstrapPlace()
    script = data.lstrip().startswith(b"#!")
    return BootstrapPlace(
        place=f"{_KIND}/{key.namespace}/{key.name}",
        format=BootstrapFormat.SCRIPT if script else BootstrapFormat.CLOUD_INIT,
    )


@dataclass(slots=True)
class BootstrapSecrets:
    """Reads bootstrap data by its place in a request, once there is a cluster: see the port."""

    api: ReadsSecrets | None = None

    async def read(self, place: str) -> bytes:
        """Return the data."""
        kind, _, path = place.partition("/")
        namespace, _, name = path.partition("/")
        if self.api is None or kind != _KIND or not name:
            raise BootstrapUnavailable(f"{place} cannot be read: this engine speaks to no cluster")
        try:
            data = _data(await self.api.get(SECRETS, Key(namespace, name)), Key(namespace, name))
        except NotFound:
            text = f"the Secret {path} with the bootstrap data is gone"
            raise BootstrapUnavailable(text) from None
        except ApiError as error:
            raise BootstrapUnavailable(f"the Secret {path} cannot be read: {error}") from error
        except _Unreadable as error:
            raise BootstrapUnavailable(str(error)) from None
        except _Foreign as error:
            raise BootstrapRefused(str(error)) from None
        if not data.strip():
            raise BootstrapUnavailable(f"the Secret {path} has no bootstrap data any more")
        return data


def _data(secret: Secret, key: Key) -> bytes:
    values = secret.data or {}
    if BOOTSTRAP_KEY not in values:
        raise _Unreadable(f"the Secret {key} has no key `{BOOTSTRAP_KEY}`")
    format_ = _decoded(values, FORMAT_KEY, key).decode(errors="replace").strip()
    if format_ not in {"", CLOUD_CONFIG, SCRIPT}:
        raise _Foreign(
            f"the bootstrap data in the Secret {key} is {format_[:_LONGEST]!r}: "
            f"let the bootstrap provider write {CLOUD_CONFIG!r}, or {SCRIPT!r} for hosts by SSH"
        )
    return _decoded(values, BOOTSTRAP_KEY, key)


def _decoded(values: Mapping[str, str], name: str, key: Key) -> bytes:
    try:
        return base64.b64decode(values.get(name, ""), validate=True)
    except (binascii.Error, ValueError):
        raise _Unreadable(f"the key `{name}` of the Secret {key} is no base64") from None
