"""Origins: which key of `plugin_config` said what stands at a path of the fleet file."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hostler.config.errors import Fault


@dataclass(slots=True)
class Origins:
    """Paths of the fleet file with what a person wrote instead, told when values are set."""

    known: dict[str, str] = field(default_factory=dict[str, str])
    single: set[str] = field(default_factory=set[str])

    def note(self, path: str, origin: str, *, single: bool = False) -> None:
        """Remember where a path's value came from; `single`: a text where a list is meant."""
        self.known[path] = origin
        if single:
            self.single.add(path)

    def as_written(self, fault: Fault) -> Fault:
        """Return the fault with the path that a person wrote."""
        best = max((path for path in self.known if _within(fault.path, path)), key=len, default="")
        if not best:
            return fault
        rest = fault.path[len(best) :]
        if best in self.single:
            rest = rest.removeprefix("[0]")
        return replace(fault, path=self.known[best] + rest)

    def all_told(self, faults: Iterable[Fault], wrong: Iterable[Fault]) -> tuple[Fault, ...]:
        """Return what is wrong, and the faults with the paths that a person wrote.

        Where a key is known to be wrong already, nothing more is said about it.
        """
        first = tuple(dict.fromkeys(wrong))
        renamed = dict.fromkeys(self.as_written(fault) for fault in faults)
        rest = (f for f in renamed if not any(_within(f.path, before.path) for before in first))
        return (*first, *rest)


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith((f"{above}.", f"{above}["))
