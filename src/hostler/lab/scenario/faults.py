"""A scenario: what one seed is made of, drawn before it begins: faults, actions, sizes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.simulators.scaleway.faults.rates import FaultRates as WorldFaultRates
from hostler.simulators.scaleway.faults.rates import Rule

HOUR = 3600.0

FORGOTTEN = MachineId("m-aaaaaaaaaa")
"""The id of a machine whose record somebody removed by force: the store issued it, and no more."""

OURS = (
    "crash",
    "paused",
    "suspended",
    "clock_jump",
    "store_busy",
    "disk_full",
    "network_down",
    "lease_lost",
    "store_lost",
    "second_installation",
    "two_replicas",
    "resource_without_record",
)
"""Faults of the processes and their hosts, beside those of the world."""

STORE_COPIED, STORE_RESTORED = "store_copied", "store_restored"
"""Somebody backs a store up, which is no fault; and puts the backup in its place."""

STORE_TWINNED = "store_twinned"
"""Somebody starts an engine on a copy of the store, and finds it `length` seconds later."""

OTHER_STORES = ("store_lost", STORE_RESTORED, STORE_TWINNED)
"""After these a store holds what an older one held, or another one holds it too."""

RECORD_REMOVED = "record_removed"
"""Somebody removes a machine's record by force."""

HISTORY_PRUNED = "history_pruned"
"""An engine lets its store forget what ended a while ago; `length` is how long ago."""

UNKNOWN_HOST = "retire_unknown_host"
"""Somebody asks that a host be retired which there is not, or no more."""

_PORTS = ("", "", "http", "http", "bind", "save_machine", "save_host", "save_fleet", "unbind")

_UNKNOWN_HOSTS = 0.08

_SEVERITIES = ("calm", "one", "few", "few", "some", "some", "storm")
_FAULTS: Mapping[str, tuple[int, int]] = {
    "calm": (0, 0),
    "one": (1, 1),
    "few": (2, 4),
    "some": (4, 8),
    "storm": (9, 16),
}
"""How many faults a seed draws, at least and at most."""


class Disruption(Struct, frozen=True, kw_only=True):
    """One fault of ours: when, to which process, and how it strikes.

    `skip` is how many port calls it lets pass first; negative: it strikes at once. `length` is in
    seconds, or how far a clock jumps.
    """

    at: float
    fault: str
    who: int = 0
    skip: int = -1
    before: bool = True
    port: str = ""
    length: float = 0.0


class OperatorAction(Struct, frozen=True, kw_only=True):
    """One request of an operator: `which` picks a machine or a size, as a fraction of all.

    `home` is the number of the installation, if there are so many.
    """

    at: float
    kind: str
    which: float = 0.0
    length: float = 0.0
    home: int = 0


class Scenario(Struct, frozen=True, kw_only=True):
    """Everything that one seed draws before it begins."""

    seed: int
    severity: str
    machines: int
    span: float
    world: WorldFaultRates
    faults: tuple[str, ...]
    disruptions: tuple[Disruption, ...] = ()
    actions: tuple[OperatorAction, ...] = ()
    replicas: int = 1
    sqlite: bool = False
    cluster: float | None = None
    """Which share of the calls of a store in a cluster is lost; None: it is elsewhere."""
    wired: bool = False
    reclaim: bool = False
    probe: str = "tcp"
    two_zones: bool = False
    list_lag: float = 0.0
    ipv6: bool = False
    local_disk: bool = False
    disks: int = 0
    protected: bool = False
    keep_failed: float = 0.0
    crowd: int = 0
    network: bool = False
    """Whether machines are to join a private network."""
    address_pool: int = 0
    """How many addresses somebody keeps in each zone for machines to take; 0: each is made."""
    scripts: tuple[Rule, ...] = ()
    pace: float = 1.0
    second: float | None = None
    skews: tuple[float, ...] = (0.0, 0.0)

    def befallen(self, more: Sequence[Disruption]) -> "Scenario":
        """Return the scenario with these disruptions too, in their order, and their faults."""
        return replace(
            self,
            disruptions=tuple(sorted((*self.disruptions, *more), key=lambda one: one.at)),
            faults=tuple(sorted({*self.faults, *(one.fault for one in more)})),
        )


