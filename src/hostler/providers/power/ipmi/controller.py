"""Controller: one management controller that is spoken to over IPMI, whoever speaks."""

from typing import Protocol

from msgspec import Struct

from hostler.domain.model.calls import Refusal
from hostler.ports.power import PowerAction, PowerState
from hostler.ports.secret import Secret
from hostler.providers.power.switch import Failed, Reading, refused

SUITES = (17, 3)
"""Cipher suites that are tried, the better one first: many controllers know one of them only."""


class Place(Struct, frozen=True, kw_only=True):
    """Where a controller is, who asks it, and for how long, in seconds, each answer is awaited."""

    address: str
    port: int
    user: str
    password: Secret
    privilege: str
    suites: tuple[int, ...]
    patience: float


class NoSuite(Exception):
    """The controller does not know this cipher suite: nothing was asked of it."""


class Client(Protocol):
    """Speaks IPMI by one library or program.

    Each call is a session of its own. `NoSuite`, `Failed`, `NotSent` and `NoAnswer` are raised.
    """

    async def command(self, action: PowerAction, suite: int) -> None:
        """Give a chassis control command; return where the controller accepted it."""
        ...

    async def is_on(self, suite: int) -> bool:
        """Ask for the chassis status."""
        ...


class Controller:
    """One controller. Implements `Device`."""

    def __init__(self, client: Client, suites: tuple[int, ...]) -> None:
        self._client, self._suites = client, list(suites)

    async def act(self, action: PowerAction) -> None:
        """Give a command, by the first cipher suite that the controller knows."""
        lacking = list[str]()
        for suite in tuple(self._suites):
            try:
                await self._client.command(action, suite)
            except NoSuite as error:
                lacking.append(f"{suite}: {error}")
                self._forget(suite)
            else:
                return
        raise _no_suite(lacking)

    async def read(self) -> Reading:
        """Ask how the machine stands."""
        lacking = list[str]()
        for suite in tuple(self._suites):
            try:
                on = await self._client.is_on(suite)
            except NoSuite as error:
                lacking.append(f"{suite}: {error}")
                self._forget(suite)
            else:
                state = PowerState.ON if on else PowerState.OFF
                return Reading(state=state, text=f"chassis power is {state}")
        raise _no_suite(lacking)

    def _forget(self, suite: int) -> None:
        """Try a suite last from now on: a controller seldom learns one."""
        self._suites.remove(suite)
        self._suites.append(suite)

    async def close(self) -> None:
        """Nothing stays open."""


def _no_suite(lacking: list[str]) -> Failed:
    return refused(Refusal.INVALID, f"no cipher suite is left: {'; '.join(lacking)}")
