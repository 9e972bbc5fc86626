"""Every provider of ours that has templates tells for which fleets."""

from hostler.ports.provider import HasTemplates
from hostler.providers.scaleway.instances.provider import Instances
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.static.provider import StaticHosts


def test_providers_with_templates_say_so() -> None:
    for kind in (Instances, Macs, StaticHosts):
        assert issubclass(kind, HasTemplates)
