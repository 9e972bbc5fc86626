import os
import subprocess
import sys

import pytest

from hostler.lab.scenario.faults import (
    HISTORY_PRUNED,
    RECORD_REMOVED,
    STORE_TWINNED,
    Size,
    severity_of,
)
from hostler.lab.scenario.file_faults import FILE_FAULTS
from hostler.lab.servers.address_pool import POOL_FAULTS
from hostler.lab.servers.faults import ALL, draw_servers
from hostler.lab.servers.large import HALF_DELETED, LEAST, draw_any_servers
from hostler.lab.simulate.seeds import run_seed

SIZE = Size()
MANY, OFTEN = 200, 100
AT_ONCE = 10

PAST_FAILURES = {
    13020825: "S7: every list hid two addresses, for three minutes (the judge)",
    8020135: "S4: a process stood still between a decision and its save (the judge)",
    4000005: "S6: a protection ended by a clock that was ahead (the judge)",
    1341535: "E1: what had been reclaimed once was not watched after its adoption (the judge); "
    "what was adopted was reclaimed by the same decision (the gate refused)",
    7020: "S5: a lock ended right after the look that showed it (the judge)",
    6: "S2: inserts were saved before the machines that they replace",
    1045: "L1: server and address lost their tags: the address was missed and found again for ever",
    1091: "S9: a clock jumped, and what the engine measures began anew (the judge)",
    545: "S5: one flickering 404 amid empty lists was believed, of a healthy machine",
    1266: "L1: as 1045",
    1319: "L1: as 1045, with two replicas",
    258: "S7: a flickering 404 to a deletion, and empty lists after it, hid an address",
    5009: "S10: a replica was blamed for the turns that its neighbour took (the judge)",
    302007: "S2: the answer to a creation was saved only after the next call, and so was lost",
    720040: "E2: a plan forgot to attach the address that it makes for a server that exists",
    700657: "L1: a machine that a listing lacked was left behind by the adoption of all others",
    940757: "E1: a drift was forgotten and told as over when its machine recovered from a failure",
    303064: "L1: the clock jumped back, and an orphan that was gone stayed in the report",
    5060128: "S6: a machine was protected anew, for less time (the judge)",
    5020087: "S10: a pause in a suspend let the process sleep twice (the lab)",
    1340387: "L1: nobody adopted the orphan of a second installation in the end (the lab)",
}
"""Seeds of failures that were found and mended, and what each found."""

