"""A scenario of scripts: how they run at their hosts, and what befalls them."""

import dataclasses
from collections.abc import Mapping
from datetime import timedelta
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet, Probe, ProbeKind
from hostler.domain.policy.remediation import PAUSES
from hostler.testing.invariants import Bounds

SCRIPT = "#!/bin/sh -e\nkubeadm join api.example:6443 --token abcdef.0123456789abcdef\n"
"""The bootstrap data of each Machine."""

SLOW, FAILS, KILLED = "script_slow", "script_fails", "script_killed"
LINE, LOGIN = "script_line_broken", "script_login_refused"
FAULTS = (SLOW, FAILS, KILLED, LINE, LOGIN)
"""A script takes longer than its start may; exits with an error; is killed, and leaves no status;
the connection breaks off, before or after what it was used for; the host refuses our key."""

_SHARE = 0.4
_TRY = timedelta(minutes=3)
"""So long one try lasts: a login, and a minute in which it waits for the script's end."""


class ScriptsScenario(Struct, frozen=True, kw_only=True):
    """What one seed draws: between which seconds a script lasts, and how likely each fault is."""

    lasts: tuple[float, float] = (5.0, 240.0)
    rates: Mapping[str, float] = field(default_factory=dict[str, float])

    def asked(self, fleet: Fleet) -> Fleet:
        """Return the fleet as its file has it: its hosts are logged in to."""
        return replace(fleet, probe=Probe(kind=ProbeKind.SSH, user="admin"))

    def bounds(self, bounds: Bounds) -> Bounds:
        """Return how long phases may last: a start is given up after one more try to log in."""
        timers = replace(bounds.timers, start=bounds.timers.start + PAUSES[-1] + _TRY)
        return dataclasses.replace(bounds, timers=timers)


def draw_scripts(seed: int, *, calm: bool) -> ScriptsScenario | None:
    """Draw what becomes of scripts, for some seeds: None for the others; by dice of its own."""
    rng = Random(f"hostler kubernetes scripts 4: {seed}")
    if rng.random() >= _SHARE:
        return None
    longest = rng.choice((30.0, 240.0, 700.0))
    chosen = () if calm else rng.sample(FAULTS, rng.randint(0, len(FAULTS)))
    rates = {fault: rng.choice((0.05, 0.15, 0.3)) for fault in chosen}
    return ScriptsScenario(lasts=(5.0, longest), rates=rates)
