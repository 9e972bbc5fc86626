"""A scenario of Cluster Autoscaler: what one seed is made of, drawn before it begins."""

from enum import StrEnum
from random import Random

from msgspec import Struct, structs
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning
from hostler.lab.power import faults as power_faults
from hostler.lab.power.faults import PowerScenario, Wiring, draw_wired
from hostler.lab.scenario.faults import HOUR, Disruption, OperatorAction, Size
from hostler.lab.scenario.file_faults import FILE_FAULTS
from hostler.lab.scenario.store_faults import STORE_OF_HOSTS

CORE_RESTARTED = "autoscaler_restarted"
"""Cluster Autoscaler begins anew, and knows nothing of what it asked for."""

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
"""What makes it unknown for long what is true, or takes a node group from the file.

Both are simulated without an autoscaler.
"""

ALL = (*(fault for fault in power_faults.ALL if fault not in _ELSEWHERE), CORE_RESTARTED)
"""Every fault that a run of Cluster Autoscaler knows."""

DAYS = 0.08
_MINUTE = 60.0
_WIRINGS = (Wiring.BMC, Wiring.STRIP, Wiring.GUEST, Wiring.MIXED)


class NodeObjects(StrEnum):
    """What becomes of the Node object of a box that went off.

    DELETED: somebody deletes it. BARE: it stays, and its taint is removed. TAINTED: it stays, with
    the taint of Cluster Autoscaler's deletion, until it is ready again.
    """

    DELETED = "deleted"
    BARE = "bare"
    TAINTED = "tainted"


class Demand(Struct, frozen=True, kw_only=True):
    """How many nodes the pods of the cluster need from a time on."""

    at: float
    nodes: int


class AutoscalerScenario(PowerScenario, frozen=True, kw_only=True):
    """Everything that one seed draws; times are in seconds.

    `provision` is how long a node may take to come, `unneeded` how long one is not needed before it
    goes. `reverts` is what versions from 1.36 on do: what did not come in time is taken back whole.
    `others` are nodes of the cluster that are in no group.
    """

    demands: tuple[Demand, ...] = ()
    nodes: NodeObjects = NodeObjects.DELETED
    provision: float = 900.0
    unneeded: float = 120.0
    reverts: bool = False
    minimum: int = 0
    others: int = 8


def draw_autoscaler(seed: int, size: Size) -> AutoscalerScenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    power, rng = draw_wired(seed, size), Random(f"hostler autoscaler {seed}")
    span = size.days * 24 * HOUR
    faults = tuple(fault for fault in power.base.faults if fault not in _ELSEWHERE)
    disruptions = [one for one in power.base.disruptions if one.fault in faults]
    if power.base.severity != "calm" and rng.random() < 0.5:
        faults = (*faults, CORE_RESTARTED)
        disruptions += [
            Disruption(at=rng.uniform(_MINUTE, span), fault=CORE_RESTARTED)
            for _ in range(rng.randint(1, 3))
        ]
    boxes = rng.randint(3, 6)
    base = replace(
        power.base,
        machines=boxes,
        faults=tuple(sorted(faults)),
        disruptions=tuple(sorted(disruptions, key=lambda one: one.at)),
        actions=_protections(span, rng),
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
    return AutoscalerScenario(
        **own,
        demands=_demands(boxes, span, rng),
        nodes=rng.choice(list(NodeObjects)),
        provision=rng.choice((900.0, 1200.0)),
        unneeded=rng.choice((60.0, 120.0, 600.0)),
        reverts=rng.random() < 0.5,
        minimum=rng.choice((0, 0, 1)),
    )


def _demands(boxes: int, span: float, rng: Random) -> tuple[Demand, ...]:
    times = sorted(rng.uniform(0, span) for _ in range(rng.randint(3, 10)))
    return tuple(Demand(at=at, nodes=rng.randint(0, boxes + 1)) for at in times)


def _protections(span: float, rng: Random) -> tuple[OperatorAction, ...]:
    """Draw when somebody protects a machine, of which Cluster Autoscaler knows nothing."""
    if rng.random() < 0.5:
        return ()
    found = (
        OperatorAction(
            at=rng.uniform(_MINUTE, span),
            kind="protect",
            which=rng.random(),
            length=rng.uniform(5 * _MINUTE, 30 * _MINUTE),
        )
        for _ in range(rng.randint(1, 3))
    )
    return tuple(sorted(found, key=lambda action: action.at))
