"""Outlet: one outlet of a strip, switched and read where its model says."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from hostler.domain.model.calls import Refusal, Refused
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.power import PowerAction
from hostler.providers.power.switch import Failed, Reading, refused

from .agent import Agent
from .models import MODELS, Model, model_of

_OBJECT_ID = (1, 3, 6, 1, 2, 1, 1, 2, 0)
"""sysObjectID: which product of which vendor an agent is (RFC 3418)."""


class Outlet:
    """Implements `Device`. Without a model the strip is asked for it, and again once it refuses."""

    def __init__(self, agent: Agent, model: Model | None, outlet: int, unit: int) -> None:
        self._agent, self._named, self._outlet, self._unit = agent, model, outlet, unit
        self._model = model

    async def act(self, action: PowerAction) -> None:
        """Write where the outlet is switched. What fails before that had no effect."""
        try:
            async with asyncio.timeout(self._agent.longest / 2):
                model = await self._known()
        except (NoAnswer, TimeoutError):
            raise NotSent("no answer to the question which model it is") from None
        except Failed as failed:
            if isinstance(failed.outcome, Refused):
                raise
            raise refused(Refusal.INVALID, str(failed)) from None
        place, number = model.written(self._outlet, self._unit, on=action is PowerAction.ON)
        with self._doubted():
            await self._agent.write(place, number)

    async def read(self) -> Reading:
        """Ask how the outlet stands."""
        model = await self._known()
        with self._doubted():
            number = await self._agent.number(model.asked(self._outlet, self._unit))
        state = model.state(number)
        return Reading(state=state, text=f"outlet {self._outlet} is {state} ({number})")

    async def close(self) -> None:
        """Give back the socket."""
        self._agent.close()

    @contextmanager
    def _doubted(self) -> Generator[None]:
        """Ask for the model again at the next call where a strip refuses: it may be another one."""
        try:
            yield
        except Failed:
            self._model = self._named
            raise

    async def _known(self) -> Model:
        if self._model is None:
            product = await self._agent.object_id(_OBJECT_ID)
            name = model_of(product)
            if not name:
                dotted = ".".join(str(part) for part in product)
                raise refused(
                    Refusal.INVALID, f"no model is known for {dotted}: name one with `model`"
                )
            if self._unit != 1 and not MODELS[name].counts_units:
                text = f"{name} does not count the strips of a chain: unit {self._unit} is unknown"
                raise refused(Refusal.INVALID, text)
            self._model = MODELS[name]
        return self._model
