"""Mutations of what is done with boxes: each makes a known wrong function of a good one."""

from typing import Any

from msgspec.structs import replace

from hostler.domain.hosts.idle import Idle
from hostler.domain.ids import evolve
from hostler.domain.model.calls import Call
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostPower
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.testing.fakes.metal_world import SILENT

from .server_mutations import Function


def clean_at_once(_: Function) -> Function:
    """Call a box clean as soon as its machine let go of it."""

    def followed(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
        del resource
        clean = replace(host.with_cleaning(wiped=snapshot.now), goal=None)
        return clean.now(HostCondition.FREE, snapshot.now, "clean")

    return followed


def off_at_once(_: Function) -> Function:
    """Switch a free box off however short it was on."""

    def goals(snapshot: AccountSnapshot, *_: object) -> Idle:
        hosts = snapshot.hosts.values()
        free = (host for host in hosts if host.condition is HostCondition.FREE)
        return Idle({host.id: HostGoal.OFF for host in free if host.power.on})

    return goals


def unheld(good: Function) -> Function:
    """Have one function go by a host as if nobody held it; its record keeps the hold."""

    def by(goals: Any, host: Host) -> Any:
        return good(goals, replace(host, hold=None))

    return by


def refused(_: Function) -> Function:
    """Refuse whatever is asked."""

    def why(*_: object) -> str:
        return "no"

    return why


def unmaintained(good: Function) -> Function:
    """Pursue the goal of a host as if nobody held it."""

    def aimed(transition: HostTransition, *around: Any) -> HostTransition:
        hold = transition.host.hold
        bare = evolve(transition, host=replace(transition.host, hold=None))
        found: HostTransition = good(bare, *around)
        return evolve(found, host=replace(found.host, hold=hold))

    return aimed


def all_free(_: Function) -> Function:
    """Let every free box begin now."""

    def startable(free: Any, *_: Any) -> tuple[Any, ...]:
        return tuple(free)

    return startable


def silent_is_off(good: Function) -> Function:
    """Show a box whose controller does not answer as one that is off."""

    def resource_of(*args: Any) -> Resource:
        box: Resource = good(*args)
        off = box.status == SILENT
        return replace(box, status="off", condition=Condition.OFF) if off else box

    return resource_of


def starts_taken_back(good: Function) -> Function:
    """Count a box once less for each time it goes on."""

    def observed(host: Host, resource: Resource, snapshot: AccountSnapshot) -> HostPower:
        power: HostPower = good(host, resource, snapshot)
        return replace(power, starts=2 * host.power.starts - power.starts)

    return observed


def type_forgotten(good: Function) -> Function:
    """Record no type of a host."""

    def described(host: Host, resource: Resource | None, snapshot: AccountSnapshot) -> Host:
        known: Host = good(host, resource, snapshot)
        return replace(known, type="")

    return described


def rests_while_on(good: Function) -> Function:
    """Take a box that is still on for one in standby."""

    def allocation(allocations: Any, host: Resource, machine: Machine) -> Resource:
        seen: Resource = good(allocations, host, machine)
        rests = machine.goal is Goal.STANDBY and host.condition is Condition.UP
        return replace(seen, condition=Condition.STANDBY) if rests else seen

    return allocation


def cycle_forgotten(good: Function) -> Function:
    """Forget that a box is to go off and on."""

    def followed(host: Host, resource: Resource) -> Host:
        known: Host = good(host, resource)
        return replace(known, power=replace(known.power, cycle=None))

    return followed


def no_room(_: Function) -> Function:
    """Find no room for another machine, for no reason."""

    def room(*_: Any) -> tuple[int, str]:
        return 0, ""

    return room


def left_off(good: Function) -> Function:
    """Let a machine's box end, and nothing else."""

    def next_calls(planner: Any, goal: Goal, *rest: Any) -> tuple[Call, ...]:
        return () if goal is Goal.PRESENT else good(planner, goal, *rest)

    return next_calls
