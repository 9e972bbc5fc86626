"""Stages: what people want one after the other once no fault strikes any more, and it must come."""

from collections.abc import Iterator

from hostler.lab.kubernetes.faults import ClusterScenario

from .edits import FLEETS
from .objects import Objects, Space
from .people import Aim

Aims = tuple[Aim, ...]
"""What is wanted in each namespace."""


def stages(scenario: ClusterScenario, objects: Objects) -> Iterator[Aims]:
    """Yield what is wanted in each namespace, once what was wanted before is so.

    Where objects came and went, all boxes are to be used first: those too that were away. And of
    two Hosts that are deleted with nothing else to be done one is to go on, and one off.
    """
    spaces = objects.spaces
    if not scenario.lifecycle:
        yield tuple(Aim(sizes=_sizes(1), hosts=space.hosts) for space in spaces)
        yield tuple(Aim(sizes={}, hosts=space.hosts) for space in spaces)
        return
    yield tuple(Aim(sizes=_sizes(space.boxes), hosts=space.hosts) for space in spaces)
    yield tuple(Aim(sizes=_sizes(1), hosts=space.hosts) for space in spaces)
    yield tuple(Aim(sizes=_sizes(0), hosts=space.hosts, on=space.hosts[1:2]) for space in spaces)
    for space in spaces:
        for name, policy in zip(_deleted(space), ("on", "off"), strict=False):
            objects.delete(space, "hosts", name, policy)
    left = [tuple(name for name in s.hosts if name not in _deleted(s)) for s in spaces]
    yield tuple(Aim(sizes=_sizes(0), hosts=hosts) for hosts in left)
    yield tuple(Aim(sizes={}, hosts=hosts) for hosts in left)


def _deleted(space: Space) -> tuple[str, ...]:
    """Return two Hosts of a namespace, or as many as leave its Provider one."""
    return space.hosts[:-1][:2]


def _sizes(first: int) -> dict[str, int]:
    return {FLEETS[0]: first, FLEETS[1]: 0}
