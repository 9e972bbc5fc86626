"""Nodes: what kubelets do, and what controllers of workloads and a scheduler do where none run.

There is no kubelet in the demo. A host that is up joins as a Node, which kwok plays; where there
is no kwok either, it is written Ready here.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from hostler.ports.clock import Clock

from .api import Api, Raw, is_going, is_true, name_of
from .manifests import DEPLOYMENTS, HOSTLER_MACHINES, NODES, PODS_SORT, node

_STEP = timedelta(milliseconds=300)
_READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}


@dataclass(slots=True)
class Kubelets:
    """Lets hosts that are up join as Nodes, for ever; `alone` means that nobody plays them."""

    api: Api
    clock: Clock
    alone: bool

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await self.step()
            await self.clock.sleep(_STEP)

    async def step(self) -> None:
        """Let those join that have come up."""
        there = {name_of(one): one for one in await self.api.list(NODES)}
        for own in await self.api.list(HOSTLER_MACHINES):
            name, provider_id = name_of(own), own["spec"].get("providerID")
            if not provider_id or is_going(own) or not is_true(own, "Ready"):
                continue
            if name not in there:
                wanted = node(name, provider_id)
                there[name] = await self.api.apply(NODES, name, **wanted.content)
            if self.alone and not is_true(there[name], "Ready"):
                await self.api.merge(NODES, name, {"status": _READY}, "status")


@dataclass(slots=True)
class WorkloadModel:
    """Keeps the Pods of Deployments on Nodes, as their controllers and the scheduler would."""

    api: Api
    clock: Clock
    random: Random

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await self.step()
            await self.clock.sleep(_STEP)

    async def step(self) -> None:
        """Make the Pods that are missing, and delete those that nobody wants."""
        pods = await self.api.list(PODS_SORT)
        wanted = {name_of(one): one for one in await self.api.list(DEPLOYMENTS)}
        for pod in pods:
            if _app(pod) not in wanted and not is_going(pod):
                await self.api.delete(PODS_SORT, name_of(pod))
        for name, deployment in wanted.items():
            there = [one for one in pods if _app(one) == name and not is_going(one)]
            if len(there) < deployment["spec"]["replicas"]:
                await self._make(name, deployment, pods)

    async def _make(self, name: str, deployment: Raw, pods: list[Raw]) -> None:
        """Make a Pod on the Node that has the fewest, if one takes Pods."""
        used = Counter(one["spec"]["nodeName"] for one in pods)
        nodes = [one for one in await self.api.list(NODES) if _takes_pods(one)]
        if not nodes:
            return
        place = min(nodes, key=lambda one: (used[name_of(one)], name_of(one)))
        template = deployment["spec"]["template"]
        await self.api.apply(
            PODS_SORT,
            f"{name}-{self.random.getrandbits(32):08x}",
            metadata=template["metadata"],
            spec={**template["spec"], "nodeName": name_of(place)},
        )


def _app(pod: Raw) -> str:
    return str(pod["metadata"].get("labels", {}).get("app", ""))


def _takes_pods(found: Raw) -> bool:
    return is_true(found, "Ready") and not found["spec"].get("unschedulable")
