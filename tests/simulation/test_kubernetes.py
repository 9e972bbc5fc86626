"""Machines of Cluster API, and Fleets as objects, on owned machines, through seeded disasters."""

import pytest

from hostler.lab.kubernetes.faults import ALL, CALLS, NAMESPACE_DELETED, draw_cluster
from hostler.lab.kubernetes.fleets.edits import Write
from hostler.lab.kubernetes.nodes.scenario import Guard, Naming
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.names import KUBERNETES
from hostler.lab.simulate.providers import PROVIDERS
from hostler.lab.simulate.seeds import run_seed

SIZE = Size(days=PROVIDERS[KUBERNETES].days)
MANY, OFTEN, AT_ONCE = 17, 8, 4

PAST_FAILURES = {
    90000105: "E2: a refusal kept the next machine of the fleet from what was planned (the judge)",
    162: "power: the next box was started, for one that was up could not be recorded (the judge)",
    216: "kept: who had only looked on ran a provider without a box that has a machine",
    296: "removed: the Node of a fleet's last machine stayed, for its process was started again",
    129: "power: a box was mended while it had no Host, so that nobody saw it go off (the judge)",
    79000004: "L1: two of five hosts whose wipes had failed were in quarantine (the judge); E2: a "
    "machine was planned on a host that another one took by the same decision",
    15: "same: a box was given on while an outage kept its old object from saying so (the judge)",
    19: "waits: whoever waited for bootstrap data that was made anew waited for ever",
    24: "L1: what was lost was never replaced, for there was no health check (the lab)",
    34000025: "S2: ends and new machines by id in one pass are no more than were asked (the judge)",
    34000011: "power: two fleets of a rack, each by itself, started a box at the same moment",
    18: "L1: objects were written by another process than the one whose engine led",
    33: "L1: a request that was cancelled half-way counted as one that is under way for ever",
    1083: "kept: a Provider left with machines, for it was not in force",
    2076: "E3: a deleted Host that was wrong stayed, and asked to be held for ever",
    11: "S12: a box that its machine left when its start was tried again was handed on uncleaned",
    69: "removed: a Node stayed whose machine lived on with another box; and a fault of the lab",
    363: "power: another fleet's second try and a first start went out in one moment",
    1452: "power: another fleet's second try did not count for the gap between two starts",
    7816: "policy: a Host that was to be left on went while an earlier command took it off",
    34000041: "power: the gap between two starts was that of each fleet alone",
}
"""Seeds of failures that were found and mended, and what each found."""

