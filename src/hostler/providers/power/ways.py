"""Ways: all methods of one box as one: each action by the first that can do it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.model.calls import Outcome, Refusal, Refused, Unknown
from hostler.ports.power import Power, PowerAction, PowerReading, PowerState

from .switch import Guesses

_Query = asyncio.Task[PowerReading]


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
        """Ask for this once, by the first method that can; its outlet is on before it goes on."""
        way = self._way(action)
        if way is None:
            return Refused(why=Refusal.INVALID, text=f"no method of this box can do {action}")
        fed = action is PowerAction.ON and await self._feed(way)
        outcome = await way.act(action)
        if fed and isinstance(outcome, Refused):
            return Unknown(text=f"its outlet has power, and may have started it: {outcome.text}")
        return outcome

    async def _feed(self, way: Power) -> bool:
        """Let each outlet but `way` itself have power; tell whether one was told that.

        One that does not obey keeps nobody: it may have power all the time.
        """
        may_feed = False
        for one in self._methods.values():
            able = one.capabilities
            if one is way or not able.feeds or PowerAction.ON not in able.actions:
                continue
            try:
                async with asyncio.timeout(able.deadline.total_seconds() / 2):
                    may_feed |= not isinstance(await one.act(PowerAction.ON), Refused)
            except TimeoutError:
                may_feed = True
        return may_feed

    async def query(self, patience: timedelta) -> PowerReading:
        """Ask method by method until one knows; why nobody knows is all that they answered.

        One that is silent for its share of the time does not keep the next one from being asked,
        and counts before that one if it answers in time after all. TimeoutError: none answered.
        """
        ways = [way for way in self._asked() if way.capabilities.query]
        if not ways:
            return await self._asked()[0].query()
        silent = f"no answer within {patience.total_seconds():g} s"
        if len(ways) == 1:  # most boxes: tasks for a thousand of them would be felt
            try:
                async with asyncio.timeout(patience.total_seconds()):
                    return await ways[0].query()
            except TimeoutError:
                raise TimeoutError(silent) from None
        async with asyncio.TaskGroup() as group:
            asked = await _asked_in_turn(ways, patience, group)
            for task in asked:
                task.cancel()
        answers = [None if task.cancelled() else task.result() for task in asked]
        for place, answer in enumerate(answers):
            if answer is not None and answer.state is not PowerState.UNKNOWN:
                _overrule(ways[place + 1 :])
                return answer
        known = [one for one in answers if one is not None]
        if not known:
            raise TimeoutError(silent)
        texts = [one.text if one is not None else silent for one in answers]
        return replace(known[0], text="; ".join(texts))

    async def close(self) -> None:
        """Give back all connections, whatever one of them raises."""
        async with AsyncExitStack() as ways:
            for way in self._methods.values():
                ways.push_async_callback(way.close)


async def _asked_in_turn(
    ways: Sequence[Power], patience: timedelta, group: asyncio.TaskGroup
) -> Sequence[_Query]:
    """Ask until the first one that may still count knows, or time is over; return who was asked."""
    time, asked = asyncio.get_running_loop().time, list[_Query]()
    end = time() + patience.total_seconds()
    for left in range(len(ways), 0, -1):
        asked.append(group.create_task(ways[-left].query()))
        await asyncio.wait(asked[-1:], timeout=(end - time()) / left)
        if any(_knows(task) for task in asked):
            break
    while (first := next((task for task in asked if not _is_vain(task)), None)) is not None:
        if first.done() or not (await asyncio.wait((first,), timeout=end - time()))[0]:
            break
    return asked


def _overrule(ways: Iterable[Power]) -> None:
    """Let those that would have been asked next forget what they were about to conclude."""
    for way in ways:
        if isinstance(way, Guesses):
            way.overruled()


def _knows(task: _Query) -> bool:
    return task.done() and not _is_vain(task)


def _is_vain(task: _Query) -> bool:
    return task.done() and task.result().state is PowerState.UNKNOWN
