"""A scenario of Cluster API: what one seed is made of, drawn before it begins."""

from collections.abc import Mapping
from math import prod
from random import Random

from msgspec import Struct, field, structs
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning
from hostler.lab.power import faults as power_faults
from hostler.lab.power.faults import PowerScenario, Wiring, draw_wired
from hostler.lab.scenario.faults import HOUR, Disruption, Scenario, Size
from hostler.lab.scenario.file_faults import FILE_FAULTS
from hostler.lab.scenario.store_faults import STORE_OF_HOSTS
from hostler.simulators.kubernetes.faults import OF_WATCHES, Fault

from .fleets.edits import (
    Edit,
    draw_clearance,
    draw_edits,
    draw_lifecycle,
    draw_shelves,
    elsewhere,
    in_order,
)
from .nodes.scenario import Guard, NodesScenario, draw_nodes
from .rolls.scenario import RollScenario, draw_roll
from .routes import CUT_OFF, UNHEARD
from .scripts.scenario import FAULTS, ScriptsScenario, draw_scripts
from .sharing import SHARED, sharing

_ELSEWHERE = frozenset(
    {
        "clock_jump",
        "controller_silent",
        "endpoint_away",
        "login_refused",
        "two_replicas",
        "lease_lost",
        *STORE_OF_HOSTS,
        *FILE_FAULTS,
    }
)
"""What makes it unknown for long what is true, or takes the fleet from the file.

Both are simulated without Kubernetes. Two engines, and leases that are lost, are drawn apart.
"""

CUT, COMPACTED, DOWN = "api_watches_cut", "api_compacted", "api_down"
"""All watches break off; and what they go on from is forgotten; nothing is reached for minutes."""

_SPELLS = (CUT, COMPACTED, DOWN)
OBJECT_REMOVED, OWNER_REMOVED = "api_object_removed", "api_owner_removed"
DATA_DELETED, NAMESPACE_DELETED = "api_data_deleted", "api_namespace_deleted"
BY_FORCE = (OBJECT_REMOVED, OWNER_REMOVED, DATA_DELETED, NAMESPACE_DELETED)
"""Somebody removes one of our objects past its finalizer, or core's Machine past its own, the
bootstrap data for a while, or the whole namespace, which is made anew once it is gone."""

_BY_FORCE_SHARE, _BEHIND_SHARE, _FLEETS_SHARE = 0.4, 0.3, 0.35
_LIFECYCLE_SHARE, _NAMESPACES_SHARE, _CLEARANCE_SHARE = 0.6, 0.35, 0.25
_UNHEARD_SHARE = 0.5
_SHELVES_SHARE = 0.5
_EARLIER = tuple(fault for fault in Fault if fault is not Fault.WATCH_BEHIND)
CALLS = tuple(f"api_{fault.value}" for fault in Fault)
"""What befalls a call of the API."""

ALL = (
    *(fault for fault in power_faults.ALL if fault not in _ELSEWHERE),
    *CALLS,
    *_SPELLS,
    *BY_FORCE,
    CUT_OFF,
    UNHEARD,
    "lease_lost",
    SHARED,
    *FAULTS,
)
"""Every fault that a run of Cluster API knows."""

DAYS, ROLL_DAYS = 0.06, 0.5
_MINUTE, _HALF, _TENTH, _LATE, _CALLS_OF_A_SAVE = 60.0, 0.5, 0.1, 3, 3
_WIRINGS = (Wiring.BMC, Wiring.STRIP, Wiring.GUEST, Wiring.MIXED)


class Replicas(Struct, frozen=True, kw_only=True):
    """How many Machines are wanted from a time on, in seconds."""

    at: float
    machines: int


