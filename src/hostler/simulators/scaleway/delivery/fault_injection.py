"""Fault injection: which faults strike a request, and what befalls resources without one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from random import Random

from hostler.simulators.scaleway.faults.catalogue import AMBIENT, Where
from hostler.simulators.scaleway.faults.rates import BY_NAME, CALM, FaultRates, Rule
from hostler.simulators.scaleway.macs import operator_actions as mac_actions
from hostler.simulators.scaleway.state.calls import Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_records import Mac, OsImage
from hostler.simulators.scaleway.state.record import Record
from hostler.simulators.scaleway.state.records import Address, Server

from .operator_actions import OPERATOR_ACTIONS, usual_status

CHANGES = frozenset({"POST", "PATCH", "PUT", "DELETE"})
STOPS = frozenset({"server.action.poweroff", "server.action.terminate"})
SHELVES = {
    "server": "servers",
    "user_data": "servers",
    "nic": "servers",
    "ip": "addresses",
    "volume": "volumes",
    "local_volume": "locals",
    "mac": "macs",
    "mac_network": "macs",
    "mac_os": "os_images",
}
KINDS: tuple[tuple[type[Record], Where], ...] = (
    (Server, Where.SERVERS),
    (Address, Where.ADDRESSES),
    (Mac, Where.MACS),
    (OsImage, Where.OS_IMAGES),
)
MAC_ORDERS = frozenset({"mac.create", "mac.batch"})
BUYS = MAC_ORDERS | {"server.create"}
MAC_CHANGES = ("mac.update", "mac.delete", "mac.reboot", "mac.reinstall")
MAC_ATTACHES = ("mac_network.attach", "mac_network.set")
_FLICKER = "not_found_flicker"
_FLICKERS_FOR, _FLICKERS_AGAIN = 10.0, 300.0
"""So long, in seconds, an id may be answered as one that is not there, and when again."""


@dataclass(slots=True, eq=False)
class Script:
    """A rule and how many requests have matched it."""

    rule: Rule
    matched: int = 0

    def strikes(self, call: Call) -> bool:
        """Tell if the rule strikes this request; count it if it matches."""
        if not fits(self.rule, call):
            return False
        self.matched += 1
        return self.matched >= self.rule.after

    @property
    def over(self) -> bool:
        """Tell if the rule has struck as often as it should."""
        return self.matched >= self.rule.after + self.rule.count - 1


def fits(rule: Rule, call: Call) -> bool:
    """Tell if a request meets the conditions of a rule."""
    return (
        rule.route in ("", call.key, call.base)
        and rule.zone in ("", call.place)
        and rule.method in ("", call.request.method)
        and (not rule.id or rule.id in call.names)
    )


class FaultInjector:
    """Draws all faults from one stream of its own, so that faults can end and the rest goes on."""

    def __init__(self, cloud: Cloud, rng: Random, fault_rates: FaultRates) -> None:
        self.cloud = cloud
        self.rng = rng
        self.fault_rates = CALM
        self.counts: dict[str, int] = {}
        self._scripts: list[Script] = []
        self._spells: dict[tuple[str, str], float] = {}  # (fault, zone or id) → its end
        self._flickered: dict[tuple[str, ...], float] = {}  # whose id → when it began to flicker
        self._era = 0
        self._rates: dict[str, tuple[tuple[str, float], ...]] = {}
        self.change(fault_rates)

    def change(self, fault_rates: FaultRates) -> None:
        """Change the rates from now on; spells that have begun go on."""
        self.fault_rates = fault_rates
        self._era += 1
        self._rates = {}
        cloud = self.cloud
        for shelf in (cloud.servers, cloud.addresses, cloud.macs, cloud.os_images):
            for record in shelf:
                self.expect(record)

    def clear(self) -> None:
        """Let all faults cease and all spells end. What is late already still comes."""
        self.change(CALM)
        self._scripts.clear()
        self._spells.clear()
        for release in (*self.cloud.stuck.values(), *self.cloud.spell_ends.values()):
            release()
        self.cloud.stuck.clear()
        for server in self.cloud.servers:
            usual_status(server)
        for mac in self.cloud.macs:
            mac_actions.calm(self.cloud, mac)

    def script(self, rule: Rule) -> None:
        """Add a rule."""
        self._scripts.append(Script(rule))

    @property
    def armed(self) -> tuple[Script, ...]:
        """The rules that have not struck as often as they should, the oldest first."""
        return tuple(self._scripts)

    def count(self, fault: str) -> None:
        """Note that a fault took effect."""
        self.counts[fault] = self.counts.get(fault, 0) + 1

    def strikes(self, call: Call) -> dict[str, float]:
        """Return the faults that strike a request, each with the length of its spell."""
        struck: dict[str, float] = {}
        for fault, rate in self._rates_for(call):
            if self.rng.random() < rate:
                struck[fault] = self.draw(fault)
        if _FLICKER in struck and not self._flickers(call):
            del struck[_FLICKER]
        if self._scripts:
            struck.update(self._scripted(call))
        if struck or self._spells:
            self._begin_spells(call, struck)
            struck.update(self._lasting(call))
        return struck

    def _flickers(self, call: Call) -> bool:
        """Tell whether what a request names may flicker now: for a moment, and not soon again.

        Else what exists could be hidden from whoever asks for it as often as anybody would.
        """
        named, now = call.names[:1], self.cloud.now
        begun = self._flickered.get(named)
        if begun is None or now - begun > _FLICKERS_AGAIN:
            self._flickered[named] = begun = now
        return now - begun <= _FLICKERS_FOR

    def draw(self, fault: str) -> float:
        """Draw the length of a spell."""
        low, high = self.fault_rates.spell(fault)
        return self.rng.uniform(low, high) if high else 0.0

    def subject(self, call: Call) -> Record | None:
        """Return the resource that the path of a request names, if it exists."""
        shelf = SHELVES.get(call.key.split(".", 1)[0])
        if shelf is None or not call.names:
            return None
        return getattr(self.cloud, shelf).get(call.names[0])

    def happen(self, fault: str, record: Record, spell: float) -> bool:
        """Let an ambient fault happen to a resource now; tell if it could, and count it."""
        done = OPERATOR_ACTIONS[fault].happen(self.cloud, record, spell, self.rng)
        if done:
            self.count(fault)
        return done

    def expect(self, record: Record) -> None:
        """Draw when each ambient fault happens to a resource."""
        where = next(where for kind, where in KINDS if isinstance(record, kind))
        for fault in BY_NAME.values():
            rate = self.fault_rates.rates.get(fault.name, 0.0) if fault.where == where else 0.0
            if rate:
                self._plan(fault.name, record, rate)

    def _plan(self, fault: str, record: Record, rate: float) -> None:
        strike = partial(self._ambient, fault, record, rate, self._era)
        self.cloud.after(self.rng.expovariate(rate / 3600), strike)

    def _ambient(self, fault: str, record: Record, rate: float, era: int) -> None:
        if era != self._era or record.ended is not None:
            return
        self.happen(fault, record, self.draw(fault))
        self._plan(fault, record, rate)

    def _rates_for(self, call: Call) -> tuple[tuple[str, float], ...]:
        found = self._rates.get(call.key)
        if found is None:
            rates = self.fault_rates.rates
            found = tuple(
                (name, rate)
                for name, rate in rates.items()
                if rate and name in possible(call.key, call.request.method, bool(call.names))
            )
            self._rates[call.key] = found
        return found

    def _scripted(self, call: Call) -> Iterator[tuple[str, float]]:
        for script in list(self._scripts):
            rule = script.rule
            if script.strikes(call):
                if script.over:
                    self._scripts.remove(script)
                if rule.says:
                    call.says[rule.fault] = rule.says
                yield rule.fault, self.draw(rule.fault) if rule.spell is None else rule.spell

    def _begin_spells(self, call: Call, struck: dict[str, float]) -> None:
        now = self.cloud.now
        for fault in ("zone_dead", "empty_list"):
            if fault in struck:
                self._spells[fault, call.place] = now + struck[fault]
        if "locked_423" in struck and call.names:
            self._spells["locked_423", call.names[0]] = now + struck["locked_423"]
        for key, end in list(self._spells.items()):
            if end < now:
                del self._spells[key]

    def _lasting(self, call: Call) -> dict[str, float]:
        keys = [("zone_dead", call.place)]
        if call.key.endswith(".list"):
            keys.append(("empty_list", call.place))
        if call.names and call.request.method in CHANGES:
            keys.append(("locked_423", call.names[0]))
        return {
            fault: self._spells[fault, what]
            for fault, what in keys
            if (fault, what) in self._spells
        }


@cache
def possible(key: str, method: str, named: bool) -> frozenset[str]:
    """Return the names of the faults that can strike such a request."""
    change = method in CHANGES
    tests: dict[Where, Callable[[], bool]] = {
        Where.ANY: lambda: True,
        Where.CHANGE: lambda: change,
        Where.NAMED: lambda: named,
        Where.NAMED_CHANGE: lambda: named and change,
        Where.LIST: lambda: key.endswith(".list"),
        Where.CREATE: lambda: key in BUYS,
        Where.MAKE: lambda: key == "server.create",
        Where.BUY: lambda: key in BUYS or key == "ip.create",
        Where.START: lambda: key == "server.action.poweron",
        Where.STOP: lambda: key in STOPS,
        Where.MAC_CHANGE: lambda: key in MAC_CHANGES,
        Where.MAC_UPDATE: lambda: key == "mac.update",
        Where.MAC_ORDER: lambda: key in MAC_ORDERS,
        Where.MAC_REBOOT: lambda: key == "mac.reboot",
        Where.MAC_ATTACH: lambda: key in MAC_ATTACHES,
        Where.REINSTALL: lambda: key == "mac.reinstall",
        Where.VOLUME_DELETE: lambda: key in ("volume.delete", "local_volume.delete"),
    }
    return frozenset(
        fault.name
        for fault in BY_NAME.values()
        if fault.where not in AMBIENT and tests[fault.where]()
    )


def is_ambient(fault: str) -> bool:
    """Tell if a fault happens to resources and not to requests."""
    return BY_NAME[fault].where in AMBIENT
