"""Kinds: the kinds of provider by name, the built-in ones and those of installed packages."""

from collections.abc import Callable, Mapping

from hostler.ports.kind import Kind
from hostler.ports.plugins import Plugins

PROVIDERS = "hostler.providers"
"""The entry-point group by which packages add kinds of provider."""


def _scaleway() -> Kind:
    from hostler.providers.scaleway.instances.kind import ScalewayKind

    return ScalewayKind()


def _macs() -> Kind:
    from hostler.providers.scaleway.macs.kind import MacKind

    return MacKind()


def _power() -> Kind:
    from hostler.providers.power.kind import PowerKind

    return PowerKind()


def _static() -> Kind:
    from hostler.providers.static.kind import StaticKind

    return StaticKind()


BUILT_IN: Mapping[str, Callable[[], Kind]] = {
    "power": _power,
    "scaleway": _scaleway,
    "scaleway-macs": _macs,
    "static": _static,
}

KINDS = Plugins(BUILT_IN, PROVIDERS, "provider kind")
"""The kinds of provider."""