class ClusterScenario(PowerScenario, frozen=True, kw_only=True):
    """Everything that one seed draws.

    `replicas` is what somebody asks of a set of Machines; `api` are the chances of faults per call.
    Where there are `edits`, there is no Cluster API: people write Fleets and Hosts. With a
    `lifecycle` Hosts, Providers and Secrets come and go too, or are wrong for a while; `apart` is
    how many of the boxes a second namespace has. With `nodes` the machines are Nodes of the
    cluster, and with `scripts` each runs one on its host.
    """

    replicas: tuple[Replicas, ...] = ()
    edits: tuple[Edit, ...] = ()
    nodes: NodesScenario | None = None
    lifecycle: tuple[Edit, ...] = ()
    scripts: ScriptsScenario | None = None
    apart: int = 0
    roll: RollScenario | None = None
    api: Mapping[Fault, float] = field(default_factory=dict[Fault, float])

    @property
    def success(self) -> float:
        """How likely a call to the API is to have its effect, and to be answered."""
        return prod(1.0 - rate for fault, rate in self.api.items() if fault not in OF_WATCHES)

    @property
    def lateness(self) -> int:
        """How many times later than else all is noticed and done.

        Where fewer than half of all calls to the API come to anything, who failed again and again
        waits for five minutes before each further try, and leases in it run out.
        """
        return _LATE if self.success < _HALF else 1

    @property
    def lateness_of_saves(self) -> int:
        """The same of what takes saves, where records lie in the API: each is several calls.

        Where not one in ten comes to anything, what takes several of them in a row is later still.
        """
        saves = self.success**_CALLS_OF_A_SAVE
        return 2 * _LATE if saves < _TENTH else _LATE if saves < _HALF else 1


def draw_cluster(seed: int, size: Size) -> ClusterScenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    power, rng = draw_wired(seed, size), Random(f"hostler kubernetes {seed}")
    span = size.days * 24 * HOUR
    faults = tuple(fault for fault in power.base.faults if fault not in _ELSEWHERE)
    disruptions = [one for one in power.base.disruptions if one.fault in faults]
    api = dict[Fault, float]()
    if power.base.severity != "calm":
        chosen = rng.sample(_EARLIER, rng.randint(1, 6))
        api = {fault: rng.choice((0.02, 0.1, 0.3)) for fault in chosen}
        spells = rng.sample(_SPELLS, rng.randint(0, len(_SPELLS)))
        faults = (*faults, *(f"api_{fault.value}" for fault in chosen), *spells)
        disruptions += [one for spell in spells for one in _spells(spell, span, rng)]
        behind, by_force = _behind(seed), _by_force(seed, span)
        api |= behind
        faults = (*faults, *(f"api_{fault.value}" for fault in behind))
        faults = (*faults, *{one.fault: None for one in by_force})
        disruptions += by_force
    boxes = rng.randint(3, 6)
    base = replace(
        power.base,
        machines=boxes,
        faults=tuple(sorted(faults)),
        disruptions=tuple(sorted(disruptions, key=lambda one: one.at)),
        actions=(),
        replicas=1,
    )
    own = structs.asdict(power)
    own |= {
        "base": base,
        "boxes": boxes,
        "wiring": tuple(rng.choices(_WIRINGS, k=boxes)),
        "cleaning": rng.choice((Cleaning.POWER_CYCLE, Cleaning.TRUSTED)),
        "power": replace(power.power, stay_on=0, exercise=None),
    }
    times = sorted(rng.uniform(0, span) for _ in range(rng.randint(2, 8)))
    wanted = tuple(Replicas(at=at, machines=rng.randint(0, boxes)) for at in times)
    drawn = _with_fleets(ClusterScenario(**own, replicas=wanted, api=api))
    return _with_roll(_with_scripts(_with_nodes(_with_engines(drawn))))


def _behind(seed: int) -> dict[Fault, float]:
    """Draw, for a few seeds, how many watches are behind, by dice of its own."""
    rng = Random(f"hostler kubernetes late events: {seed}")
    if rng.random() >= _BEHIND_SHARE:
        return {}
    return {Fault.WATCH_BEHIND: rng.choice((0.2, 0.5, 0.9))}


