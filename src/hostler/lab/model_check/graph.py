"""The graph of states that an exploration has reached; kept small, for it has millions of steps."""

from array import array
from collections.abc import Hashable
from dataclasses import dataclass, field

_WIDTH = array("l").itemsize


def _numbers() -> "array[int]":
    return array("l")


@dataclass(slots=True)
class Graph:
    """States by numbers, how each was reached first, and the steps between them without faults."""

    known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    origins: "array[int]" = field(default_factory=_numbers)
    labels: list[str] = field(default_factory=list[str])
    reconciled: bytearray = field(default_factory=bytearray)
    rests: "array[int]" = field(default_factory=_numbers)
    sources: "array[int]" = field(default_factory=_numbers)
    targets: "array[int]" = field(default_factory=_numbers)

    def __len__(self) -> int:
        """Return how many states were found."""
        return len(self.labels)

    def add(
        self, state: Hashable, origin: int, label: str, *, place: int = 0, mirrored: bool = False
    ) -> tuple[int, bool]:
        """Return the number of a state, and whether it is new.

        `label` speaks of two that may have changed their places, as `{0}` and `{1}`.
        """
        number = self.known.setdefault(state, len(self.labels))
        if number < len(self.labels):
            return number, False
        self.origins.append(origin)
        self.labels.append(label)
        self.reconciled.append(place + 2 * mirrored)
        return number, True

    def connect(self, source: int, target: int) -> None:
        """Remember a step that may be taken without a fault."""
        self.sources.append(source)
        self.targets.append(target)

    def path(self, number: int) -> tuple[str, ...]:
        """Return the steps that lead to a state, each of the two by the number it began with."""
        way = list[int]()
        while number:
            way.append(number)
            number = self.origins[number]
        steps, swapped = list[str](), 0
        for step in reversed(way):
            first = swapped ^ (self.reconciled[step] & 1)
            steps.append(self.labels[step].format(first, 1 - first))
            swapped ^= self.reconciled[step] >> 1
        return tuple(steps)

    def without_exit(self) -> int | None:
        """Return the first state from which no rest is reached without a fault, or None."""
        first, back = self._backwards()
        ended, todo = bytearray(len(self)), list(self.rests)
        for number in todo:
            ended[number] = 1
        while todo:
            target = todo.pop()
            for before in back[first[target] : first[target + 1]]:
                if not ended[before]:
                    ended[before] = 1
                    todo.append(before)
        stuck = ended.find(0)
        return None if stuck < 0 else stuck

    def _backwards(self) -> tuple["array[int]", "array[int]"]:
        """Return the steps by their targets: where each target's begin, and their sources."""
        first = array("l", bytes(_WIDTH * (len(self) + 1)))
        for target in self.targets:
            first[target + 1] += 1
        for number in range(len(self)):
            first[number + 1] += first[number]
        back, filled = array("l", bytes(_WIDTH * len(self.sources))), array("l", first)
        for source, target in zip(self.sources, self.targets, strict=True):
            back[filled[target]] = source
            filled[target] += 1
        return first, back