FAILURES_OF_NEWER_DICE = {
    238045424: "choice: a Node had lost its label half a second before (the judge)",
    238046827: "L1: people took two Macs of three, and two Machines were wanted (the judge)",
    238043231: "S12: a box that could not be unbound was taken again, and not clean",
    238039370: "L3: a box was to be held since no engine ran, and five others went (the judge)",
    238037931: "cordon: a round of Nodes ended at the first write that was put off by a 429",
    238037841: "guarded: core removed a Node of the control plane, its box went off (the judge)",
    238010039: "waits: one engine after the other died before it could look (the judge)",
    238010146: "choice: a box was left on, for Nodes were never listed (the judge)",
    238019354: "removed: a Node stayed as its machine was tried again on another box for long",
    238027872: "policy: the Secret of a Host was deleted before it (the judge)",
    238019504: "policy: a Host was wrong as it was deleted, and another process led (the judge)",
    238019611: "S12: a box whose Host left before it was cleaned came back as clean",
    238022892: "power: that a box was off could not be saved before it was on (the judge)",
    238019539: "power: the same of a box that a machine has (the judge)",
    238018983: "L2: not one save in ten came to anything (the judge)",
    238018126: "choice: Nodes were read for a probe, and their boxes stayed unknown",
    238017562: "kept: who took over had not read of a box, and took its machine for lost",
    238017016: "L3: a Host's wish was saved, and nobody heard so (the judge)",
    238017064: "labels: nobody led a fleet for eleven minutes (the judge)",
    238016411: "S9: a machine asked for ever for the host that it had given back",
    238016594: "kept: a replica had the Fleet that was there before in force (the judge)",
    238015711: "provisioned: a login was under way when a script's failure was recorded",
    238014527: "choice: no Node was known yet to an engine that had just begun (the judge)",
    238003639: "hold: a box was in force no more when its Host's wish was answered (the judge)",
    209000060: "L3: a replica had not read yet that a Fleet was to grow (the judge)",
    212000091: "L1: people wanted two Machines, and had deleted two of three Macs (the lab)",
    212000220: "hold: a box stayed on, for its Node carries the control plane (the judge)",
    212000225: "policy: a Host left that had long been wrong, and so in force no more (the judge)",
    237000092: "power: another fleet's boxes started for longer than this one's may (the judge)",
    237000168: "L2: records lay in an API that fails (the judge); L1: a quarantined box was on",
    237000287: "power: a machine whose box went off had failed, and was not saved yet (the judge)",
    237000338: "kept: a Fleet was in force for a moment, and was on no record (the judge)",
    237000357: "kept: the record of a host was not saved with its binding, nor ever since",
    237000726: "policy: a Host left while no Fleet was in force, and one was made then (the judge)",
    237000733: "S9: one save in three comes to anything in an API that fails (the judge)",
    237000798: "current: two processes had other Fleets in force, once their Provider was back",
    237001440: "L3: a Host asked for its box, and its request was not known (the judge)",
    237001610: "probed: a box had booted anew since its kubelet was heard (the lab)",
    237001733: "L1: people wanted four Machines, and three of six Macs were broken (the lab)",
    237001995: "choice: a box was on and off again between two looks (the judge)",
    237002078: "L1: a Pod waited for another Node, and its namespace was being deleted (the lab)",
    237002305: "L3: no look had settled yet what had been asked of a box (the judge)",
    238031361: "current: who had stood still led once more, beside who was elected meanwhile",
    238031440: "labels: nothing was in force for long, and nobody cared for Nodes (the judge)",
    238030950: "waits: the API server was away twice, and nobody led between (the judge)",
    238000474: "choice: a box stayed on, for its Node carries the control plane (the judge)",
    238000622: "status: a box in quarantine that a person switched on was said to go off",
    238000635: "power: a box was off before it broke, and after it was mended (the judge)",
    238000808: "hold: a box that stayed dark was told again, and never another one in between",
    238001334: "S4: a setup script failed, which says nothing of its host (the judge)",
    99000103: "L1: a host of the pool was broken, which its owner mends (the judge)",
    99000094: "drain: a process stood still between an end and its save (the judge)",
}
"""The same of seeds that may draw what came later of Nodes."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", range(1, MANY, AT_ONCE))
def test_all_is_as_objects_ask_whatever_happens(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        result = run_seed(seed, SIZE, provider=KUBERNETES)
        assert result.violation is None, "\n".join(result.story)


def test_what_befalls_calls_of_the_api_is_counted_in_a_roll_too() -> None:
    drawn = draw_cluster(41, SIZE)
    assert drawn.roll is not None
    struck = {name for name in run_seed(41, SIZE, provider=KUBERNETES).faults if name in CALLS}
    assert struck == {f"api_{fault}" for fault in drawn.api}


@pytest.mark.parametrize("seed", [*PAST_FAILURES, *FAILURES_OF_NEWER_DICE])
def test_seed_of_a_past_failure_holds(seed: int) -> None:
    result = run_seed(seed, SIZE, provider=KUBERNETES)
    assert result.violation is None, "\n".join(result.story)


def test_a_seed_replays_to_the_same_byte() -> None:
    first, second = (run_seed(4, SIZE, provider=KUBERNETES) for _ in range(2))
    assert first.digest == second.digest
    assert first == second


def test_two_engines_share_their_records_in_some_seeds() -> None:
    scenarios = [draw_cluster(seed, SIZE) for seed in range(1, 100)]
    shared = [one.base for one in scenarios if one.base.replicas == 2]
    assert 5 < len(shared) < 30
    assert all(one.cluster is not None and one.skews[0] != one.skews[1] for one in shared)
    assert not any(NAMESPACE_DELETED in one.faults for one in shared)


def test_two_engines_follow_fleets_in_some_seeds() -> None:
    scenarios = [draw_cluster(seed, SIZE) for seed in range(1, 300)]
    shared = [one for one in scenarios if one.edits and one.base.replicas == 2]
    assert 10 < len(shared) < 40
    assert {bool(one.lifecycle) for one in shared} == {True, False}
    assert any(one.apart for one in shared)


def test_machines_are_nodes_in_some_seeds_known_in_each_way() -> None:
    drawn = [draw_cluster(seed, SIZE) for seed in range(1, 100)]
    nodes = [one.nodes for one in drawn if one.nodes is not None]
    assert 25 < len(nodes) < 60
    assert {one.naming for one in nodes} == {*Naming}
    assert {one.waits for one in nodes} == {one.remove for one in nodes} == {True, False}
    of_fleets = [one for one in drawn if one.edits and one.nodes]
    assert 5 < len(of_fleets) < 30
    assert not any(one.apart for one in of_fleets)
    assert {one.base.replicas for one in of_fleets} == {1, 2}
    assert {one.guard for one in nodes} == {None, *Guard}
    assert {one.probed for one in nodes} == {True, False}
    drained = [one for one in drawn if one.nodes is not None and one.nodes.core_drain is not None]
    assert 5 < len(drained) < 30
    assert not any(one.edits for one in drained)
    shelved = [one for one in of_fleets if any(edit.write is Write.NODE for edit in one.edits)]
    assert 0 < len(shelved) < len(of_fleets)


def test_no_seed_of_a_past_failure_has_nodes_by_newer_dice() -> None:
    drawn = [draw_cluster(seed, SIZE) for seed in PAST_FAILURES]
    nodes = [one.nodes for one in drawn if one.nodes is not None]
    assert nodes
    assert not any(one.guard or one.probed or one.core_drain for one in nodes)
    assert not any(edit.write is Write.NODE for one in drawn for edit in one.edits)


def test_machines_run_scripts_in_some_seeds() -> None:
    drawn = [draw_cluster(seed, SIZE) for seed in range(1, 100)]
    scripts = [one for one in drawn if one.scripts is not None]
    assert 15 < len(scripts) < 50
    assert {one.nodes is None for one in scripts} == {True, False}
    assert not any(one.edits for one in scripts)
    assert not any(one.nodes.probed for one in scripts if one.nodes is not None)


def test_two_namespaces_have_objects_of_equal_names_in_some_seeds() -> None:
    scenarios = [draw_cluster(seed, SIZE) for seed in range(1, 300)]
    apart = [one for one in scenarios if one.apart]
    assert 10 < len(apart) < 60
    assert all(one.lifecycle and 0 < one.apart < one.boxes for one in apart)
    assert all({edit.space for edit in one.edits} == {0, 1} for one in apart)


def test_macs_are_rolled_in_a_few_seeds() -> None:
    drawn = [draw_cluster(seed, SIZE) for seed in range(1, 200)]
    rolls = [one.roll for one in drawn if one.roll is not None]
    assert 5 < len(rolls) < 30
    assert {roll.machines for roll in rolls} == {2, 3, 4}
    assert not any(one.nodes or one.scripts or one.edits for one in drawn if one.roll)
    assert draw_cluster(12, SIZE).roll is not None


def test_every_fault_is_drawn() -> None:
    drawn = [draw_cluster(seed, SIZE) for seed in range(1, 300)]
    scenarios = [one for one in drawn if one.roll is None]
    assert {fault for one in scenarios for fault in one.base.faults} == {*ALL}
    edits = (edit for one in scenarios for edit in (*one.edits, *one.lifecycle))
    assert {edit.write for edit in edits} == {*Write}
