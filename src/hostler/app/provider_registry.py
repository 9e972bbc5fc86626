"""Kinds: the kinds of provider by name, the built-in ones and those of installed packages."""

from collections.abc import Callable, Iterator, Mapping

from hostler.domain.errors import ConfigError
from hostler.ports.kind import Kind

PROVIDERS = "hostler.providers"
"""The entry-point group by which packages add kinds of provider."""


def _scaleway() -> Kind:
    from hostler.providers.scaleway.instances.kind import ScalewayKind

    return ScalewayKind()


def _macs() -> Kind:
    from hostler.providers.scaleway.macs.kind import MacKind

    return MacKind()


def _static() -> Kind:
    from hostler.providers.static.kind import StaticKind

    return StaticKind()


BUILT_IN: Mapping[str, Callable[[], Kind]] = {
    "scaleway": _scaleway,
    "scaleway-macs": _macs,
    "static": _static,
}


class Kinds(Mapping[str, Callable[[], Kind]]):
    """Each kind is imported when it is called for, and packages are searched for other names only.

    A package cannot take the name of a built-in kind.
    """

    def __getitem__(self, name: str) -> Callable[[], Kind]:
        """Return what makes the kind of this name, or raise KeyError."""
        if name in BUILT_IN:
            return BUILT_IN[name]
        if name not in _packaged():
            raise KeyError(name)
        return lambda: _from_package(name)

    def __iter__(self) -> Iterator[str]:
        """Go through all names."""
        return iter({*BUILT_IN, *_packaged()})

    def __len__(self) -> int:
        """Return how many there are."""
        return len({*BUILT_IN, *_packaged()})


def _packaged() -> frozenset[str]:
    from importlib.metadata import entry_points

    return frozenset(point.name for point in entry_points(group=PROVIDERS))


def _from_package(name: str) -> Kind:
    from importlib.metadata import entry_points

    (point, *_) = entry_points(group=PROVIDERS, name=name)
    try:
        made: Kind = point.load()()
    except Exception as error:
        raise ConfigError(
            f"the provider kind {name!r} of the package {point.value} cannot be used: {error}"
        ) from error
    return made
