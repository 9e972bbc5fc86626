"""Shelly: plugs and relays of both generations, by their HTTP interfaces.

The first generation has /relay/N and basic authentication, later ones have /rpc and digest
authentication. Which one it is, /shelly says without a login.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from hostler.domain.model.calls import Refusal
from hostler.ports.http import Response
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.providers.power.switch import Reading, nonsense, refused, switch_of
from hostler.providers.power.web import Web, WebTable, faults, missing, place_of, web_of

_ON_AGAIN = 5
"""Seconds after which a relay that is cycled closes again, by its own timer."""
_NOT_FOUND = 404
_ACTIONS = frozenset({PowerAction.ON, PowerAction.OFF_HARD, PowerAction.CYCLE})


class ShellyTable(WebTable, frozen=True, kw_only=True):
    """A plug or relay of Shelly."""

    outlet: Annotated[int, Meta(ge=0, le=63, description="which of its outlets, from 0 on")] = 0
    generation: Annotated[
        Literal[1, 2] | None,
        Meta(description="1, or 2 for every later one; left out: it is asked"),
    ] = None


class Shelly:
    """Implements `PowerMethod`."""

    settings = ShellyTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it switches at once, and tells the draw where it measures one."""
        table = table_of(ShellyTable, settings)
        return PowerCapabilities(
            actions=_ACTIONS,
            query=True,
            watts=True,
            feeds=True,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the device, whichever outlet of it."""
        return f"shelly {place_of(table_of(ShellyTable, settings))}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is wrong with the address or the credentials."""
        return faults(table_of(ShellyTable, settings))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets and files are not here."""
        return missing(table_of(ShellyTable, settings), folder, environment)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one outlet."""
        table = table_of(ShellyTable, opening.settings)
        device = ShellyDevice(web_of(table, opening), table.outlet, table.generation)
        return switch_of(device, self.capabilities(table), opening)


class _Self(Struct, frozen=True):
    """What /shelly says: later generations give their number, the first one its type."""

    gen: int | None = None
    type: str | None = None


class _Relay(Struct, frozen=True):
    """The state of a relay of the first generation."""

    ison: bool


class _Meter(Struct, frozen=True):
    """The meter of a relay of the first generation."""

    power: float | None = None


class _Status(Struct, frozen=True):
    """The state of a switch of later generations."""

    output: bool
    apower: float | None = None


class _Was(Struct, frozen=True):
    """The answer of later generations to a command."""

    was_on: bool


class ShellyDevice:
    """Speaks to one outlet. Implements `Device`."""

    def __init__(self, web: Web, outlet: int, generation: int | None) -> None:
        self._web, self._outlet, self._generation = web, outlet, generation
        self._is_named = generation is not None

    async def act(self, action: PowerAction) -> None:
        """Switch, or let the relay open and close again by its own timer."""
        on = "on" if action is PowerAction.ON else "off"
        if await self._is_first():
            timer = (("timer", str(_ON_AGAIN)),) if action is PowerAction.CYCLE else ()
            answer = await self._ask(f"/relay/{self._outlet}", ("turn", on), *timer)
            self._web.decoded(answer, _Relay)
            return
        timer = (("toggle_after", str(_ON_AGAIN)),) if action is PowerAction.CYCLE else ()
        wanted = ("on", "true" if on == "on" else "false")
        answer = await self._ask("/rpc/Switch.Set", ("id", str(self._outlet)), wanted, *timer)
        self._web.decoded(answer, _Was)

    async def read(self) -> Reading:
        """Ask for the relay, and for its draw where there is a meter."""
        if await self._is_first():
            relay = self._web.decoded(await self._ask(f"/relay/{self._outlet}"), _Relay)
            return _reading(on=relay.ison, watts=await self._meter())
        answer = await self._ask("/rpc/Switch.GetStatus", ("id", str(self._outlet)))
        status = self._web.decoded(answer, _Status)
        return _reading(on=status.output, watts=status.apower)

    async def close(self) -> None:
        """Give back connections."""
        await self._web.close()

    async def _is_first(self) -> bool:
        if self._generation is None:
            known = self._web.decoded(await self._web.ask("GET", "/shelly"), _Self)
            if known.gen is None and known.type is None:
                raise nonsense("what answers there is no Shelly")
            self._generation = known.gen or 1
        return self._generation == 1

    async def _meter(self) -> float | None:
        answer = await self._exchange(f"/meter/{self._outlet}")
        return self._web.decoded(answer, _Meter).power if answer.status == 200 else None

    async def _ask(self, path: str, *query: tuple[str, str]) -> Response:
        answer = await self._exchange(path, *query)
        if answer.status == _NOT_FOUND and not self._is_named:
            self._generation = None  # another one may hang there now: it is asked for the next call
        if answer.status // 100 != 2:
            raise self._web.judged(answer)
        return answer

    async def _exchange(self, path: str, *query: tuple[str, str]) -> Response:
        """Ask once; log in where that is asked for: once more, and never a third time."""
        known = self._web.credentials
        basic = (known.basic(),) if known is not None and self._generation == 1 else ()
        answer = await self._web.exchange("GET", path, query=query, headers=basic)
        challenge = answer.header("WWW-Authenticate") or ""
        if answer.status != 401 or basic or not challenge.startswith("Digest"):
            return answer
        if known is None:
            raise refused(Refusal.DENIED, "it asks for a user and a password")
        uri = path + ("?" + "&".join(f"{name}={value}" for name, value in query) if query else "")
        proof = known.digest(challenge, "GET", uri)
        return await self._web.exchange("GET", path, query=query, headers=(proof,))


def _reading(*, on: bool, watts: float | None) -> Reading:
    state = PowerState.ON if on else PowerState.OFF
    return Reading(state=state, text=f"the relay is {state}", watts=watts)
