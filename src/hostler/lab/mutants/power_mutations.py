"""Mutations of how boxes are switched: each makes a known wrong function of a good one."""

from dataclasses import replace
from typing import Any

from hostler.domain.model.host import host_of
from hostler.domain.model.resource import Condition, Resource
from hostler.providers.power.planner import RELEASE

from .server_mutations import Function

_BOXES = 6
"""How many boxes there are where nothing else happens."""


def unknown_is_off(good: Function) -> Function:
    """Show a box of which nothing is known as one that is off."""

    def resource(*args: Any) -> Resource:
        box: Resource = good(*args)
        unknown = box.condition is Condition.UNKNOWN
        return replace(box, condition=Condition.OFF) if unknown else box

    return resource


def at_once(_: Function) -> Function:
    """Wait for nobody."""

    async def turn(*_: object) -> None:
        """Begin, or end, without any turn."""

    return turn


def nothing_against(_: Function) -> Function:
    """Find nothing that speaks against asking."""

    def refusal(*_: object) -> str:
        return ""

    return refusal


def once(_: Function) -> Function:
    """Give a call that was never asked, and no other."""

    def open_(_: object, call: Any, last_call: Any, *__: object) -> Any:
        return call if last_call(call) is None else None

    return open_


def many(_: Function) -> Function:
    """Leave room for any number."""

    def left(*_: object) -> int:
        return 1000

    return left


def none(_: Function) -> Function:
    """Name nothing."""

    def stays(*_: object) -> tuple[str, ...]:
        return ()

    return stays


def next_box(good: Function) -> Function:
    """Send a call to the box after the one that is meant."""

    async def do(boxes: Any, call: Any) -> Any:
        if call.kind == RELEASE:
            return await good(boxes, call)
        target = str(call.target or "")
        box = host_of(call.target)
        number = int(box.partition("-")[2])
        after = f"box-{number % _BOXES + 1}"
        return await good(boxes, replace(call, target=target.replace(box, after, 1)))

    return do
