"""Mutations of how boxes are switched: each makes a known wrong function of a good one."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from hostler.domain.model.calls import Call, Done, Outcome, Shows, Unknown
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostPower, host_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.model.transition import Transition
from hostler.providers.power.planner import RELEASE

from .server_mutations import Function

_BOXES = 6
"""How many boxes there are where nothing else happens."""
_LATER = (90.0, 180.0, 300.0, 450.0, 600.0)
"""When a worker that was given up tries again, in seconds."""


def unknown_is_off(good: Function) -> Function:
    """Show a box of which nothing is known as one that is off."""

    def resource(*args: Any) -> Resource:
        box: Resource = good(*args)
        unknown = box.condition is Condition.UNKNOWN
        return replace(box, condition=Condition.OFF) if unknown else box

    return resource


def overdue(good: Function) -> Function:
    """Let the time run in which a box is to go on, whether or not it is to."""

    def pursued(host: Host, goal: HostGoal | None, snapshot: AccountSnapshot) -> Host:
        wanted = HostGoal.ON if host.power.on is False else goal
        pursued: Host = good(host, wanted, snapshot)
        return pursued

    return pursued


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


def free_alone(good: Function) -> Function:
    """Find only what is free to be nobody's: what is in quarantine stays as it is."""

    def is_unused(goals: Any, host: Host) -> bool:
        return host.condition is HostCondition.FREE and good(goals, host)

    return is_unused


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


# ---------------------------------------------------------------- of an older autoscaler


def own_only(good: Function) -> Function:
    """Follow only what began in the life of this process."""

    def followed(transition: Transition, snapshot: Snapshot, **options: Any) -> Transition:
        begun_before = transition.machine.since < snapshot.took
        return transition if begun_before else good(transition, snapshot, **options)

    return followed


def due_anew(_: Function) -> Function:
    """Let the bound of a start begin with each look at it."""

    def start_due(_: Machine, snapshot: Snapshot) -> datetime:
        return snapshot.now + snapshot.fleet.timers.start

    return start_due


def no_time(_: Function) -> Function:
    """Find that no time has passed in a phase."""

    def elapsed(*_: object) -> timedelta:
        return timedelta(0)

    return elapsed


def given_up_is_off(_: Function) -> Function:
    """Hold what a machine let go of to be off and clean, as it was asked to be."""

    def followed(host: Host, _: Resource, snapshot: AccountSnapshot) -> Host:
        off = replace(host, goal=None, power=replace(host.power, on=False, since=snapshot.now))
        clean = off.with_cleaning(wiped=snapshot.now)
        return clean.now(HostCondition.FREE, snapshot.now, "given up")

    return followed


def power_as_recorded(good: Function) -> Function:
    """Believe the record of a box that is held to be off, whatever is observed."""

    def observed(host: Host, *args: Any) -> HostPower:
        return host.power if host.power.on is False else good(host, *args)

    return observed


def accepted_is_done(good: Function) -> Function:
    """Remember every box whose start was accepted."""

    async def do(boxes: Any, call: Call) -> Outcome:
        outcome: Outcome = await good(boxes, call)
        accepted: set[str] = boxes.__dict__.setdefault("accepted", set())
        if isinstance(outcome, Done) and call.target is not None:
            change = accepted.add if call.shows is Shows.POWER else accepted.discard
            change(str(host_of(call.target)))
        return outcome

    return do


def accepted_is_up(good: Function) -> Function:
    """Show a box whose start was accepted as one that is up."""

    def resource(boxes: Any, name: str, reading: Any) -> Resource:
        box: Resource = good(boxes, name, reading)
        up = name in boxes.__dict__.get("accepted", ())
        return replace(box, condition=Condition.UP) if up else box

    return resource


def goes_on(good: Function) -> Function:
    """Let who was given up go on by itself, though somebody else may have the box by then."""

    def again(switch: Any, action: Any) -> None:
        tasks.add(asyncio.get_running_loop().create_task(good(switch, action)))

    tasks = set[asyncio.Task[Outcome]]()

    async def act(switch: Any, action: Any) -> Outcome:
        outcome: Outcome = Unknown(text="given up")
        try:
            outcome = await good(switch, action)
        finally:
            if isinstance(outcome, Unknown):
                for later in _LATER:
                    asyncio.get_running_loop().call_later(later, again, switch, action)
        return outcome

    return act


def no_setback(_: Function) -> Function:
    """Remember of no offer that it failed."""

    def setbacks(*_: Any) -> list[Any]:
        return []

    return setbacks
