"""Cluster Autoscaler's core over owned machines: it is answered truly through seeded disasters."""

import pytest

from hostler.lab.autoscaler.faults import ALL, NodeObjects, draw_autoscaler
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.names import AUTOSCALER
from hostler.lab.simulate.providers import PROVIDERS
from hostler.lab.simulate.seeds import run_seed

SIZE = Size(days=PROVIDERS[AUTOSCALER].days)
MANY, AT_ONCE = 16, 8

PAST_FAILURES = {
    236017900: "power: a box was cut just before its engine stood still, and took it (the judge)",
    236013539: "orders: a node never came, and its group was at its least size (the judge)",
    236007721: "orders: a box came up after core had read how its Node stands (the judge)",
    236000078: "choice: a box that booted for long was about to go off (the judge)",
    236000348: "nodes: a machine that failed, and was to be deleted, recovered",
    11: "L1: an increase by two was refused for ever after one start had failed",
    24: "orders: the node of a machine that was lost stood in for one on its way",
    74: "L1: a taint of the machine before stayed on a node that was never off (the lab)",
    139: "orders: what was given up just before a crash was still counted (the judge)",
    165: "power: a machine that was bound before a crash, and waits for its box, was not counted",
    208000069: "groups: boxes were no room until they were observed after a takeover",
    208000088: "groups: the same, of an engine that stood still",
    236001688: "orders: a box stayed dark whose machine somebody protects (the judge)",
    210000034: "orders: a machine recovered between a target and the order by it (the judge)",
    66000085: "groups: a box whose machine had just ended was no room for a moment",
    77000033: "L1: a box was set aside for the time that its machine had waited for a box",
    76000139: "power: a brown-out that the engine slept through was no start of a box (the judge)",
    71000337: "ends: a node came in the very cycle that took its deletion (the judge)",
}
"""Seeds of failures that were found and mended, and what each found."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", range(1, MANY, AT_ONCE))
def test_cluster_autoscaler_is_answered_truly_whatever_happens(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        result = run_seed(seed, SIZE, provider=AUTOSCALER)
        assert result.violation is None, "\n".join(result.story)


@pytest.mark.parametrize("seed", PAST_FAILURES)
def test_seed_of_a_past_failure_holds(seed: int) -> None:
    result = run_seed(seed, SIZE, provider=AUTOSCALER)
    assert result.violation is None, "\n".join(result.story)


def test_a_seed_replays_to_the_same_byte() -> None:
    first, second = (run_seed(4, SIZE, provider=AUTOSCALER) for _ in range(2))
    assert first.digest == second.digest
    assert first == second


def test_every_fault_and_everything_that_becomes_of_nodes_is_drawn() -> None:
    scenarios = [draw_autoscaler(seed, SIZE) for seed in range(1, 200)]
    assert {fault for one in scenarios for fault in one.base.faults} == {*ALL}
    assert {one.nodes for one in scenarios} == {*NodeObjects}
    assert {one.reverts for one in scenarios} == {True, False}