def _by_force(seed: int, span: float) -> list[Disruption]:
    """Draw, for some seeds, what somebody removes by force; with dice of its own, too."""
    rng = Random(f"hostler kubernetes by force: {seed}")
    if rng.random() >= _BY_FORCE_SHARE:
        return []
    return [
        Disruption(
            at=rng.uniform(2 * _MINUTE, span),
            fault=fault,
            who=rng.randrange(1000),
            length=rng.uniform(_MINUTE, 15 * _MINUTE),
        )
        for fault in rng.sample(BY_FORCE, rng.randint(1, len(BY_FORCE)))
        for _ in range(1 if fault == NAMESPACE_DELETED else rng.randint(1, 3))
    ]


def _with_fleets(scenario: ClusterScenario) -> ClusterScenario:
    """Return the scenario with Fleets in place of Machines, where the seed is one of those.

    Their dice are chosen so that past failures of Machines are spared.
    """
    rng = Random(f"hostler kubernetes fleets 3: {scenario.base.seed}")
    if rng.random() >= _FLEETS_SHARE:
        return scenario
    disruptions = tuple(one for one in scenario.base.disruptions if one.fault not in BY_FORCE)
    faults = tuple(fault for fault in scenario.base.faults if fault not in BY_FORCE)
    edits = draw_edits(rng, scenario.base.span, scenario.boxes)
    base = replace(scenario.base, disruptions=disruptions, faults=faults)
    return _with_lifecycle(replace(scenario, base=base, edits=edits, replicas=()))


def _with_lifecycle(scenario: ClusterScenario) -> ClusterScenario:
    """Return, for most seeds with Fleets, how their objects come and go; by dice of its own."""
    rng = Random(f"hostler kubernetes lifecycle: {scenario.base.seed}")
    if rng.random() >= _LIFECYCLE_SHARE:
        return scenario
    lifecycle = draw_lifecycle(rng, scenario.base.span, scenario.boxes)
    return _with_clearance(_with_namespaces(replace(scenario, lifecycle=lifecycle)))


def _with_clearance(scenario: ClusterScenario) -> ClusterScenario:
    """Return, for a few of those seeds, that no Host is left for a while.

    Their dice are chosen so that past failures are spared, too.
    """
    rng = Random(f"hostler kubernetes clearance 46: {scenario.base.seed}")
    if rng.random() >= _CLEARANCE_SHARE:
        return scenario
    clearance = draw_clearance(rng, scenario.base.span, scenario.boxes)
    return replace(scenario, lifecycle=in_order(*scenario.lifecycle, *clearance))


def _with_namespaces(scenario: ClusterScenario) -> ClusterScenario:
    """Return, for some of those seeds, two namespaces with what each of them has."""
    rng = Random(f"hostler kubernetes namespaces 2: {scenario.base.seed}")
    if rng.random() >= _NAMESPACES_SHARE:
        return scenario
    span, apart = scenario.base.span, scenario.boxes // 2
    return replace(
        scenario,
        apart=apart,
        edits=elsewhere(scenario.edits, draw_edits(rng, span, apart)),
        lifecycle=elsewhere(scenario.lifecycle, draw_lifecycle(rng, span, apart)),
    )


def _with_engines(scenario: ClusterScenario) -> ClusterScenario:
    """Return the scenario with two engines on one store, where the seed is one of those.

    The records lie in the namespace that somebody may delete: then nothing is left to be judged.
    """
    if scenario.edits:
        base = _with_silence(sharing(scenario.base, dice="shared fleets 2"))
        return replace(scenario, base=base)
    return replace(scenario, base=sharing(scenario.base, apart=frozenset({NAMESPACE_DELETED})))


def _with_silence(scenario: Scenario) -> Scenario:
    """Return the scenario, for half of those with two engines, with one that hears nothing.

    Soon after that somebody dies, so that who takes over may be the one who looked on unhearing.
    """
    rng = Random(f"hostler kubernetes unheard 3: {scenario.seed}")
    if scenario.replicas == 1 or rng.random() >= _UNHEARD_SHARE:
        return scenario
    more = list[Disruption]()
    for _ in range(rng.randint(1, 2)):
        at = rng.uniform(_MINUTE, scenario.span)
        more.append(Disruption(at=at, fault=UNHEARD, who=rng.randrange(2)))
        dies, stays = at + rng.uniform(5, 90), rng.uniform(60, 400)
        more.append(Disruption(at=dies, fault="crash", who=rng.randrange(2), length=stays, skip=-1))
    return scenario.befallen(more)


