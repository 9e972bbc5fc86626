"""Capacity: whether hosts in groups suffice for all fleets that share them."""

from collections.abc import Mapping
from typing import TypeVar

from hostler.domain.ids import FleetName

G = TypeVar("G")

Needs = Mapping[FleetName, tuple[tuple[G, ...], int]]
"""By fleet: the groups that it may claim from, and how many hosts it needs."""


def unplaced(needs: Needs[G], hosts: Mapping[G, int]) -> dict[FleetName, int]:
    """Return how many hosts each fleet lacks once as many as possible have theirs.

    One host after another is given out; a fleet whose groups are taken makes another one move to a
    group that has room, as in every matching.
    """
    taken = {group: list[FleetName]() for group in hosts}
    lacking = dict[FleetName, int]()
    for fleet, (_, many) in needs.items():
        beyond = max(0, many - sum(hosts.values()))
        if beyond:
            lacking[fleet] = beyond
        for _ in range(many - beyond):
            if not _place(fleet, needs, hosts, taken, set()):
                lacking[fleet] = lacking.get(fleet, 0) + 1
    return lacking


def _place(
    fleet: FleetName,
    needs: Needs[G],
    hosts: Mapping[G, int],
    taken: dict[G, list[FleetName]],
    tried: set[G],
) -> bool:
    for group in needs[fleet][0]:
        if group in tried or group not in hosts:
            continue
        tried.add(group)
        if len(taken[group]) < hosts[group]:
            taken[group].append(fleet)
            return True
        for place, other in enumerate(taken[group]):
            if _place(other, needs, hosts, taken, tried):
                taken[group][place] = fleet
                return True
    return False
