"""Store faults: some seeds put the store back, copy it, remove a record, or prune the history.

Whether a seed does is thrown for apart, so that every other one draws what it always drew.
"""

from random import Random

from msgspec.structs import replace

from hostler.lab.scenario.faults import (
    HISTORY_PRUNED,
    RECORD_REMOVED,
    STORE_COPIED,
    STORE_RESTORED,
    STORE_TWINNED,
    Disruption,
    OperatorAction,
    Scenario,
)

_SHARE = 0.06
_PRUNED = 0.05
_TWINNED = 0.03
_OF_HOSTS = 0.04
_REMOVED = 0.1
STORE_OF_HOSTS = (STORE_RESTORED, RECORD_REMOVED, HISTORY_PRUNED)
"""What somebody does to a store of hosts."""
_APART = frozenset({"store_lost", "second_installation"})
"""With these, nobody could say whose a thing is; nor end it, where all of them strike: what adopts
keeps the tags of a store that is lost, which bars another from removing what it lost itself."""


def with_store_by_hand(scenario: Scenario) -> Scenario:
    """Return the scenario with what somebody does to its store, where the seed is one of those."""
    rng = Random(f"hostler store by hand: {scenario.seed}")
    apart = {*scenario.faults} >= _APART
    if rng.random() >= _SHARE or scenario.severity == "calm" or apart:
        return scenario
    return do_by_hand(scenario, rng)


def with_pruned_history(scenario: Scenario) -> Scenario:
    """Return the scenario with a history that is pruned, where the seed is one of those."""
    rng = Random(
        f"hostler pruned history 8: {scenario.seed}"
    )  # the first that spares past failures
    if rng.random() >= _PRUNED or scenario.severity == "calm":
        return scenario
    return prune(scenario, rng)


def with_twin(scenario: Scenario) -> Scenario:
    """Return the scenario with an engine on a copy of the store, where the seed is one of those."""
    rng = Random(f"hostler twin of a store 2: {scenario.seed}")  # spares past failures
    by_hand = {STORE_RESTORED, RECORD_REMOVED, *_APART} & {*scenario.faults}
    if rng.random() >= _TWINNED or scenario.severity == "calm" or by_hand:
        return scenario
    return start_twin(scenario, rng)


def with_store_of_hosts_by_hand(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with what somebody does to a store of hosts, in a few of the seeds.

    No engine runs on a copy of one: who has a host that two hold could not be told. `dice` are the
    provider's own, chosen so that its past failures are spared.
    """
    rng = Random(f"{dice}: {scenario.seed}")
    apart = _APART & {*scenario.faults}
    if rng.random() >= _OF_HOSTS or scenario.severity == "calm" or apart:
        return scenario
    return rng.choice((do_by_hand, do_by_hand, prune))(scenario, rng)


def with_records_removed(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with machines that are left without a record, in more of the seeds."""
    rng = Random(f"{dice}: {scenario.seed}")
    apart = {STORE_RESTORED, STORE_TWINNED, RECORD_REMOVED, *_APART} & {*scenario.faults}
    if rng.random() >= _REMOVED or scenario.severity == "calm" or apart:
        return scenario
    return _with(scenario, _removed(scenario.span, rng))


def start_twin(scenario: Scenario, rng: Random) -> Scenario:
    """Return the scenario with an engine on a copy of the store, for a while.

    People ask both for things meanwhile, or each would do what the other does.
    """
    at = rng.uniform(0.0, 0.7) * scenario.span
    length = min(rng.choice((120.0, 1200.0, 0.3 * scenario.span)), 0.95 * scenario.span - at)
    twinned = _with(scenario, (Disruption(at=at, fault=STORE_TWINNED, length=length),))
    asked = (
        OperatorAction(
            at=at + rng.uniform(0.0, 0.9) * length,
            kind=rng.choice(("scale", "scale", "delete", "delete_now", "retire")),
            which=rng.random(),
            home=rng.randrange(2),
        )
        for _ in range(rng.choice((1, 3, 6)))
    )
    actions = sorted((*scenario.actions, *asked), key=lambda one: one.at)
    return replace(twinned, actions=tuple(actions))


def prune(scenario: Scenario, rng: Random) -> Scenario:
    """Return the scenario with a history that is pruned a few times."""
    pruned = (
        Disruption(
            at=rng.uniform(0.1, 0.9) * scenario.span,
            fault=HISTORY_PRUNED,
            length=rng.choice((0.0, 60.0, 600.0)) * rng.uniform(0.5, 1.5),
        )
        for _ in range(rng.choice((1, 3, 6)))
    )
    return _with(scenario, tuple(pruned))


def do_by_hand(scenario: Scenario, rng: Random) -> Scenario:
    """Return the scenario with a store put back, records removed, or both."""
    kind = rng.choice((STORE_RESTORED, RECORD_REMOVED, ""))
    restored = _restored(scenario.span, rng) if kind != RECORD_REMOVED else ()
    removed = _removed(scenario.span, rng) if kind != STORE_RESTORED else ()
    return _with(scenario, (*restored, *removed))


def _with(scenario: Scenario, more: tuple[Disruption, ...]) -> Scenario:
    """Return the scenario with these disruptions too; that a backup was made is no fault."""
    struck = scenario.befallen(more)
    return replace(struck, faults=tuple(one for one in struck.faults if one != STORE_COPIED))


def _restored(span: float, rng: Random) -> tuple[Disruption, ...]:
    """Draw a backup, from before anything was made or later, and when it is put back."""
    copied = rng.uniform(0.0, 0.5) * span
    at = min(copied + rng.choice((120.0, 600.0, 0.4 * span)) * rng.uniform(0.5, 1.5), 0.9 * span)
    stopped = rng.choice((2.0, 60.0, 400.0)) * rng.uniform(0.5, 1.5)
    return (
        Disruption(at=copied, fault=STORE_COPIED),
        Disruption(at=at, fault=STORE_RESTORED, length=stopped),
    )


def _removed(span: float, rng: Random) -> tuple[Disruption, ...]:
    return tuple(
        Disruption(
            at=rng.uniform(0.05, 0.8) * span,
            fault=RECORD_REMOVED,
            who=rng.randrange(100),
            length=rng.uniform(1.0, 90.0),
        )
        for _ in range(rng.choice((1, 1, 2)))
    )
