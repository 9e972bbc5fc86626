"""Exchange: whether another file beside objects leaves those that are in force as they are. Pure.

A file is taken whole or refused whole. What objects have in force must not end because of it: not
by a name that the file takes, nor by a provider or a permission that it has no longer.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from hostler.config.decode import Raw
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import Place, Reason, Verdict

_KINDS = {"fleet": "Fleet", "provider": "Provider", "host": "Host"}


class Verdicts(Struct, frozen=True, kw_only=True):
    """The tables of objects that are in force, what is said of each object, and of each host."""

    tables: Mapping[Place, Raw]
    verdicts: Mapping[Place, Verdict]
    hosts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])

    @property
    def all(self) -> Mapping[Place, Verdict]:
        """Return what is said of all objects."""
        return {**self.verdicts, **{Place("host", name): one for name, one in self.hosts.items()}}


def objections(before: Verdicts, after: Verdicts, namespaces: Namespaces) -> Iterator[str]:
    """Yield why a file cannot be taken: which object would not stay in force beside it, and why."""
    stood, stands = before.all, after.all
    for place, verdict in stands.items():
        earlier = stood.get(place)
        refused = earlier is not None and earlier.accepted and not verdict.accepted
        ended = place in before.tables and place not in after.tables
        if refused or ended:
            yield _sentence(place, verdict, namespaces)


def _sentence(place: Place, verdict: Verdict, namespaces: Namespaces) -> str:
    namespace, name = namespaces.namespace_of(place.name), place.name.rpartition("_")[2]
    one = f"{_KINDS[place.table]} {namespace}/{name}"
    if verdict.reason is Reason.NAME_TAKEN:
        return f"[{place.path}] has the name of {one}, an object that is run: rename one of the two"
    return f"{one}, an object that is run, could not stay so beside this file: {verdict.message}"
