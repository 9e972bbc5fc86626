"""What will happen in the world: effects with a due time, run in order once it has passed."""

import heapq
from collections.abc import Callable

Effect = Callable[[], None]


class Timeline:
    """Effects in the order of their due times; those due together run in the order of planning.

    `now` is the time of the effect that runs, and between effects that of the last `advance`.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self._planned = 0
        self._heap: list[tuple[float, int, Effect]] = []

    def after(self, seconds: float, effect: Effect) -> None:
        """Plan an effect."""
        self._planned += 1
        heapq.heappush(self._heap, (self.now + seconds, self._planned, effect))

    def advance(self, moment: float) -> None:
        """Run what is due up to a moment, which may not lie before `now`."""
        heap = self._heap
        while heap and heap[0][0] <= moment:
            due, _, effect = heapq.heappop(heap)
            self.now = max(self.now, due)
            effect()
        self.now = max(self.now, moment)

    @property
    def next_due(self) -> float | None:
        """When the next effect is due, or None."""
        return self._heap[0][0] if self._heap else None
