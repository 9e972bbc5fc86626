"""Tasmota: plugs and relays by its HTTP interface, /cm."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hostler.domain.model.calls import Refusal
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.providers.power.switch import Reading, nonsense, refused, switch_of
from hostler.providers.power.web import Web, WebTable, faults, missing, place_of, web_of

_STATES = {"ON": PowerState.ON, "OFF": PowerState.OFF}


class TasmotaTable(WebTable, frozen=True, kw_only=True):
    """A plug or relay with Tasmota."""

    outlet: Annotated[int, Meta(ge=1, le=32, description="which of its relays, from 1 on")] = 1
    watts: Annotated[bool, Meta(description="whether it measures the draw: asked separately")] = (
        False
    )


class Tasmota:
    """Implements `PowerMethod`."""

    settings = TasmotaTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it switches at once."""
        table = table_of(TasmotaTable, settings)
        return PowerCapabilities(
            actions=frozenset({PowerAction.ON, PowerAction.OFF_HARD}),
            query=True,
            feeds=True,
            watts=table.watts,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the device, whichever relay of it."""
        return f"tasmota {place_of(table_of(TasmotaTable, settings))}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is wrong with the address or the credentials."""
        return faults(table_of(TasmotaTable, settings))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets and files are not here."""
        return missing(table_of(TasmotaTable, settings), folder, environment)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one relay."""
        table = table_of(TasmotaTable, opening.settings)
        device = TasmotaDevice(web_of(table, opening), table.outlet, measures=table.watts)
        return switch_of(device, self.capabilities(table), opening)


class _Energy(Struct, frozen=True):
    """The meter; a device with several relays tells a draw for each."""

    Power: float | tuple[float, ...] | None = None


class _Sensors(Struct, frozen=True):
    """What sensors tell."""

    ENERGY: _Energy | None = None


class _Measured(Struct, frozen=True):
    """The answer to `Status 8`."""

    StatusSNS: _Sensors


class TasmotaDevice:
    """Speaks to one relay. Implements `Device`."""

    def __init__(self, web: Web, outlet: int, *, measures: bool) -> None:
        self._web, self._outlet, self._measures = web, outlet, measures

    async def act(self, action: PowerAction) -> None:
        """Switch the relay; its answer names how it stands then."""
        wanted = PowerState.ON if action is PowerAction.ON else PowerState.OFF
        if await self._relay(f"Power{self._outlet} {wanted.upper()}") is not wanted:
            raise nonsense(f"it answers that the relay is not {wanted}")

    async def read(self) -> Reading:
        """Ask for the relay, and for its draw where it measures one."""
        state = await self._relay(f"Power{self._outlet}")
        watts = await self._watts() if self._measures else None
        return Reading(state=state, text=f"the relay is {state}", watts=watts)

    async def close(self) -> None:
        """Give back connections."""
        await self._web.close()

    async def _relay(self, command: str) -> PowerState:
        answer = await self._command(command)
        names = (
            ("POWER", f"POWER{self._outlet}") if self._outlet == 1 else (f"POWER{self._outlet}",)
        )
        found = {str(answer[name]).upper() for name in names if name in answer}
        if len(found) != 1 or not found <= _STATES.keys():
            raise nonsense(
                f"its answer names no relay {self._outlet}: {self._web.safe(str(answer))}"
            )
        return _STATES[found.pop()]

    async def _watts(self) -> float | None:
        answer = await self._command("Status 8")
        try:
            energy = msgspec.convert(answer, _Measured).StatusSNS.ENERGY
        except msgspec.ValidationError:
            return None
        draw = energy.Power if energy is not None else None
        if isinstance(draw, tuple):
            return draw[self._outlet - 1] if len(draw) >= self._outlet else None
        return draw

    async def _command(self, command: str) -> Mapping[str, object]:
        """Give a command; what it lacks is told in the answer, not in its status."""
        known = self._web.credentials
        login = (("user", known.user), ("password", known.password.reveal())) if known else ()
        query = (("cmnd", command), *login)
        answer = self._web.decoded(
            await self._web.ask("GET", "/cm", query=query), dict[str, object]
        )
        if "Need user" in str(answer.get("WARNING", "")):
            raise refused(Refusal.DENIED, "the credentials are refused")
        if str(answer.get("Command", "")) in {"Unknown", "Error"}:
            raise refused(Refusal.INVALID, f"it knows no command {command.split(maxsplit=1)[0]}")
        return answer
