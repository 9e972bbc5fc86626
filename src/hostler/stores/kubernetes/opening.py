"""Opening: a store by its place in a cluster, reached by a kubeconfig or from inside a Pod."""

import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from random import SystemRandom
from typing import Self
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig, in_cluster, is_in_cluster
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.kubeconfig import is_there
from hostler.kubernetes.objects import Key
from hostler.kubernetes.session import Session
from hostler.ports.clock import Clock

from .batches import Batches, Writing
from .faults import as_store_error
from .kinds import JournalSpec
from .notices import Notices
from .objects import Objects
from .store import KubernetesStore

NAME = "hostler"
"""What a journal is called that is not named."""

DEADLINE = timedelta(seconds=10)
"""How long one call may take."""

EXPECTED = '"kubernetes:", "kubernetes:NAMESPACE" or "kubernetes:NAMESPACE/NAME"'

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLACE = re.compile(rf"(?:(?P<namespace>{_LABEL})(?:/(?P<name>{_LABEL}))?)?")
_KEYS = ("context", "kubeconfig")


class ClusterPlace(Struct, frozen=True, kw_only=True):
    """A journal: where it is, and how its cluster is reached; what is empty is the environment's.

    Written as `NAMESPACE/NAME?context=CONTEXT&kubeconfig=FILE`; every piece may be left out.
    """

    namespace: str = ""
    name: str = NAME
    context: str = ""
    kubeconfig: str = ""

    def __str__(self) -> str:
        """Return the place as it is written."""
        named = self.name != NAME
        path = f"{self.namespace}/{self.name}" if named else self.namespace
        values = {key: value for key in _KEYS if (value := str(getattr(self, key)))}
        return f"{path}?{urlencode(values, safe='/')}" if values else path

    @classmethod
    def read(cls, written: str) -> Self:
        """Read a place; ValueError says what was expected."""
        path, _, query = written.partition("?")
        found = _PLACE.fullmatch(path)
        pairs = dict(parse_qsl(query, keep_blank_values=True))
        if found is None:
            raise ValueError(EXPECTED)
        if unknown := [key for key in pairs if key not in _KEYS]:
            raise ValueError(f"{EXPECTED}, with ?{'= or &'.join(_KEYS)}= and not {unknown[0]!r}")
        return cls(
            namespace=found["namespace"] or "",
            name=found["name"] or NAME,
            context=pairs.get("context", ""),
            kubeconfig=pairs.get("kubeconfig", ""),
        )


class Surroundings(Struct, frozen=True):
    """What a process has: its environment, and the time."""

    environment: Mapping[str, str]
    clock: Clock


def open_store(
    place: ClusterPlace, around: Surroundings, installation: str | None, *, reading: bool = False
) -> KubernetesStore:
    """Open the store at a place; nothing is sent before the first question.

    `installation` is that of a new journal, None where none is to be made: then StoreMissing is
    what the first question raises. `reading` alone makes none either, and finds no records. Raises
    ConfigError for a cluster that is not configured.
    """
    objects, client = _objects(place, around)
    session = client.session
    writing = Writing(
        writer=secrets.token_hex(8),
        installation=installation,
        clock=around.clock,
        draw=SystemRandom().random,
        reading=reading,
    )
    notices = Notices(client, Key(objects.namespace, objects.name), around.clock)
    return KubernetesStore(Batches(objects, writing), session.close, notices)


async def journal_at(place: ClusterPlace, around: Surroundings) -> JournalSpec | None:
    """Return the journal as it is, None where there is none; StoreError and ConfigError."""
    objects, client = _objects(place, around)
    try:
        found = await objects.journal()
    except ApiError as error:
        raise as_store_error(str(objects), error) from error
    finally:
        await client.session.close()
    return None if found is None else found.spec


def _objects(place: ClusterPlace, around: Surroundings) -> tuple[Objects, Client]:
    config = _config(place, around.environment, around.clock)
    client = Client(session=Session(config), deadline=DEADLINE)
    namespace = place.namespace or config.namespace
    return Objects(client=client, namespace=namespace, name=place.name), client


def _config(place: ClusterPlace, environment: Mapping[str, str], clock: Clock) -> ClusterConfig:
    if not place.context and not place.kubeconfig and is_in_cluster(environment):
        return in_cluster(environment, clock)
    variables = dict(environment)
    if place.kubeconfig:
        if not is_there(Path(place.kubeconfig)):
            raise ConfigError(f"{place.kubeconfig}: there is no such kubeconfig file")
        variables["KUBECONFIG"] = place.kubeconfig
    home = Path(environment.get("HOME", "/"))
    where = Place(environment=variables, home=home, context=place.context or None)
    try:
        return from_kubeconfig(where, clock)
    except ConfigError as error:
        cure = "`?kubeconfig=FILE` after the store's name is the way to another"
        raise ConfigError(f"store kubernetes:{place}: {error}; {cure}") from error
