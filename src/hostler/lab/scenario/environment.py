"""The environment of a run: what is special about the machines of one provider."""

from datetime import timedelta
from random import Random
from typing import Protocol

from msgspec import Struct

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessEnvironment
from hostler.testing.time.loop import SimLoop

from .faults import Disruption, Scenario

CONSISTENCY_DELAY = timedelta(seconds=60)


class Cadence(Struct, frozen=True, kw_only=True):
    """How often a run looks at itself, in seconds of its time, and how it tells rest.

    `rest` is how long nothing may happen at rest; `limit` how long it may take to get there.
    """

    tick: float = 10.0
    rest: float = 120.0
    limit: float = 6000.0


class Environment(ProcessEnvironment, Protocol):
    """What a run of engines needs of a provider: its world, its fleets, its checker, its people.

    One is made for each scenario and used for one run. `open` is called once, before all else;
    then `checker`, once. A provider of hosts has checks of the gate of its own: it is watched as
    `hostler.ports.hosts.KeepsHosts` where it is one.
    """

    @property
    def base(self) -> Scenario:
        """What every run needs of its scenario, whatever the provider."""
        ...

    @property
    def settings(self) -> Settings:
        """The engines' own settings."""
        ...

    @property
    def cadence(self) -> Cadence:
        """How fast the run goes."""
        ...

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the world under the loop's time, as it is at the beginning, and begin its faults.

        All randomness comes from `rng`, so that a seed replays to the same byte.
        """
        ...

    def checker(self, trace: Trace) -> Checker:
        """Return the checker of the run, which knows the ground truth of the world.

        It reads the world past the provider's code, so that a misunderstanding cannot be on both
        sides. It is to hear of every call that the world was asked: at rest each one, in
        `calls_at_rest`, is one too many.
        """
        ...

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the fleets of our installation, or of the other one."""
        ...

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Return a fleet as its file says after a disruption; the same where that changes none."""
        ...

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Do what somebody does beside the engines; tell if it could be done, None: not this."""
        ...

    def cease(self) -> None:
        """Let the world's faults cease, and mend what they left and no engine could ever mend."""
        ...

    def help(self, checker: Checker) -> None:
        """Do once what only people can do, before fleets can come to rest; it is called again."""
        ...
