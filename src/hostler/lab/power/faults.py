"""A scenario of provider `power`: boxes as of metal, the methods of each, and their endpoints."""

from datetime import timedelta
from enum import StrEnum
from random import Random

from msgspec import structs
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning, Preference
from hostler.domain.model.hold import HoldKind
from hostler.lab.metal import faults as metal_faults
from hostler.lab.metal.faults import MetalScenario, draw_rack
from hostler.lab.scenario.faults import HOUR, Disruption, Size
from hostler.lab.scenario.host_requests import with_holds

CALLS = metal_faults.CALLS
"""What befalls a command: as of metal."""

DEVICES = ("brown_out", "endpoint_away", "login_refused", "never_boots")
"""What befalls a rack or an endpoint beside all engines: the power of all boxes fails for a moment;
an endpoint with all of its boxes is not reached; it refuses a login; a box that is switched on
stays dark."""

_BY_HAND = ("switched_off_by_hand", "switched_on_by_hand", "box_breaks", "controller_silent")
ALL = (*CALLS, *_BY_HAND, *DEVICES, *metal_faults.STRUCK, "two_replicas")
"""Every fault that a run of power knows. The list of boxes is the fleet file's: nobody renames one
or takes it away beside it."""

DAYS = metal_faults.DAYS
_MINUTE = timedelta(minutes=1)
_HOLD_DICE = "hostler holds of power 6"


class Wiring(StrEnum):
    """How a box is switched and asked.

    BMC: a controller of its own does everything. STRIP: an outlet of a strip, which only cuts.
    GUEST: a hypervisor does everything. MIXED: on by a packet that nobody answers, off by its own
    system, cut and asked by an outlet of a strip that measures. PACKET: as mixed, and nothing cuts.
    """

    BMC = "bmc"
    STRIP = "strip"
    GUEST = "guest"
    MIXED = "mixed"
    PACKET = "packet"


class PowerScenario(MetalScenario, frozen=True, kw_only=True):
    """Everything that one seed draws; `wiring` is how each box is switched, in their order."""

    wiring: tuple[Wiring, ...] = ()


def draw_power(seed: int, size: Size) -> PowerScenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    drawn = draw_wired(seed, size)
    return replace(drawn, base=with_holds(drawn.base, _HOLD_DICE, tuple(HoldKind)))


def draw_wired(seed: int, size: Size) -> PowerScenario:
    """Draw all of it but the boxes that people hold."""
    metal, rng = draw_rack(seed, size), Random(f"hostler power {seed}")
    faults = tuple(fault for fault in metal.base.faults if fault not in _ELSEWHERE)
    if faults != metal.base.faults or rng.random() < 0.6:
        faults = tuple(sorted({*faults, *rng.sample(DEVICES, rng.randint(1, len(DEVICES)))}))
    others = (one for one in metal.base.disruptions if one.fault not in _ELSEWHERE)
    drawn = _disruptions(faults, metal.base.span, rng)
    disruptions = tuple(sorted((*others, *drawn), key=lambda disruption: disruption.at))
    own = structs.asdict(metal)
    clean = metal.cleaning if metal.cleaning is not Cleaning.COMMAND else Cleaning.POWER_CYCLE
    own |= {
        "base": replace(metal.base, faults=faults, disruptions=disruptions),
        "cleaning": clean,
        "power": replace(
            metal.power,
            stay_on=rng.choice((0, 0, 1, 2)),
            exercise=rng.choice((None, None, 40 * _MINUTE)),
            exercise_time=rng.choice((2, 10)) * _MINUTE,
            prefer=tuple(rng.sample(list(Preference), rng.randint(0, 4))),
        ),
    }
    return PowerScenario(**own, wiring=tuple(rng.choices(list(Wiring), k=metal.boxes)))


_ELSEWHERE = frozenset({"box_renamed", "box_removed"})


def _disruptions(faults: tuple[str, ...], span: float, rng: Random) -> list[Disruption]:
    found = list[Disruption]()
    for fault in (one for one in faults if one in DEVICES):
        for _ in range(rng.randint(1, 3)):
            length = {
                "brown_out": rng.uniform(5, 120),
                "endpoint_away": rng.uniform(30, 900),
                "login_refused": rng.uniform(30, 900),
                "never_boots": rng.uniform(300, HOUR),
            }[fault]
            at, who = rng.uniform(60, span), rng.randrange(1000)
            found.append(Disruption(at=at, fault=fault, who=who, length=length))
    return found
