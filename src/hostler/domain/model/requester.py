"""Requester: who asked for a machine by its id, so that it can be found when that one is gone."""

from msgspec import Struct


class Requester(Struct, frozen=True, kw_only=True):
    """An object of a frontend that asked for a machine.

    `cluster` tells apart clusters that have objects of the same names: the uid of the namespace
    kube-system, or empty where it could not be read. `uid` is the object's own.
    """

    frontend: str
    cluster: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    def __str__(self) -> str:
        """Return the object in words."""
        return f"{self.kind} {self.namespace}/{self.name}"
