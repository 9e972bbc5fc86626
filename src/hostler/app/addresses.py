"""Addresses: kubernetes:NAMESPACE for the objects there, where a command takes a fleet file.

It is written as the store of those records is: what is behind the colon may be left out, and
`?context=` and `?kubeconfig=` say which cluster.
"""

from pathlib import Path

from hostler.config.load import Reading
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError

from .provider_registry import KINDS
from .store_registry import STORES

_SCHEME = "kubernetes:"


def is_address(path: Path) -> bool:
    """Tell whether this names objects of a cluster in place of a file."""
    return str(path).startswith(_SCHEME)


def values_at(path: Path, *, partial: bool) -> Config:
    """Return the values of no file, with its records there. ConfigError where it is no address.

    Whoever needs a whole file is refused: unless it is read as `partial`, there is nothing in it.
    """
    reading = Reading(path=path, kinds=KINDS, stores=STORES, partial=True)
    config = reading.read({"store": str(path)})
    if config is None:
        raise WrongFile(path, tuple(reading.faults.found))
    if not partial:
        raise ConfigError(
            f"{path}: this command takes a fleet file; objects of a cluster are run by "
            "hostler run --kubernetes"
        )
    return config