def _with_nodes(scenario: ClusterScenario) -> ClusterScenario:
    """Return the scenario with its machines as Nodes, where the seed is one of those.

    Nodes are of one namespace: those of another may not be worked at, unless the file says so.
    """
    dice = "nodes of fleets 12" if scenario.edits else "nodes 50"
    nodes = draw_nodes(scenario.base.seed, scenario.base.span, dice)
    if nodes is not None and nodes.guard is not None and scenario.base.replicas > 1:
        nodes = replace(nodes, guard=Guard.CONTROL)  # each of two runs on a Node of its own
    cleaned = scenario.cleaning is Cleaning.POWER_CYCLE
    if nodes is not None and (scenario.edits or not cleaned):
        nodes = replace(nodes, core_drain=None)  # a kubelet that goes on does not join again
    if nodes is not None and nodes.waits and NAMESPACE_DELETED in scenario.base.faults:
        # Its Pods may have nowhere to go, and are waited for: no machine comes while it goes.
        nodes = replace(nodes, guard=None, protected=0)
    return _with_shelves(replace(scenario, nodes=None if scenario.apart else nodes))


def _with_shelves(scenario: ClusterScenario) -> ClusterScenario:
    """Return the scenario, for half of those with Fleets and Nodes, with Hosts that say of Nodes.

    What a Host says is what its box's Node is to be, beside what the Fleet says of all.
    """
    rng = Random(f"hostler kubernetes shelves 2: {scenario.base.seed}")
    if scenario.nodes is None or not scenario.edits or rng.random() >= _SHELVES_SHARE:
        return scenario
    shelves = draw_shelves(rng, scenario.base.span, scenario.boxes)
    return replace(scenario, edits=in_order(*scenario.edits, *shelves))


def _with_scripts(scenario: ClusterScenario) -> ClusterScenario:
    """Return the scenario with bootstrap data that is a script, where the seed is one of those."""
    base = scenario.base
    scripts = None if scenario.edits else draw_scripts(base.seed, calm=base.severity == "calm")
    if scripts is None:
        return scenario
    faults = tuple(sorted({*base.faults, *scripts.rates}))
    nodes = scenario.nodes  # who logs in to prepare a host asks its Node nothing
    nodes = None if nodes is None else replace(nodes, probed=False)
    return replace(scenario, base=replace(base, faults=faults), scripts=scripts, nodes=nodes)


def _with_roll(scenario: ClusterScenario) -> ClusterScenario:
    """Return the scenario as a roll of Macs, where the seed is one of those."""
    base = scenario.base
    roll = None if scenario.edits else draw_roll(base.seed, ROLL_DAYS * 24 * HOUR)
    if roll is None:
        return scenario
    spells = (one for one in base.disruptions if one.fault in _SPELLS)
    disruptions = sorted((*roll.macs.base.disruptions, *spells), key=lambda one: one.at)
    faults = {fault for fault in base.faults if fault in (*CALLS, *_SPELLS)}
    macs = replace(
        roll.macs,
        base=replace(
            roll.macs.base,
            disruptions=tuple(disruptions),
            faults=tuple(sorted({*roll.macs.base.faults, *faults})),
        ),
    )
    alone = replace(scenario, nodes=None, scripts=None)
    return replace(alone, base=macs.base, roll=replace(roll, macs=macs))


def _spells(fault: str, span: float, rng: Random) -> list[Disruption]:
    return [
        Disruption(at=rng.uniform(_MINUTE, span), fault=fault, length=rng.uniform(5, 5 * _MINUTE))
        for _ in range(rng.randint(1, 4))
    ]