FAILURES_OF_NEWER_DICE = {
    231010303: "L1: no address of a pool was left for a machine that replaces another (the lab)",
    231008640: "L2: a machine was drained for its replacement while others were lost",
    201001909: "S1: a pool address without tags and record was told by its bare id (the judge)",
    231003249: "nothing: a person could not take an address of a pool from what ends (the lab)",
    231004223: "ready: a server was up for two seconds, until its guest shut it down (the judge)",
    161001188: "look first: a clock jumped before any listing of all was complete (the judge)",
    141000159: "L2: a pause after a refusal lasted until a clock that jumped back had caught up",
    135000773: "L1: nobody removed what a newer store had made of a fleet that ended (the lab)",
    135000867: "S5: of two saves at once the judge heard of one as the process died (the lab)",
    133000530: "S1: an address of a pool lost its tags while its fleet was paused (the judge)",
    133000849: "S6: a job that was over began again on a machine that ended (the judge)",
    115900209: "S9: the twin of a store had been ending a machine for longer (the judge)",
    116700413: "ready: a server that answered was deleted before time went on (the judge)",
    123000238: "L2: a fleet was paused while its machine ended (the judge)",
    123000295: "L2: a person protected a machine that ended (the judge)",
    120000015: "S5: an address of a pool was tagged as its machine's own once its tags were gone",
    116702014: "E3: who ends too, once its call is back, was taken to stay (the judge)",
    116701598: "L1: nobody took what a second installation left beside other tags (the lab)",
    115900258: "ready: a server answered, and was deleted by hand a moment later (the judge)",
    117000013: "ready: a machine that recovered was ready before anything answered there",
    100000248: "S4: between two requests the judge's clock stood still (the judge)",
    99000381: "L1: a server that was about to end was adopted, and not protected again",
    95000018: "S2: the surge counted towards the maximum, and there was a machine too many",
    94000736: "S3: a process died while it began a machine, and nobody heard of that (the judge)",
    94000184: "S2: an address whose removal was refused was hidden by an empty list, and no longer "
    "counted",
    82001414: "S8: a process stood still between what a call reads and what it writes",
    82000678: "L1: nobody removed an address that is reported of a fleet that ends (the lab)",
    78000164: "S5: an engine whose clock had jumped dated an orphan, and another one took over",
    77000058: "E1: a person's delete stopped a call that waited for the rate (the judge)",
    166: "S1: an address that a person added to a pool was taken for one of ours (the judge)",
    170: "S1: as 166 (the judge)",
    14020082: "S8: a process was suspended with the answer to a save in its hands (the lab)",
    13020762: "L1: an orphan was dated in the future, after our clock jumped back, and never went",
    13020683: "S5: an address that only the list of its tag showed was reclaimed (the judge)",
    12020931: "S5: a new process took back that the store has a twin, before it had listed all",
}
"""The same of seeds that draw what came later: real HTTP, stores by hand, twins."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", range(1, MANY, AT_ONCE))
def test_every_invariant_holds_whatever_the_faults(first: int):
    for seed in range(first, first + AT_ONCE):
        result = run_seed(seed, SIZE)
        assert result.violation is None, "\n".join(result.story)


@pytest.mark.parametrize("seed", [*PAST_FAILURES, *FAILURES_OF_NEWER_DICE])
def test_seed_of_a_past_failure_holds(seed: int):
    result = run_seed(seed, SIZE)
    assert result.violation is None, "\n".join(result.story)


def test_large_fleets_are_drawn_and_no_seed_of_a_past_failure_is_one():
    """A share of the seeds is large; all others draw what they always drew."""
    large = [seed for seed in range(1, 1001) if draw_any_servers(seed, SIZE).machines >= LEAST]
    assert 20 <= len(large) <= 60
    lost = [seed for seed in large if HALF_DELETED in draw_any_servers(seed, SIZE).faults]
    assert lost == [seed for seed in large if severity_of(seed) != "calm"]
    struck = [seed for seed in range(1, 101) if draw_any_servers(seed, SIZE).wired]
    for fault in (HISTORY_PRUNED, STORE_TWINNED, RECORD_REMOVED, *FILE_FAULTS):
        struck += [s for s in range(1, 101) if fault in draw_any_servers(s, SIZE).faults]
    struck += [
        s for s in range(1, 101) if (x := draw_any_servers(s, SIZE)).address_pool or x.network
    ]
    rest = (seed for seed in range(1, 101) if seed not in {*large, *struck})
    for seed in (*PAST_FAILURES, *rest):
        assert draw_any_servers(seed, SIZE) == draw_servers(seed, SIZE)
    assert draw_any_servers(large[0], Size(machines=3)).machines == 3


def test_pools_and_private_networks_are_drawn_within_a_hundred_seeds():
    drawn = [draw_any_servers(seed, SIZE) for seed in range(1, 101)]
    pools = [scenario for scenario in drawn if scenario.address_pool]
    assert {fault for scenario in pools for fault in scenario.faults} >= {*POOL_FAULTS}
    assert all(scenario.address_pool >= scenario.machines + 4 for scenario in pools)
    assert any(scenario.network for scenario in drawn)


@pytest.mark.timeout(120)
def test_an_address_of_a_pool_whose_tags_somebody_takes_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
):
    """S5: the program deleted it with the machine that had taken it."""
    monkeypatch.setattr("hostler.lab.servers.address_pool._SHARE", 1.0)
    scenario, result = draw_any_servers(43, SIZE), run_seed(43, SIZE)
    assert scenario.address_pool
    assert result.violation is None, "\n".join(result.story)
    assert result.faults["tag_edited"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [48, 82, 92, 800006, 1041298, 1340184, 2110023, 5020114])
def test_half_of_a_large_fleet_is_lost_and_made_up_for(seed: int):
    # 800006: a server that was due to go was gone before it was deleted by hand (the lab)
    # 1340184: L1: a volume that outlived its server was bound, and not that of the next server
    # 5020114: E2: a person paused the fleet before a new machine's first call (the judge)
    # 1041298: S2: a machine that came back from the history was not counted when others were made
    result = run_seed(seed, SIZE)
    assert result.violation is None, "\n".join(result.story)
    assert result.faults[HALF_DELETED] == 1


def test_a_seed_replays_to_the_same_byte():
    seed = 13
    first, second = run_seed(seed, SIZE), run_seed(seed, SIZE)
    assert first.digest == second.digest
    assert first == second


_DIGEST = (
    "from hostler.lab.simulate.seeds import run_seed; from hostler.lab.scenario.faults import Size;"
    "print(*(run_seed(s, Size(days=0.01)).digest for s in (4, 6, 12, 13, 18, 27)))"
)


_NAMES = (
    "from hostler.lab.simulate.providers import PROVIDERS;"
    "print(*((p.faults, *p.impossible, *p.mutants) for p in PROVIDERS.values()))"
)


def printed(code: str, *orders: str) -> set[str]:
    """Return what Python prints of this with hashes in these orders."""
    return {
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": number},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for number in orders
    }


@pytest.mark.timeout(120)
def test_no_order_of_hashes_reaches_a_decision():
    assert len(printed(_DIGEST, "1", "271828")) == 1


def test_no_order_of_hashes_reaches_a_report():
    """Two names stand in one order or the other: six orders of hashes have both."""
    assert len(printed(_NAMES, *"123456")) == 1


def test_every_fault_is_drawn_within_a_hundred_seeds():
    drawn = {fault for seed in range(1, 101) for fault in draw_servers(seed, SIZE).faults}
    assert drawn == set(ALL)


def test_the_same_seed_draws_the_same_scenario():
    assert draw_servers(7, SIZE) == draw_servers(7, SIZE)
    assert draw_servers(7, SIZE) != draw_servers(8, SIZE)
