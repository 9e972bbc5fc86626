"""Rig: one endpoint as the checks look into it and disturb it, without going through the method."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol

from hostler.ports.power import Power
from hostler.testing.fakes.power import PowerFault


class PowerRig(Protocol):
    """One endpoint, fresh for each check, off at first. A fault in `lacks` is never asked for."""

    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        """The faults that this rig cannot bring about, each with its reason."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that the method is opened with."""
        ...

    def open(self) -> Power:
        """Open the method; each object that is opened leads to the same endpoint."""
        ...

    def now(self) -> datetime:
        """Return the time that the method's readings have."""
        ...

    def has_power(self) -> bool:
        """Tell how the machine really stands now."""
        ...

    def set_power(self, *, on: bool) -> None:
        """Let somebody else switch it."""
        ...

    def befall(self, fault: PowerFault) -> None:
        """Let this befall the next call."""
        ...

    def arrived(self) -> tuple[str, ...]:
        """Return the calls that reached the endpoint, in order: actions by their names, `query`."""
        ...

    def most_at_once(self) -> int:
        """Return how many calls were ever under way together."""
        ...

    async def pass_by(self, time: timedelta) -> None:
        """Let time go by."""
        ...


class NotApplicable(Exception):
    """This check does not apply to this method or rig; the text says why."""


PowerWorlds = AbstractAsyncContextManager[PowerRig]


def befall(rig: PowerRig, fault: PowerFault) -> None:
    """Let this befall the next call, or say that the check does not apply."""
    if fault in rig.lacks:
        raise NotApplicable(rig.lacks[fault])
    rig.befall(fault)
