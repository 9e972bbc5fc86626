"""Demands: what the fleets of a run ask for beside hosts of a pool, and what happens to that.

Hosts that are ordered, private networks, and a bootstrap: a login and commands before a host is
ready. Drawn from a stream of its own, so that a seed without any of it keeps its course.
"""

from collections.abc import Mapping
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.policy.purchasing import Limits
from hostler.lab.scenario.faults import Disruption, Scenario
from hostler.simulators.scaleway.faults.rates import FaultRates
from hostler.simulators.scaleway.state.mac_catalogue import LEASE

HOUR = 3600.0
FAMILY = "Tahoe"
NETWORKS = ("7c1d2a90-0f4e-4b6f-9d5e-2a6b3c4d5e6f", "1f0a8c52-63d1-4c0b-8e7a-9b2c3d4e5f60")
PRICES = {"M2-L": 0.21, "M4-M": 0.28}
"""Euros per hour, as the simulated Scaleway takes them."""

COMMANDS = (
    "test -d /opt/xcode || tar -C /opt -xf /var/tmp/xcode.tar",
    "sudo -S -p '' pmset -a sleep 0",
    "defaults write com.apple.loginwindow autoLoginUser m1",
)
"""The list of commands of a bootstrap."""

LATER = (*COMMANDS[:2], "launchctl load -w /Library/LaunchDaemons/runner.plist")
"""The list that somebody writes into the fleet file in the middle of a run."""

BUSY = "pgrep -x Runner.Worker"
"""What hosts are asked: whether a job runs."""
_ASKED_SINCE = 800_000
"""No host is asked in the seeds before: those of past failures keep their course."""

ORDERS = (
    "out_of_stock_create",
    "quota_exceeded",
    "mac_order_lost",
    "mac_stuck_starting",
    "mac_never_delivered",
    "mac_delivery_fails",
)
"""What the world does to orders."""
WIRES = ("mac_vlan_late", "mac_attach_fails")
"""What the world does to attachments to private networks."""
REBOOTS = ("mac_stuck_rebooting",)
LISTS = ("pages_shuffled", "list_shifted")
"""What only long lists meet."""
LOGINS = ("login_refused", "command_failed", "command_broken", "command_hung", "line_broken")
"""What happens to logins and commands: see ssh.py."""
SOLD_OUT, CHANGED = "sold_out", "bootstrap_changed"
"""For a while there are no Macs of a type; somebody writes another list into the fleet file."""

ALL = (*ORDERS, *WIRES, *REBOOTS, *LISTS, *LOGINS, SOLD_OUT, CHANGED)
"""Every fault that only a run with wants knows."""

_CHANGED_SHARE = 0.2
_SHARE = 0.45
_HARDER = {"mac_ssh_refused": 0.2, "mac_ssh_hung": 0.1, "mac_ssh_wrong_key": 0.1}
"""Faults of all runs that only logins feel: where there are any, often."""
_RATES: Mapping[str, float] = {
    "out_of_stock_create": 0.15,
    "quota_exceeded": 0.1,
    "mac_order_lost": 0.3,
    "mac_stuck_starting": 0.2,
    "mac_never_delivered": 0.15,
    "mac_delivery_fails": 0.2,
    "mac_vlan_late": 0.2,
    "mac_attach_fails": 0.2,
    "mac_stuck_rebooting": 0.3,
    "pages_shuffled": 0.1,
    "list_shifted": 0.05,
    "login_refused": 0.1,
    "command_failed": 0.15,
    "command_broken": 0.05,
    "command_hung": 0.05,
    "line_broken": 0.1,
}
_MANY = {"calm": (0, 0), "one": (1, 1), "few": (1, 2), "some": (2, 4), "storm": (4, 8)}
_CROWD = 110
"""So many Macs of somebody else make two pages of a list."""


class Demands(Struct, frozen=True, kw_only=True):
    """What the fleets ask for; nothing where all is empty.

    `limits` are those of orders. `networks` are private ones. `commands` make the bootstrap, and
    need a login; `later` is the list that they become; `busy` is what hosts are asked before what
    runs there is ended, and `drain` how long that is waited for, in seconds. `crowd` is how many
    Macs of somebody else are in the project. `troubles` are the probabilities of `LOGINS` for each
    login or command.
    """

    limits: Limits | None = None
    networks: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    busy: str = ""
    drain: float = 1800.0
    crowd: int = 0
    troubles: Mapping[str, float] = field(default_factory=dict[str, float])

    def __bool__(self) -> bool:
        """Tell whether anything is asked for."""
        return bool(self.limits or self.networks or self.commands or self.crowd)


NOTHING = Demands()


