"""Ways: all methods of one box as one: each action by the first that can do it."""

from collections.abc import Mapping
from dataclasses import replace

from hostler.domain.model.calls import Outcome, Refusal, Refused
from hostler.ports.power import Power, PowerAction, PowerReading, PowerState


class Ways:
    """The ways to one box's power. `order` names them for each action, and for a query (None)."""

    def __init__(
        self, methods: Mapping[str, Power], order: Mapping[PowerAction | None, tuple[str, ...]]
    ) -> None:
        self._methods, self._order = methods, order

    @property
    def actions(self) -> frozenset[PowerAction]:
        """What can be done at all."""
        return frozenset(action for action in PowerAction if self._way(action) is not None)

    @property
    def is_asked(self) -> bool:
        """Whether anything can tell how it stands."""
        return any(way.capabilities.query for way in self._asked())

    def _way(self, action: PowerAction) -> Power | None:
        ways = (self._methods[name] for name in self._order[action])
        return next((way for way in ways if action in way.capabilities.actions), None)

    def _asked(self) -> tuple[Power, ...]:
        return tuple(self._methods[name] for name in self._order[None])

    async def act(self, action: PowerAction) -> Outcome:
        """Ask for this once, by the first method that can."""
        way = self._way(action)
        if way is None:
            return Refused(why=Refusal.INVALID, text=f"no method of this box can do {action}")
        return await way.act(action)

    async def query(self) -> PowerReading:
        """Ask method by method until one knows; why nobody knows is all that they answered."""
        reasons = list[str]()
        reading: PowerReading | None = None
        for way in self._asked():
            if not way.capabilities.query:
                continue
            last = await way.query()
            reading = reading or last
            if last.state is not PowerState.UNKNOWN:
                return last
            reasons.append(last.text)
        if reading is None:
            return await self._asked()[0].query()
        return replace(reading, text="; ".join(reasons))

    async def close(self) -> None:
        """Give back all connections."""
        for way in self._methods.values():
            await way.close()