class Size(Struct, frozen=True, kw_only=True):
    """How large a seed is: machines (None: drawn), and days of faults."""

    machines: int | None = None
    days: float = 0.04


def on_sqlite(seed: int, share: float) -> bool:
    """Draw whether a seed runs on the real store, by dice of its own: all else is drawn as before.

    The same seed goes the same way on either store, to the byte of its trace.
    """
    return Random(f"hostler store: {seed}").random() < share


def on_wire(seed: int, share: float) -> bool:
    """Draw whether a seed speaks real HTTP, by dice of its own: all else is drawn as before."""
    return Random(f"hostler wire: {seed}").random() < share


def severity_of(seed: int) -> str:
    """Return how hard a seed is struck: each in turn."""
    return _SEVERITIES[seed % len(_SEVERITIES)]


def pick_faults(
    seed: int,
    known: tuple[str, ...],
    rng: Random,
    *,
    first_only: Collection[str] = (),
    storm: int = _FAULTS["storm"][1],
) -> tuple[str, ...]:
    """Pick faults: one in turn, so that no fault is forgotten, and the others by lot.

    What is `first_only` strikes in its turn alone; `storm` is how many there may be at most.
    """
    least, most = _FAULTS[severity_of(seed)]
    many = rng.randint(least, min(most, storm))
    if not many:
        return ()
    first = known[(seed * 5 // 7) % len(known)]
    others = [fault for fault in known if fault != first and fault not in first_only]
    return tuple(sorted((first, *rng.sample(others, many - 1))))


def draw_rates(
    faults: tuple[str, ...],
    known: Mapping[str, float],
    severity: str,
    rng: Random,
    weight: Callable[[str], tuple[float, float]],
) -> dict[str, float]:
    """Draw how often each fault of the world strikes that is known to have a rate.

    `weight` gives by how much a fault's rate is raised, and what it may be at most.
    """
    few = 3.0 if severity in {"one", "few"} else 1.5
    rates = dict[str, float]()
    for fault in faults:
        base = known.get(fault)
        if base is not None:
            raised, most = weight(fault)
            rates[fault] = min(most, base * few * raised * rng.uniform(0.5, 2.0))
    return rates


def draw_actions(
    many: int, kinds: tuple[str, ...], span: float, lengths: tuple[float, float], rng: Random
) -> tuple[OperatorAction, ...]:
    """Draw requests of an operator; the shortest length is when the first may come."""
    found = (
        OperatorAction(
            at=rng.uniform(lengths[0], span),
            kind=rng.choice(kinds),
            which=rng.random(),
            length=rng.uniform(*lengths),
        )
        for _ in range(many)
    )
    return tuple(sorted(found, key=lambda action: action.at))


def with_unknown_host(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with a request about a host that is none, in a few of the seeds."""
    rng = Random(f"{dice}: {scenario.seed}")
    if rng.random() >= _UNKNOWN_HOSTS or scenario.severity == "calm":
        return scenario
    at, which = rng.uniform(0.05, 0.9) * scenario.span, rng.random()
    asked = OperatorAction(at=at, kind=UNKNOWN_HOST, which=which)
    actions = sorted((*scenario.actions, asked), key=lambda action: action.at)
    return replace(scenario, actions=tuple(actions))


def draw_arrival(faults: tuple[str, ...], span: float, rng: Random) -> float | None:
    """Draw when a second installation arrives, if it does."""
    if "second_installation" not in faults:
        return None
    return rng.choice((0.0, rng.uniform(0, 0.6) * span))


def host_actions(deletes: int, *others: str) -> tuple[str, ...]:
    """Return what operators of hosts ask for, each as often as it is to be drawn."""
    return (
        *("scale",) * 6,
        *("delete",) * deletes,
        "delete_now",
        *others,
        "standby",
        "standby",
        "wake",
        "protect",
        "unprotect",
        "pause",
        "resume",
    )


def draw_port(rng: Random) -> tuple[str, bool, int]:
    """Draw where hosts' processes are struck: a port, whether before it, and how many calls on."""
    port, before = rng.choice(_PORTS), rng.random() < 0.5
    return port, before, rng.randrange(6) if port else rng.randrange(-1, 24)
