"""Resource: a kind as the API server serves it, with its paths and the model of its objects."""

from typing import Generic
from urllib.parse import quote

from msgspec import Struct

from .objects import Key, M_co


class Resource(Struct, Generic[M_co], frozen=True, kw_only=True):
    """A kind in one version; `group` is empty for the core kinds. `model` decodes its objects.

    `installed_by` is the command that brings the kind, where that is another's; else it is ours.
    """

    group: str
    version: str
    plural: str
    kind: str
    model: type[M_co]
    namespaced: bool = True
    installed_by: str = ""

    @property
    def api_version(self) -> str:
        """Return what stands as `apiVersion` in its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """Return what kubectl calls it: `machines.example.com`, or `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_path(self) -> str:
        """Return the path that lists the group's versions."""
        return f"/apis/{_segment(self.group)}" if self.group else "/api"

    def collection(self, namespace: str = "") -> str:
        """Return the path of all objects, or of those in one namespace; ValueError for none."""
        if namespace and not self.namespaced:
            raise ValueError(f"{self.full_name} have no namespace")
        base = f"{self.group_path}/{_segment(self.version)}"
        within = f"/namespaces/{_segment(namespace)}" if namespace else ""
        return f"{base}{within}/{_segment(self.plural)}"

    def path(self, key: Key, subresource: str = "") -> str:
        """Return the path of one object or its subresource; ValueError where it has none."""
        if self.namespaced and not key.namespace:
            raise ValueError(f"one of {self.full_name} is named with its namespace")
        suffix = f"/{_segment(subresource)}" if subresource else ""
        return f"{self.collection(key.namespace)}/{_segment(key.name)}{suffix}"


def _segment(text: str) -> str:
    """Return a text as one segment of a path; ValueError where it cannot be one."""
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} names nothing")
    return quote(text, safe="")
