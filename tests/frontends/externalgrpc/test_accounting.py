"""Whatever Cluster Autoscaler asks, in whatever order: its accounting and ours stay the same.

The model is what core keeps: what it asked for and was granted. Registered nodes are those whose
machines came.
"""

import asyncio
from collections.abc import Callable, Coroutine

from group_kit import Cluster, node
from grpclib.exceptions import GRPCError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from hostler.config.node_tables import NodeTable
from hostler.domain.ids import MachineId
from hostler.domain.model.phases import Phase
from hostler.frontends.externalgrpc.calls import State

MAXIMUM, MINIMUM = 6, 1
CHOICES = st.integers(0, 1 << 16)


class Accounting(RuleBasedStateMachine):
    """Calls of Cluster Autoscaler among what an engine does meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(NodeTable(minimum=MINIMUM), maximum=MAXIMUM)
        self.target = 0
        self.registered = set[MachineId]()
        self.asked_to_go = set[MachineId]()
        self.ever = set[MachineId]()

    def run(self, work: Coroutine[object, object, object]) -> bool:
        """Make a call; tell whether it was granted."""
        try:
            asyncio.run(_awaited(work))
        except GRPCError:
            return False
        finally:
            self.cluster.refresh()
        return True

    def pick(self, choice: int, fits: Callable[[MachineId], bool]) -> MachineId | None:
        names = sorted(filter(fits, self.cluster.live.listed))
        return names[choice % len(names)] if names else None

    # ------------------------------------------------------------ what core asks

    @rule(delta=st.integers(-2, MAXIMUM + 2))
    def increase(self, delta: int) -> None:
        machines = self.cluster.group.machines
        requested = machines.requested.keys() - self.cluster.live.listed.keys()
        held = len(self.cluster.live.listed) + len(requested)
        granted = self.run(self.cluster.group.increase(delta))
        assert granted == (delta > 0 and held + delta <= MAXIMUM), "what leaves has its place yet"
        self.target += delta if granted else 0

    @rule(choices=st.lists(CHOICES, min_size=1, max_size=3), stranger=st.booleans())
    def delete(self, choices: list[int], stranger: bool) -> None:
        chosen = {self.pick(choice, lambda name: name in self.registered) for choice in choices}
        names = [name for name in chosen if name is not None]
        nodes = [self.cluster.node(name) for name in names]
        nodes += [node("test://stranger")] if stranger else []
        leaving = {name for name in names if name not in self.asked_to_go}
        granted = self.run(self.cluster.group.delete(nodes))
        fits = not leaving or self.target - len(leaving) >= MINIMUM
        assert granted == (fits and not stranger)
        if granted:
            self.target -= len(leaving)
            self.asked_to_go |= leaving

    @rule(delta=st.integers(-MAXIMUM, 1))
    def decrease(self, delta: int) -> None:
        before = self.counted()
        granted = self.run(self.cluster.group.decrease(delta))
        assert granted == (delta < 0)
        coming = before - self.registered
        given_up = before - self.counted()
        assert len(given_up) == (min(-delta, len(coming)) if granted else 0)
        assert given_up <= coming, "what has come stays"
        self.target -= len(given_up)
        self.asked_to_go |= given_up

    # ------------------------------------------------------------ what an engine does

    @rule()
    def take_requests(self) -> None:
        self.run(self.cluster.take_requests())

    @rule(choice=CHOICES)
    def come(self, choice: int) -> None:
        listed = self.cluster.live.listed
        name = self.pick(
            choice,
            lambda name: listed[name].phase is Phase.PENDING and name not in self.asked_to_go,
        )
        if name is not None:
            self.cluster.come(name)
            self.registered.add(name)

    @rule(choice=CHOICES)
    def reboot(self, choice: int) -> None:
        """A machine that was up starts anew: it counts, and is not given up for that."""
        name = self.pick(choice, lambda name: name in self.registered)
        if name is not None and name not in self.asked_to_go:
            self.cluster.change(name, phase=Phase.STARTING)

    @rule(choice=CHOICES)
    def go(self, choice: int) -> None:
        listed = self.cluster.live.listed
        name = self.pick(choice, lambda name: listed[name].deletion is not None)
        if name is not None:
            self.cluster.go(name)
            self.registered.discard(name)

    # ------------------------------------------------------------ what always holds

    def counted(self) -> set[MachineId]:
        return {one.machine for one in self.cluster.group.members().all if one.counts}

    @invariant()
    def the_target_is_what_was_granted(self) -> None:
        assert self.cluster.target == self.target
        assert 0 <= self.target <= MAXIMUM

    @invariant()
    def nothing_is_made_that_nobody_asked_for(self) -> None:
        living = [m for m in self.cluster.live.listed.values() if m.deletion is None]
        assert len(living) <= self.target + len(self.asked_to_go)

    @invariant()
    def what_has_come_goes_only_where_it_was_asked_for(self) -> None:
        for name, machine in self.cluster.live.listed.items():
            if machine.deletion is not None:
                assert name in self.asked_to_go

    @invariant()
    def ids_are_unique_and_found_again(self) -> None:
        members = self.cluster.group.members()
        assert len(members.by_id) == len(members.all)
        for one in members.all:
            assert members.find(node(one.id)) == one
            assert self.cluster.group.has(replace(node(one.id), fake=True))
            assert one.state is State.DELETING or one.counts

    def teardown(self) -> None:
        """It converges: once all was taken, there is what was granted, and nothing else."""
        self.run(self.cluster.take_requests())
        living = [m for m in self.cluster.live.listed.values() if m.deletion is None]
        assert len(living) == self.target


async def _awaited(work: Coroutine[object, object, object]) -> None:
    await work


TestAccounting = Accounting.TestCase
TestAccounting.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
