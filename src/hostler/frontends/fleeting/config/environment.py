"""Environment: settings in plugin_config, a file or the environment, and which of them said what.

The order is: plugin_config, a file that it names, the environment, a file that the environment
names. A secret never shows itself: not in a fault, and not in the repr of a value.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hostler.config.errors import HIDDEN, Fault, Faults, join

from .source import ROOT


@dataclass(slots=True)
class Origins:
    """Paths of the fleet file with what a person wrote instead, noted when values are set."""

    known: dict[str, str] = field(default_factory=dict[str, str])
    single: set[str] = field(default_factory=set[str])

    def note(self, path: str, origin: str, *, single: bool = False) -> None:
        """Remember where a path's value came from; `single`: a text where a list is meant."""
        self.known[path] = origin
        if single:
            self.single.add(path)

    def translated(self, fault: Fault) -> Fault:
        """Return the fault with the path that a person wrote."""
        best = max((path for path in self.known if _within(fault.path, path)), key=len, default="")
        if not best:
            return fault
        rest = fault.path[len(best) :]
        if best in self.single:
            rest = rest.removeprefix("[0]")
        return replace(fault, path=self.known[best] + rest)

    def all_translated(self, faults: Iterable[Fault], wrong: Iterable[Fault]) -> tuple[Fault, ...]:
        """Return what is wrong, and the faults with the paths that a person wrote.

        Where a key is known to be wrong already, nothing more is reported about it.
        """
        first = tuple(dict.fromkeys(wrong))
        translated = dict.fromkeys(self.translated(fault) for fault in faults)
        rest = (f for f in translated if not any(_within(f.path, before.path) for before in first))
        return (*first, *rest)


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith((f"{above}.", f"{above}["))


NAMES: Mapping[str, tuple[str, ...]] = {
    "zone": ("SCW_DEFAULT_ZONE",),
    "endpoint": ("SCW_API_URL",),
    "access_key": ("SCW_ACCESS_KEY",),
    "secret_key": ("SCW_SECRET_KEY",),
    "organization": ("SCW_DEFAULT_ORGANIZATION_ID", "SCW_ORGANIZATION_ID"),
    "project": ("SCW_DEFAULT_PROJECT_ID", "SCW_PROJECT_ID"),
}
"""The environment's names for keys; each may also have _FILE after it."""
LARGEST = 64_000
"""A file with one setting in it has no more bytes than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value, where it came from as a person calls it, and the file that it was read from."""

    text: str = field(default="", repr=False)
    origin: str
    file: Path | None = None

    def wrong(self, expected: str, hint: str = "", *, hidden: bool = True) -> Fault:
        """Return the fault that this is not what was expected; it is shown only if asked."""
        value = HIDDEN if hidden and self.text else self.text[:60]
        return Fault(path=self.origin, value=value, expected=expected, hint=hint)


class Overlay(Mapping[str, str]):
    """An environment with some values of ours over it, which its repr does not tell."""

    def __init__(self, base: Mapping[str, str], over: Mapping[str, str]) -> None:
        self._base, self._over = base, dict(over)

    def __getitem__(self, name: str) -> str:
        """Return our value, or else the environment's."""
        return self._over[name] if name in self._over else self._base[name]

    def __iter__(self) -> Iterator[str]:
        """Go through all names."""
        return iter({**dict.fromkeys(self._base), **dict.fromkeys(self._over)})

    def __len__(self) -> int:
        """Return how many names there are."""
        return len({*self._base, *self._over})

    def __repr__(self) -> str:
        """Tell whose values are ours, and none of them."""
        return f"Overlay({', '.join(sorted(self._over))} over {len(self._base)} others)"


class Sources(Struct, frozen=True, kw_only=True):
    """Where settings are found; faults are added where a file cannot be read."""

    environment: Mapping[str, str]
    folder: Path
    faults: Faults

    def setting(self, key: str, text: str | None, file: str | None = None) -> Setting | None:
        """Return a setting from the first place that has it, or None."""
        if text is not None and file is not None:
            self.faults.note(join(ROOT, f"{key}_file"), f"it, or {key}, not both")
        if text is not None:
            return Setting(text=text, origin=join(ROOT, key))
        if file is not None:
            return self._in_file(Path(file), join(ROOT, f"{key}_file"))
        return next(self._outside(key), None)

    def read(self, name: Path, origin: str, largest: int = LARGEST) -> str | None:
        """Return the text of a file, or note a fault and return None."""
        try:
            path = self.folder / name.expanduser()
            return _read(path, largest)
        except (OSError, ValueError, RuntimeError) as error:
            expected = f"a readable text file: {_why(error)}"
            self.faults.note(origin, expected, value=str(name)[:200])
            return None

    def _in_file(self, name: Path, origin: str) -> Setting:
        text = self.read(name, origin)
        if text is not None and not text.strip():
            self.faults.note(origin, "a file with a value in it", value=str(name))
        if text is None:
            return Setting(origin=origin)
        file = (self.folder / name.expanduser()).resolve()
        return Setting(text=text.strip(), origin=origin, file=file)

    def _outside(self, key: str) -> Iterator[Setting]:
        names = NAMES.get(key, ())
        for name in names:
            if value := self.environment.get(name, "").strip():
                yield Setting(text=value, origin=f"environment variable {name}")
        for name in names:
            if value := self.environment.get(f"{name}_FILE", "").strip():
                yield self._in_file(Path(value), f"environment variable {name}_FILE")


def _read(path: Path, largest: int) -> str:
    with path.open("rb") as stream:
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest:,} bytes")
    return content.decode()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
