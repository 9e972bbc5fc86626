"""Fault rates: how likely each fault of a simulation is, and those asked for by script."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field

from .catalogue import (
    AMBIENT,
    FAULTS,
    LIVELY_RATES,
    MAC_FAULTS,
    MAC_SPELLS,
    SPELLS,
    STORM_RATES,
    Fault,
    Range,
)

BY_NAME: Mapping[str, Fault] = {fault.name: fault for fault in (*FAULTS, *MAC_FAULTS)}
DEFAULT_SPELLS: Mapping[str, Range] = {**SPELLS, **MAC_SPELLS}


LONGEST = 10 * 365 * 86_400.0
"""How long a spell can be, in seconds: ten years."""
OFTEN = 3600.0
"""How often an ambient fault can happen in one hour of one resource: once a second."""


class BadFaultRates(ValueError):
    """Fault rates that cannot be: all that is wrong with them, line by line."""


class FaultRates(Struct, frozen=True):
    """How likely faults are.

    rates: fault → probability for each request that it can strike; for ambient faults how often
        it happens in one hour of one resource.
    spells: fault → least and greatest length in seconds; absent: as in `DEFAULT_SPELLS`.
    """

    rates: Mapping[str, float] = field(default_factory=dict[str, float])
    spells: Mapping[str, Range] = field(default_factory=dict[str, Range])

    def __post_init__(self) -> None:
        if wrong := problems(self.rates, self.spells):
            raise BadFaultRates("\n".join(wrong))

    def spell(self, fault: str) -> Range:
        """Return how long a spell of a fault can be; (0, 0) for a fault that has none."""
        return self.spells.get(fault) or DEFAULT_SPELLS.get(fault, (0.0, 0.0))


class Rule(Struct, frozen=True, kw_only=True):
    """One scripted fault.

    It strikes the `after`-th request that matches, and `count` matching ones from there on. Empty
    conditions match everything; `route` is a key of `ROUTES` ("server.action" means all actions).
    An ambient fault happens, right after the request, to the resource that the request was about.
    spell: its length in seconds, in place of a drawn one.
    says: what the refusal names in place of the truth: the state of a transient_409, the kind of
        resource of a not_found_flicker, which is then one of no id that anybody knows.
    """

    fault: str
    route: str = ""
    zone: str = ""
    method: str = ""
    id: str = ""
    after: int = 1
    count: int = 1
    spell: float | None = None
    says: str = ""

    def __post_init__(self) -> None:
        if self.fault not in BY_NAME:
            raise BadFaultRates(f"no such fault: {self.fault}")
        if self.after < 1 or self.count < 1:
            raise BadFaultRates("after and count begin at 1")
        if self.spell is not None and not 0 <= self.spell <= LONGEST:
            raise BadFaultRates(f"spell: expected 0 to {LONGEST:.0f} seconds, not {self.spell}")


def problems(rates: Mapping[str, float], spells: Mapping[str, Range]) -> list[str]:
    """Return what is wrong with rates and spells, in words."""
    found = [f"rates.{name}: no such fault" for name in rates if name not in BY_NAME]
    found += [
        f"spells.{name}: no fault with spells" for name in spells if name not in DEFAULT_SPELLS
    ]
    for name, rate in rates.items():
        ambient = name in BY_NAME and BY_NAME[name].where in AMBIENT
        if not 0 <= rate <= (OFTEN if ambient else 1):
            what = f"not between 0 and {OFTEN:.0f} an hour" if ambient else "no probability"
            found.append(f"rates.{name}: {rate} is {what}")
    found += [
        f"spells.{name}: {low} to {high}"
        for name, (low, high) in spells.items()
        if not 0 <= low <= high <= LONGEST
    ]
    return found


CALM = FaultRates()
LIVELY = FaultRates(
    rates={
        "reply_lost": 0.01,
        "request_lost": 0.01,
        "list_without_newest": 0.05,
        "list_with_deleted": 0.05,
        "transient_409": 0.03,
        "locked_423": 0.02,
        "rate_limited_429": 0.02,
        "html_5xx": 0.01,
        "slow": 0.03,
        "out_of_stock_start": 0.03,
        "start_falls_back": 0.05,
        "stuck_stopping": 0.05,
        "volume_delete_refused": 0.05,
        "guest_poweroff": 2.0,
        "server_deleted_by_hand": 1.0,
        "tag_edited": 1.0,
        "unknown_status": 2.0,
        "made_untagged": 0.01,
    },
    spells={
        "locked_423": (3.0, 15.0),
        "slow": (1.0, 4.0),
        "stuck_stopping": (10.0, 40.0),
        "unknown_status": (5.0, 30.0),
    },
)
STORM = FaultRates(
    rates={
        "reply_lost": 0.03,
        "request_lost": 0.03,
        "effect_delayed": 0.02,
        "duplicate_delivery": 0.01,
        "list_without_newest": 0.10,
        "list_with_deleted": 0.10,
        "empty_list": 0.002,
        "truncated_page": 0.01,
        "pages_shuffled": 0.10,
        "zone_dead": 0.001,
        "forbidden_for_rate_limit": 0.01,
        "not_found_flicker": 0.01,
        "precondition_400": 0.01,
        "transient_409": 0.03,
        "precondition_412": 0.01,
        "locked_423": 0.01,
        "rate_limited_429": 0.03,
        "html_5xx": 0.02,
        "truncated_json": 0.02,
        "slow": 0.03,
        "hung": 0.01,
        "out_of_stock_create": 0.03,
        "out_of_stock_start": 0.03,
        "start_falls_back": 0.05,
        "stuck_starting": 0.03,
        "stuck_stopping": 0.05,
        "unknown_status": 0.5,
        "guest_poweroff": 0.5,
        "server_deleted_by_hand": 0.2,
        "address_deleted_by_hand": 0.2,
        "tag_edited": 0.3,
        "quota_exceeded": 0.02,
        "volume_delete_refused": 0.10,
        "protected_by_hand": 0.2,
        "server_locked": 0.1,
        "made_untagged": 0.02,
        "address_detached_by_hand": 0.2,
    },
)
PRESETS: Mapping[str, FaultRates] = {
    "calm": CALM,
    "lively": LIVELY,
    "storm": STORM,
    "mac-lively": FaultRates({**LIVELY.rates, **LIVELY_RATES}, LIVELY.spells),
    "mac-storm": FaultRates({**STORM.rates, **STORM_RATES}, STORM.spells),
}


def parse(text: str) -> FaultRates:
    """Read TOML with `[rates]` and `[spells]`; raise `BadFaultRates` with every problem."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadFaultRates(str(error)) from error
    wrong = [f"{key}: unknown" for key in found if key not in ("rates", "spells")]
    rates, spells = table(found, "rates", wrong), table(found, "spells", wrong)
    fair: dict[str, float] = {}
    for name, rate in rates.items():
        if isinstance(rate, int | float) and not isinstance(rate, bool):
            fair[name] = float(rate)
        else:
            wrong.append(f"rates.{name}: expected a number")
    long: dict[str, Range] = {}
    for name, spell in spells.items():
        match spell:
            case [int() | float() as low, int() | float() as high]:
                long[name] = (float(low), float(high))
            case _:
                wrong.append(f"spells.{name}: expected [least, greatest] in seconds")
    if wrong := [*wrong, *problems(fair, long)]:
        raise BadFaultRates("\n".join(wrong))
    return FaultRates(fair, long)


def table(found: dict[str, Any], name: str, wrong: list[str]) -> dict[str, object]:
    """Return a table of a TOML file, an empty one where there is none or something else."""
    value: Any = found.get(name, {})
    if isinstance(value, dict):
        return cast("dict[str, object]", value)
    wrong.append(f"{name}: expected a table")
    return {}


def load(name: str) -> FaultRates:
    """Return a preset by its name, or the rates of a TOML file; raise `BadFaultRates`."""
    preset = PRESETS.get(name)
    if preset is not None:
        return preset
    try:
        return parse(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        known = ", ".join(PRESETS)
        raise BadFaultRates(
            f"{name}: neither one of {known} nor a file that can be read"
        ) from error
