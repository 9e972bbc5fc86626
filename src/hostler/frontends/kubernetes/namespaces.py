"""Namespaces: whose objects are read, and how an engine calls what stands in each of them. Pure.

What is in the home namespace has its own name in tags and records, as it has where one namespace is
read. All else has its namespace before it: `team-a_web`. No name of an object, of a namespace or of
a table of the file has an underscore: so no two objects have one name, and none that of a table.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from hostler.kubernetes.objects import Metadata
from hostler.kubernetes.requests import EVERYTHING, Selection

JOINT = "_"


class Namespaces(Struct, frozen=True, kw_only=True):
    """Which namespaces are read: `home`, where Leases are too, and `others`, or `every` one."""

    home: str
    others: tuple[str, ...] = ()
    every: bool = False

    @classmethod
    def of(cls, named: Iterable[str], usual: str, *, every: bool = False) -> "Namespaces":
        """Return those that were named: the first is home, or `usual` where none was."""
        home, *others = dict.fromkeys((*named,)) or (usual,)
        return cls(home=home, others=() if every else tuple(others), every=every)

    def __str__(self) -> str:
        """Return them as a log says it."""
        return f"all, home {self.home}" if self.every else ", ".join((self.home, *self.others))

    @property
    def selections(self) -> tuple[Selection, ...]:
        """Return what is listed and watched: each namespace by itself, or all at once."""
        if self.every:
            return (EVERYTHING,)
        return tuple(Selection(namespace=name) for name in (self.home, *self.others))

    def has(self, namespace: str) -> bool:
        """Tell whether the objects of a namespace are read."""
        return self.every or namespace in (self.home, *self.others)

    def is_home(self, namespace: str) -> bool:
        """Tell whether a namespace is the home."""
        return namespace == self.home

    def name(self, namespace: str, name: str) -> str:
        """Return how the engine calls what has this name in a namespace.

        What an object names is in its own namespace, whatever it writes: `team-a_web`, written in
        the home namespace, is nothing there.
        """
        if self.is_home(namespace):
            return f"{JOINT}{name}" if JOINT in name else name
        return f"{namespace}{JOINT}{name}"

    def name_of(self, metadata: Metadata) -> str:
        """Return how the engine calls an object."""
        return self.name(metadata.namespace, metadata.name)

    def namespace_of(self, name: str) -> str:
        """Return the namespace of what the engine calls so."""
        namespace, joint, _ = name.partition(JOINT)
        return namespace if joint else self.home

    def moved(self, before: str, fleets: Iterable[str]) -> str:
        """Return why these must not be read now; `before` was the home, with `fleets` on record.

        Fleets would be called otherwise, and their machines be made once more. Empty where none is:
        objects that were written anew in another home, and are read there alone, keep their names.
        """
        if before and not self.is_home(before) and self.has(before):
            return (
                f"the home namespace of these records is {before}: name it first (--namespace "
                f"{before}), or fleets there would be others, and make their machines once more"
            )
        other = next((name for name in fleets if name.startswith(f"{self.home}{JOINT}")), "")
        if not other:
            return ""
        return (
            f"fleet {other} is on record as one of a namespace beside the home: name the home of "
            f"before first{f' (--namespace {before})' if before else ''}, and {self.home} after it"
        )

    def own(self, namespace: str, named: Mapping[str, object]) -> tuple[str, ...]:
        """Return which of these names of the engine's are in a namespace, as objects name them."""
        found = (name for name in named if self.namespace_of(name) == namespace)
        return tuple(name.rpartition(JOINT)[2] for name in found)
