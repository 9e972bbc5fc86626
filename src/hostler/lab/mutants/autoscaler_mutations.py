"""Mutations of what Cluster Autoscaler is answered: each makes a known wrong function.

Each does what an older autoscaler for owned machines did (docs/explanation/thirty-defects.md).
"""

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message
from msgspec.structs import replace

from hostler.frontends.externalgrpc.calls import Instance, NodeRef, State
from hostler.frontends.externalgrpc.members import Member, Members
from hostler.frontends.externalgrpc.schema import inner, message, text
from hostler.lab.autoscaler.cluster import PROVIDER_ID

from .server_mutations import Function


def decrease_by_readiness(good: Function) -> Function:
    """Give up what is on its way beyond the ready ones and the delta, not as many as are asked."""

    async def decrease(group: Any, delta: int) -> None:
        members = [member for member in group.members().all if member.counts]
        ready = sum(member.state is State.RUNNING for member in members)
        many = len(members) - ready - max(0, ready + delta)
        if many > 0:
            await good(group, -many)

    return decrease


def one_at_a_time(good: Function) -> Function:
    """Ask for one machine, whatever number is asked for."""

    async def grow(machines: Any, count: int, why: str = "") -> Any:
        return await good(machines, min(1, count), why)

    return grow


def target_as_observed(_: property) -> property:
    """Count only what is seen to run, or to start."""

    def target(members: Members) -> int:
        return sum(member.counts and member.id not in member.names for member in members.all)

    return property(target)


def off_is_member(good: Function) -> Function:
    """Count every node that bears our form of a providerID, whether it has a machine or none."""

    def has(group: Any, node: NodeRef) -> bool:
        return good(group, node) or node.provider_id.startswith(PROVIDER_ID.format(host=""))

    return has


def booting_is_member(_: Function) -> Function:
    """Count the node of every machine, also of one that boots."""

    def has(group: Any, node: NodeRef) -> bool:
        return group.members().find(node) is not None

    return has


def all_run(_: property) -> property:
    """Say that every instance runs."""

    def instance(member: Member) -> Instance:
        return Instance(member.id, State.RUNNING)

    return property(instance)


def without_ids(_: property) -> property:
    """Give no id to an instance whose node nobody knows yet."""

    def instance(member: Member) -> Instance:
        known = member.id not in member.names
        return Instance(member.id if known else "", member.state, member.trouble)

    return property(instance)


def one_by_one(good: Function) -> Function:
    """Delete the nodes one after the other, until one of them is refused."""

    async def delete(group: Any, nodes: Sequence[NodeRef]) -> None:
        for node in nodes:
            await good(group, [node])

    return delete


def by_name_alone(_: Function) -> Function:
    """Find a node by the name of its host or machine, and by nothing else."""

    def find(members: Members, node: NodeRef) -> Member | None:
        return members.by_name.get(node.name)

    return find


def no_more_than_now(good: Function) -> Function:
    """Say of a node that its group has a maximum of 0."""

    async def group_for_node(provider: Any, request: Message) -> Message:
        name = text(inner(await good(provider, request), "nodeGroup"), "id")
        return message("NodeGroupForNodeResponse", nodeGroup={"id": name})

    return group_for_node


def always_refreshed(_: Function) -> Function:
    """Let whoever asks go on at once."""

    async def refresh(*_: object) -> Message:
        return message("RefreshResponse")

    return refresh


def no_groups_yet(_: Function) -> Function:
    """List the groups that are known by now, if any."""

    async def groups(provider: Any, _: Message) -> Message:
        listed = [
            {"id": group.id, "minSize": group.minimum, "maxSize": group.maximum}
            for group in provider._groups.values()  # noqa: SLF001 - the mutant stands in for a method
        ]
        return message("NodeGroupsResponse", nodeGroups=listed)

    return groups


def any_came(good: Function) -> Function:
    """Take a machine that is up for one that has not come."""

    def member(gathering: Any, *args: Any) -> Member | None:
        found: Member | None = good(gathering, *args)
        running = found is not None and found.state is State.RUNNING
        return replace(found, state=State.CREATING, came=False) if running and found else found

    return member
