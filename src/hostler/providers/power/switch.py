"""Switch: what all ways to a machine's power have in common: turns, deadlines, honest outcomes."""

import asyncio
from datetime import timedelta
from typing import Annotated, Protocol, runtime_checkable

from msgspec import Meta, Struct

from hostler.domain.model.calls import Done, Outcome, Refusal, Refused, Unknown
from hostler.ports.clock import Clock
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.kind import POSITIVE
from hostler.ports.power import (
    PowerAction,
    PowerCapabilities,
    PowerOpening,
    PowerReading,
    PowerState,
    Turn,
)


class MethodTable(Struct, frozen=True, kw_only=True):
    """What may be said of every method."""

    deadline: Annotated[
        timedelta,
        Meta(extra=POSITIVE, description="how long one call may take; some controllers are slow"),
    ] = timedelta(seconds=20)
    settles: Annotated[
        timedelta, Meta(description="how long the effect of a call may come after its answer")
    ] = timedelta(seconds=15)


class Failed(Exception):
    """What a call came to where it was not done; of a reading, why nobody knows."""

    def __init__(self, outcome: Refused | Unknown) -> None:
        super().__init__(outcome.text)
        self.outcome = outcome


def refused(why: Refusal, text: str, after: timedelta | None = None) -> Failed:
    """Return that nothing happened, and why."""
    return Failed(Refused(why=why, text=text, after=after))


def nonsense(text: str) -> Failed:
    """Return that an answer means nothing: the call may have had its effect."""
    return Failed(Unknown(text=text))


class Reading(Struct, frozen=True, kw_only=True):
    """How an endpoint says that a machine stands."""

    state: PowerState
    text: str
    watts: float | None = None


class Device(Protocol):
    """One endpoint, as one method speaks to it.

    Only what the method can do is asked for, one call at a time, and each is given up at its
    deadline. `Failed`, `NotSent`, `NoAnswer` and `OSError` are raised for what the outside does.
    """

    async def act(self, action: PowerAction) -> None:
        """Ask for this once; return where the endpoint accepted it."""
        ...

    async def read(self) -> Reading:
        """Ask how the machine stands, changing nothing."""
        ...

    async def close(self) -> None:
        """Give back connections; closing again changes nothing."""
        ...


@runtime_checkable
class Guesses(Protocol):
    """What concludes from several readings in a row how a machine stands."""

    def overruled(self) -> None:
        """Forget them: another method knew how it stands."""
        ...


class Switch:
    """Implements `hostler.ports.power.Power` over a device."""

    def __init__(
        self, device: Device, capabilities: PowerCapabilities, turn: Turn, clock: Clock
    ) -> None:
        self._device, self._capabilities = device, capabilities
        self._turn, self._clock = turn, clock

    @property
    def capabilities(self) -> PowerCapabilities:
        """What it can do here."""
        return self._capabilities

    async def act(self, action: PowerAction) -> Outcome:
        """Ask for this once; see the port."""
        if action not in self._capabilities.actions:
            return Refused(why=Refusal.INVALID, text=f"this method cannot do {action}")
        async with self._turn.within(self._capabilities.deadline / 2) as waited:
            if waited:
                return Refused(why=Refusal.BUSY, text=waited)
            if why := self._turn.refusal(self._clock.now()):
                return Refused(why=Refusal.DENIED, text=why)
            return await self._act(action)

    async def _act(self, action: PowerAction) -> Outcome:
        try:
            async with asyncio.timeout(self._seconds):
                await self._device.act(action)
        except TimeoutError:
            return Unknown(text=f"no answer within {self._seconds:g} s")
        except NotSent as error:
            return Refused(why=Refusal.NOT_SENT, text=str(error))
        except (NoAnswer, OSError) as error:
            return Unknown(text=str(error))
        except Failed as failed:
            self._note(failed)
            return failed.outcome
        return Done()

    async def query(self) -> PowerReading:
        """Ask how the machine stands; see the port."""
        if not self._capabilities.query:
            text = "this method cannot be asked"
            return PowerReading(state=PowerState.UNKNOWN, at=self._clock.now(), text=text)
        async with self._turn:
            begun = self._clock.now()
            reading = await self._read()
        watts = reading.watts if self._capabilities.watts else None
        return PowerReading(state=reading.state, at=begun, text=reading.text, watts=watts)

    async def _read(self) -> Reading:
        if why := self._turn.refusal(self._clock.now()):
            return Reading(state=PowerState.UNKNOWN, text=why)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._device.read()
        except TimeoutError:
            why = f"no answer within {self._seconds:g} s"
        except (NotSent, NoAnswer, OSError) as error:
            why = str(error) or type(error).__name__
        except Failed as failed:
            self._note(failed)
            why = str(failed)
        return Reading(state=PowerState.UNKNOWN, text=why)

    def _note(self, failed: Failed) -> None:
        """Remember for the endpoint that a login was refused."""
        outcome = failed.outcome
        if isinstance(outcome, Refused) and outcome.why is Refusal.DENIED:
            self._turn.denied(self._clock.now(), outcome.text)

    def overruled(self) -> None:
        """Forget what it concludes from, as another method knew. Implements `Guesses`."""
        if isinstance(self._device, Guesses):
            self._device.overruled()

    async def close(self) -> None:
        """Give back connections."""
        await self._device.close()

    @property
    def _seconds(self) -> float:
        return self._capabilities.deadline.total_seconds()


def switch_of(device: Device, capabilities: PowerCapabilities, opening: PowerOpening) -> Switch:
    """Return the way over a device that a method opened."""
    return Switch(device, capabilities, opening.turn, opening.clock)
