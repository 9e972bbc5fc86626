"""What will happen in the world: effects with a due time, run in order once it has passed."""

import heapq
import math
from collections.abc import Callable
from random import Random

from msgspec import Struct

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


P90 = 1.2815515655446004  # how many standard deviations the 90th percentile is away


class Spread(Struct, frozen=True):
    """A distribution of durations in seconds, by its median and its 90th percentile."""

    p50: float
    p90: float
    least: float = 0.0
    most: float = math.inf

    def draw(self, rng: Random) -> float:
        """Draw one duration."""
        sigma = math.log(self.p90 / self.p50) / P90
        return min(self.most, max(self.least, self.p50 * math.exp(sigma * rng.gauss(0.0, 1.0))))


TRANSITIONS = {
    "start": Spread(3.1, 4.0, 1.8, 13.7),
    "start.provisioning": Spread(14.1, 19.7, 5.7, 35.0),
    "start.slow": Spread(15.6, 24.0, 8.2, 24.0),
    "start.standby": Spread(8.2, 8.8, 6.5, 8.8),
    "poweroff": Spread(33.5, 43.3, 0.8, 51.0),
    "poweroff.standby": Spread(0.8, 0.9, 0.7, 1.0),
    "stop_in_place": Spread(42.4, 43.8, 36.9, 43.8),
    "terminate": Spread(2.5, 12.5, 1.6, 116.0),
    "reboot": Spread(40.0, 50.0, 30.0, 60.0),
    "detach.hot": Spread(45.0, 66.0, 5.0, 66.0),
    "detach.cold": Spread(0.3, 1.0, 0.0, 2.0),
    "detach.deleted": Spread(1.5, 5.0, 0.0, 6.0),
    "volume.create": Spread(2.5, 4.5, 0.5, 8.0),
    "volume.update": Spread(0.4, 0.8, 0.1, 0.9),
    "volume.attach": Spread(1.0, 2.0, 0.3, 4.0),
    "snapshot.block": Spread(3.0, 6.0, 1.0, 87.0),
    "snapshot.local": Spread(20.0, 60.0, 2.0, 90.0),
    "snapshot.export": Spread(20.0, 60.0, 5.0, 123.0),
    "snapshot.hot": Spread(45.0, 90.0, 5.0, 103.0),
    "nic.attach": Spread(35.0, 70.0, 5.0, 108.0),
    "address.attach": Spread(1.0, 3.0, 0.3, 6.0),
    # Of Macs only the reinstallation was written down by users; the others are our assumption.
    "mac.delivery": Spread(240.0, 600.0, 60.0, 1800.0),
    "mac.delivery.other": Spread(900.0, 1800.0, 300.0, 3600.0),
    "mac.reinstall": Spread(600.0, 1000.0, 300.0, 1200.0),
    "mac.reboot": Spread(90.0, 180.0, 30.0, 300.0),
    "mac.lock": Spread(10.0, 20.0, 5.0, 40.0),
    "mac.vpc": Spread(10.0, 20.0, 3.0, 60.0),
    "mac.attach": Spread(15.0, 30.0, 5.0, 60.0),
    "mac.diagnostic": Spread(5.0, 15.0, 2.0, 30.0),
}


DEFAULT_LATENCY = Spread(0.1, 0.2)


LATENCIES = {
    "server.get": Spread(0.099, 0.170),
    "server.list": Spread(0.120, 0.166),
    "server.create": Spread(0.681, 2.405),
    "server.update": Spread(0.270, 1.368),
    "server.delete": Spread(0.209, 0.413),
    "server.action": Spread(0.333, 0.534),
    "server.attach_volume": Spread(0.270, 0.283),
    "server.detach_volume": Spread(0.270, 0.283),
    "ip.create": Spread(0.536, 0.883),
    "ip.update": Spread(0.424, 0.610),
    "ip.delete": Spread(0.427, 0.635),
    "ip.get": Spread(0.095, 0.301),
    "user_data.set": Spread(0.227, 1.148),
    "user_data.get": Spread(0.053, 0.061),
    "nic.create": Spread(0.470, 0.562),
    "volume.get": Spread(0.040, 0.156),
    "volume.list": Spread(0.057, 0.085),
    "volume.create": Spread(0.215, 0.369),
    "volume.update": Spread(0.069, 0.199),
    "volume.delete": Spread(0.073, 0.247),
    "local_image.list": Spread(0.053, 0.077),
    "type.list": Spread(0.040, 0.080),
    "type.availability": Spread(0.052, 0.074),
    "image.get": Spread(0.048, 0.202),
    "ssh_key.create": Spread(0.205, 0.4),
    "ssh_key.delete": Spread(0.093, 0.2),
}


GATEWAY_LATENCY = Spread(0.010, 0.015)  # of an answer that no backend has seen


def latency_of(key: str) -> Spread:
    """Return the latency of a route; all actions on servers share one."""
    return LATENCIES.get("server.action" if key.startswith("server.action.") else key) or (
        DEFAULT_LATENCY
    )