def draw_demands(scenario: Scenario, types: tuple[str, ...]) -> tuple[Demands, Scenario]:
    """Draw what the fleets of a seed ask for, and the scenario with what happens to that."""
    rng = Random(f"hostler macs wants {scenario.seed}")
    if rng.random() > _SHARE:
        return NOTHING, scenario
    demands = Demands(
        limits=_limits(types, rng) if rng.random() < 0.65 else None,
        networks=NETWORKS[: rng.choice((1, 1, 2))] if rng.random() < 0.35 else (),
        commands=COMMANDS[: rng.randint(1, 3)] if rng.random() < 0.6 else (),
        crowd=_CROWD if rng.random() < 0.05 else 0,
    )
    faults = _faults(demands, scenario.severity, rng)
    demands = replace(demands, troubles={f: _rate(f, rng) for f in faults if f in LOGINS})
    demands = replace(demands, later=LATER if CHANGED in faults else ())
    if demands.commands and scenario.seed >= _ASKED_SINCE and scenario.seed % 2:
        demands = replace(demands, busy=BUSY)
    return _with_another_list(demands, _befallen(scenario, faults, demands, rng))


def _with_another_list(demands: Demands, scenario: Scenario) -> tuple[Demands, Scenario]:
    """Return them with a list of commands that changes, in more of the seeds; by dice of its own.

    Then the machines in use carry the older one, and get the newer one by and by.
    """
    rng = Random(f"hostler macs other lists 23: {scenario.seed}")
    spared = not demands.commands or demands.later or scenario.severity == "calm"
    if spared or rng.random() >= _CHANGED_SHARE:
        return demands, scenario
    changed = Disruption(at=rng.uniform(0.2, 0.8) * scenario.span, fault=CHANGED)
    return replace(demands, later=LATER), scenario.befallen((changed,))


def _limits(types: tuple[str, ...], rng: Random) -> Limits:
    """Draw limits: the cap lets one, two or four hosts of the dearest type be ordered a day."""
    day = max(PRICES[name] for name in types) * (LEASE / HOUR)
    many = rng.choice((None, 1, 2, 4))
    cap = None if many is None else day * many + 0.01
    batch, most = rng.choice((1, 2, 5)), rng.choice((1, 2, 3, 5))
    price = max(PRICES[name] for name in types)
    return Limits(batch=batch, most=most, cap=cap, price=price)


def _rate(fault: str, rng: Random) -> float:
    return min(0.5, _RATES[fault] * rng.uniform(0.5, 2.0))


def _faults(demands: Demands, severity: str, rng: Random) -> tuple[str, ...]:
    """Pick what happens to it, of what can happen to what is asked for."""
    known = [
        *((*ORDERS, SOLD_OUT) if demands.limits else ()),
        *(WIRES if demands.networks else ()),
        *((*LOGINS, *REBOOTS, CHANGED) if demands.commands else ()),
        *(LISTS if demands.crowd else ()),
    ]
    least, most = _MANY[severity]
    many = min(rng.randint(least, most), len(known))
    return tuple(sorted(rng.sample(known, many)))


def _befallen(
    scenario: Scenario, faults: tuple[str, ...], demands: Demands, rng: Random
) -> Scenario:
    if scenario.severity == "calm":
        return scenario
    rates = {f: _rate(f, rng) for f in faults if f in _RATES and f not in LOGINS}
    if demands.commands:
        rates |= {f: most * rng.random() for f, most in _HARDER.items() if rng.random() < 0.3}
    world = FaultRates({**scenario.world.rates, **rates}, scenario.world.spells)
    disruptions = sorted(
        (*scenario.disruptions, *_disruptions(scenario, faults, demands, rng)), key=lambda s: s.at
    )
    more = tuple(sorted({*scenario.faults, *faults}))
    return replace(scenario, world=world, faults=more, disruptions=tuple(disruptions))


def _disruptions(
    scenario: Scenario, faults: tuple[str, ...], demands: Demands, rng: Random
) -> list[Disruption]:
    """Draw what strikes at a time, and deaths in the midst of orders and of logins."""
    span, found = scenario.span, list[Disruption]()
    if SOLD_OUT in faults:
        found += [
            Disruption(at=rng.uniform(0, span), fault=SOLD_OUT, length=rng.uniform(HOUR, 12 * HOUR))
            for _ in range(rng.randint(1, 3))
        ]
    if CHANGED in faults:
        found.append(Disruption(at=rng.uniform(0.2, 0.8) * span, fault=CHANGED))
    ports = [*(["order"] if demands.limits else []), *(["ssh"] if demands.commands else [])]
    if ports and ("crash" in scenario.faults or rng.random() < 0.4):
        found += [_crash(rng.uniform(0, span), rng.choice(ports), rng) for _ in range(3)]
    return found


def _crash(at: float, port: str, rng: Random) -> Disruption:
    return Disruption(
        at=at,
        fault="crash",
        who=rng.randrange(2),
        skip=rng.randrange(3),
        before=rng.random() < 0.5,
        port=port,
        length=rng.uniform(1, 300),
    )
