"""Sizes: what Pods get on the Nodes of a fleet, learnt from those that were there."""

from collections.abc import Mapping

from hostler.config.quantities import quantity
from hostler.domain.ids import FleetName

from .objects import Node

Amounts = Mapping[str, str]
_NEEDED = ("cpu", "memory")


class Sizes:
    """The least of each resource that any Node of a fleet was seen with, as Kubernetes writes it.

    A resource that one of them lacks is nobody's: who counts on the template gets no less.
    """

    def __init__(self) -> None:
        """Know of no Node."""
        self._least = dict[FleetName, Amounts]()

    def learn(self, fleet: FleetName, node: Node) -> None:
        """Take in a Node; one whose kubelet said nothing yet, or nonsense, teaches nothing."""
        found = (node.status.allocatable if node.status else None) or {}
        if any(not quantity(found.get(name, "")) for name in _NEEDED):
            return
        known = {name: text for name, text in found.items() if quantity(text) is not None}
        least = self._least.get(fleet, known)
        self._least[fleet] = {
            name: min(known[name], least[name], key=_amount) for name in known.keys() & least.keys()
        }

    def of(self, fleet: FleetName) -> Amounts:
        """Return what is known of a fleet's Nodes; empty where none was seen."""
        return self._least.get(fleet, {})


def _amount(text: str) -> float:
    return quantity(text) or 0.0
