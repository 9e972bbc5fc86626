"""Nodes: by which provider ID the Node of a machine is known in its cluster."""

from typing import Protocol

from hostler.domain.model.machine import Machine


class KnowsProviderIds(Protocol):
    """Knows the provider's own form of an ID."""

    def provider_id(self, machine: Machine) -> str | None:
        """Return the providerID of a machine's Node; None while not known."""
        ...


def provider_id_of(machine: Machine, form: str | None, live: KnowsProviderIds) -> str | None:
    """Return the providerID that a machine's Node has, as far as it can be known by now.

    `form` is what the fleet's settings say of it; without one it is the provider's own.
    """
    if form is None:
        return live.provider_id(machine)
    known = {
        "host": machine.host or "",
        "machine": machine.id,
        "zone": machine.offer.zone,
        "address": machine.address,
    }
    lacking = [name for name, value in known.items() if f"{{{name}}}" in form and not value]
    return None if lacking else form.format(**known)
