"""Asked: what core asks, each call held against what is answered before and after it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from hostler.frontends.externalgrpc.members import STALE

from .calls import CallFailed, Client, Listed, NodeName, Seen
from .checker import AutoscalerChecker


@dataclass(slots=True)
class Asked:
    """Makes the calls that change something, and lets a judge see what came of each."""

    client: Client
    judge: AutoscalerChecker
    _first: Listed | None = field(default=None)

    async def group(self) -> Listed | None:
        """Return the node group; it is always there, and always the same."""
        try:
            groups = await self.client.groups()
        except CallFailed as error:
            if error.refused:
                self.judge.wrong("groups", f"refreshed, and no groups: {error}")
            raise
        self._first = self._first or next(iter(groups), None)
        if groups != [self._first]:
            self.judge.wrong("groups", f"there are {groups}, there was {self._first}")
        return self._first

    async def find(self, node: NodeName) -> None:
        """Ask whose a node is that was made up for an instance: it has the group, as listed."""
        found = await self.client.group_of(node)
        if found != self._first:
            self.judge.wrong("nodes", f"{node.name} is listed, and its group is {found}")

    def listed(self, instances: Sequence[Seen]) -> None:
        """Hold a list of instances against the truth."""
        self.judge.instances(instances)

    async def increase(self, group: str, delta: int, demand: int) -> None:
        """Ask for more nodes: all of them are in the target from now on, or none."""
        before = await self._target(group)
        self.judge.orders(delta, demand)
        try:
            await self.client.increase(group, delta)
        except CallFailed as error:
            self.judge.noted(f"increase {delta}: {error}")
            await self._held(before, 0, group, error)
            raise
        self.judge.ordered(delta)
        await self._held(before, delta, group, None)

    async def decrease(self, group: str, many: int) -> None:
        """Ask that so many are given up: of those that have not come, and no more."""
        before, coming = await self._target(group), self.judge.coming()
        self.judge.gives_up(min(many, coming))
        try:
            await self.client.decrease(group, -many)
        except CallFailed as error:
            self.judge.noted(f"decrease {-many}: {error}")
            if error.refused:
                self.judge.gives_up(-min(many, coming))
            await self._held(before, 0, group, error)
            raise
        self.judge.noted(f"decrease {-many}: {coming} were to come")
        await self._held(before, -min(many, coming), group, None)

    async def delete(self, group: str, nodes: Sequence[NodeName]) -> None:
        """Ask for the deletion of nodes: of all of them, or of none."""
        before = await self._target(group)
        listed = {one.id for one in await self.client.instances(group) if not one.ends}
        counted = {node.provider_id for node in nodes} & listed
        new = self.judge.deletes([node.provider_id for node in nodes])
        names = " ".join(node.name for node in nodes)
        try:
            await self.client.delete(group, nodes)
        except CallFailed as error:
            self.judge.noted(f"delete {names}: {error}")
            if error.refused:
                self.judge.spares(new)
            await self._held(before, 0, group, error)
            raise
        self.judge.noted(f"delete {names}")
        await self._held(before, -len(counted), group, None)

    def keep(self, instances: Sequence[str]) -> None:
        """Note that these are not deleted, though their nodes did not come: the group is small."""
        self.judge.keeps(instances)

    async def _target(self, group: str) -> tuple[int, int]:
        """Return the target, when nothing older is remembered, and what was saved by then."""
        await asyncio.sleep(2 * STALE)
        return await self.client.target(group), self.judge.saves

    async def _held(
        self, before: tuple[int, int], by: int, group: str, error: CallFailed | None
    ) -> None:
        """Check the target right after a call; what was recorded meanwhile may have changed it."""
        if error is not None and not error.refused:
            return
        target, saves = before
        after = await self.client.target(group)
        if self.judge.saves == saves and after != target + by:
            what = "refused" if error is not None else "granted"
            text = f"the target was {target}, a change by {by} was {what}, and it is {after}"
            self.judge.wrong("target", text)
