"""Plugins: what has a name, built in or of an installed package, and is imported when used."""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from hostler.domain.errors import ConfigError

T = TypeVar("T")


class Plugins(Mapping[str, Callable[[], T]], Generic[T]):
    """What makes each plugin of an entry-point group, by its name.

    Each is imported when it is called for, and packages are searched for other names only: a
    package cannot take the name of a built-in one. `what` is what they are called in errors.
    """

    def __init__(self, built_in: Mapping[str, Callable[[], T]], group: str, what: str) -> None:
        self._built_in, self._group, self._what = built_in, group, what

    def __getitem__(self, name: str) -> Callable[[], T]:
        """Return what makes the plugin of this name, or raise KeyError."""
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._packaged():
            raise KeyError(name)
        return lambda: self._from_package(name)

    def __iter__(self) -> Iterator[str]:
        """Go through all names."""
        return iter({*self._built_in, *self._packaged()})

    def __len__(self) -> int:
        """Return how many there are."""
        return len({*self._built_in, *self._packaged()})

    def _packaged(self) -> frozenset[str]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - seldom, and slow to import

        return frozenset(point.name for point in entry_points(group=self._group))

    def _from_package(self, name: str) -> T:
        from importlib.metadata import entry_points  # noqa: PLC0415 - as above

        (point, *_) = entry_points(group=self._group, name=name)
        try:
            made: T = point.load()()
        except Exception as error:
            text = f"the {self._what} {name!r} of the package {point.value} cannot be used: {error}"
            raise ConfigError(text) from error
        return made
