"""Memory: what each host said last, and since when it is silent. Losing it costs observations."""

from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace

from .reading import Reading


@dataclass(slots=True)
class Memory:
    """One process's memory of its hosts, by their names.

    Times are in seconds of boot time: a clock on the wall may jump, and no host is off by that.
    """

    patience: timedelta
    last: dict[str, Reading] = field(default_factory=dict[str, Reading])
    since: dict[str, float] = field(default_factory=dict[str, float])
    looked: dict[str, float] = field(default_factory=dict[str, float])
    anew: set[str] = field(default_factory=set[str])

    def note(self, reading: Reading, begun: float) -> None:
        """Remember what a host said, or that it said nothing.

        A silence counts anew, once, where nobody looked for long: another engine did, say, and the
        host may have answered it.
        """
        name = reading.host.name
        before, self.looked[name] = self.looked.get(name, begun), begun
        if not reading.error:
            self.since.pop(name, None)
            self.anew.discard(name)
            self.last[name] = reading
        elif begun - before > 2 * self.patience.total_seconds() and name not in self.anew:
            self.since[name] = begun
            self.anew.add(name)
        else:
            self.since.setdefault(name, begun)

    def off(self, group: tuple[Reading, ...], now: float) -> frozenset[str]:
        """Return which silent hosts of a group count as off.

        They were silent for longer than patience, and at least half of the group answers: else it
        may be our own network that is down.
        """
        mute = [reading.host.name for reading in group if reading.error]
        if 2 * len(mute) > len(group):
            return frozenset()
        least = self.patience.total_seconds()
        return frozenset(n for n in mute if now - self.since.get(n, now) >= least)

    def known(self, reading: Reading, *, off: bool) -> Reading:
        """Return what is known of a host: while it is silent, it has the claim that it had last."""
        last = self.last.get(reading.host.name)
        if not reading.error:
            return reading
        return replace(reading, claim=last.claim if last else None, off=off)
