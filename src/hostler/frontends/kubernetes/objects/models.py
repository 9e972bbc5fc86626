"""Models: the objects that are read and written, and the kinds that they are of."""

from collections.abc import Mapping

import msgspec

from hostler.frontends.kubernetes.definitions import fleet, host, provider
from hostler.frontends.kubernetes.definitions.custom import GROUP, VERSION, Names
from hostler.kubernetes.objects import Metadata
from hostler.kubernetes.resources import Resource

Fields = Mapping[str, object]


class Written(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """An object of one of our kinds; what is in its spec is judged when it is read as a table."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata
    spec: Fields | None = None
    status: Fields | None = None

    @property
    def wanted(self) -> Fields:
        """Return what is in its spec."""
        return self.spec or {}

    @property
    def ends(self) -> bool:
        """Whether somebody deleted it, and only finalizers keep it."""
        return self.metadata.deletion_timestamp is not None


class StoredSecret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A Secret; its values are in base64."""

    metadata: Metadata
    type: str = ""
    data: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        """Return nothing of what is in it."""
        return f"<Secret {self.metadata.name}>"


def _resource(names: Names) -> Resource[Written]:
    return Resource(
        group=GROUP, version=VERSION, plural=names.plural, kind=names.kind, model=Written
    )


FLEETS = _resource(fleet.NAMES)
PROVIDERS = _resource(provider.NAMES)
HOSTS = _resource(host.NAMES)
SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret", model=StoredSecret)
