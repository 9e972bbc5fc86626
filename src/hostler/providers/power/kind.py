"""Kind: how the fleet file's tables become a rack of boxes that are switched on and off."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import cast

from hostler.domain.errors import ConfigError, HostRefused
from hostler.domain.ids import FleetName, Zone
from hostler.domain.model.capabilities import Cleaning, PowerLimits, Preference
from hostler.domain.model.machine import Offer
from hostler.domain.policy.capacity import unplaced
from hostler.ports.addresses import canonical
from hostler.ports.kind import Asked, Blueprint, Lack, Opening, Piece, Timing, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, Turn
from hostler.ports.provider import Provider

from .addresses import faults_of
from .own_host import is_own_host
from .packages import power_table
from .provider import Box, Guests, PowerBoxes, Rack
from .registry import METHODS
from .settings import BoxTable, PowerTable, PowerTemplate
from .targets import shared
from .ways import Ways

_OFF = frozenset({PowerAction.OFF_SOFT, PowerAction.OFF_HARD})
Turns = Mapping[str, Turn]

_NOTHING = PowerCapabilities(actions=frozenset(), query=False)
"""What a rack without any box can do."""

_TIMERS = {"start": timedelta(minutes=15), "stop": timedelta(minutes=15)}
"""A machine of one's own takes long to start: its firmware tests its memory first."""


class PowerKind:
    """Boxes that exist anyway, and whose power is ours to decide."""

    template = PowerTemplate

    @property
    def settings(self) -> type[PowerTable]:
        """The table of a rack, with the methods of installed packages."""
        return power_table()

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return types and zones as offers; a box is never outdated."""
        asked = table_of(PowerTemplate, template)
        del settings, folder
        return Blueprint(
            offers=tuple(
                Offer(type=kind, zone=Zone(zone))
                for kind in dict.fromkeys(asked.types)
                for zone in dict.fromkeys(asked.zones)
            ),
            digest=hashlib.sha256(b"power").hexdigest()[:16],
            timers=_TIMERS,
        )

    def timing(self, settings: object) -> Timing:
        """Return how long the slowest method may take, and how late its effect may be."""
        boxes = table_of(PowerTable, settings).boxes
        able = [_able(box, name) for box in boxes for name in box.methods()] or [_NOTHING]
        return Timing(
            deadline=max(one.deadline for one in able),
            consistency_delay=2 * max(one.settles for one in able),
        )

    def check(self, settings: object) -> tuple[str, ...]:
        """Return every fault of every box at once: its name, its methods, what it cannot do."""
        table = table_of(PowerTable, settings)
        counted = Counter(self.host_names(settings))
        twice = [name for name, count in counted.items() if count > 1]
        found = [f"boxes: expected each name once, and {', '.join(twice)} is not"] if twice else []
        found += (fault for box in table.boxes for fault in _faults(box))
        used_once = [box.name for box in table.boxes if box.stays_on and not box.excluded]
        if used_once and table.cleaning == "power-cycle":
            found.append(
                f"cleaning: expected trusted, for {', '.join(used_once)} is never switched off, "
                "and so would never be clean"
            )
        return tuple(found)

    def host_names(self, settings: object) -> tuple[str, ...]:
        """Return the name of each box."""
        return tuple(box.name for box in table_of(PowerTable, settings).boxes)

    def host_addresses(self, settings: object) -> Mapping[str, str]:
        """Return where each box is, as the same address is always written."""
        boxes = table_of(PowerTable, settings).boxes
        return {box.name: canonical(box.address) for box in boxes if box.address}

    def pieces(self, raw: Mapping[str, object]) -> Iterator[Piece]:
        """Yield the tables of the methods of all boxes that have a name."""
        for name, box in _named_boxes(raw.get("boxes")):
            for method in sorted(set(METHODS).intersection(box)):
                with suppress(ConfigError):  # of a package that cannot be used, the whole tells
                    known = METHODS[method]()
                    yield Piece(
                        place=f"boxes.{name}.{method}",
                        settings=known.settings,
                        raw=box[method],
                        check=known.check,
                    )

    def warnings_of(self, settings: object) -> tuple[str, ...]:
        """Return which boxes nothing switches off, or only by cutting power, or with others."""
        boxes = table_of(PowerTable, settings).boxes
        return (*(text for box in boxes for text in _hardly(box)), *shared(boxes))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return what methods would not find on this computer."""
        return tuple(
            Lack(
                key=f"boxes.{box.name}.{name}.{lack.key}",
                text=lack.text,
                environment=lack.environment,
            )
            for box in table_of(PowerTable, settings).boxes
            for name, table in box.methods().items()
            for lack in METHODS[name]().missing(table, folder, environment)
        )

    def check_places(self, settings: object, template: object) -> tuple[str, ...]:
        """Return which types and zones have no box."""
        table, asked = table_of(PowerTable, settings), table_of(PowerTemplate, template)
        return (
            *_unknown("types", asked.types, {box.type for box in table.boxes}),
            *_unknown("zones", asked.zones, {box.zone for box in table.boxes}),
        )

    def check_sizes(
        self, settings: object, fleets: Mapping[FleetName, Asked]
    ) -> Mapping[FleetName, str]:
        """Return which fleets ask for more boxes than are left of their types and zones."""
        boxes = Counter((box.type, box.zone) for box in table_of(PowerTable, settings).boxes)
        return {
            fleet: f"at most as many machines as there are such boxes, {lacking} fewer "
            "(a machine that is replaced needs a second box, unless surge = 0)"
            for fleet, lacking in unplaced(
                {name: (_wanted(one.template), one.machines) for name, one in fleets.items()},
                boxes,
            ).items()
        }

    def open(self, opening: Opening) -> Provider:
        """Return the rack; nothing is asked yet. ConfigError names a secret that is not there."""
        table = table_of(PowerTable, opening.settings)
        turns = defaultdict[str, Turn](Turn)
        timing = self.timing(table)
        rack = Rack(
            boxes=tuple(_box(box, opening, turns) for box in table.boxes),
            fleets={name: _guests(template) for name, template in opening.templates.items()},
            cleaning=Cleaning(table.cleaning),
            limits=PowerLimits(
                least_on=table.least_on,
                least_off=table.least_off,
                parallel_starts=table.parallel_starts,
                start_gap=table.start_gap,
                stay_on=table.stay_on,
                exercise=table.exercise,
                exercise_time=table.exercise_time,
                start=table.start,
                prefer=tuple(Preference(one) for one in table.prefer),
            ),
            settles=timing.consistency_delay / 2,
            deadline=timing.deadline,
            soft_wait=table.soft_wait,
            quiet=table.quiet,
            patience=table.patience,
        )
        return PowerBoxes(rack, opening.clock)


def _named_boxes(raw: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    entries = cast("list[object]", raw) if isinstance(raw, list) else []
    for box in (cast("dict[str, object]", one) for one in entries if isinstance(one, dict)):
        if isinstance(name := box.get("name"), str):
            yield name, box


def _wanted(template: object) -> tuple[tuple[str, str], ...]:
    """Return the types and zones of the boxes that a fleet takes."""
    asked = table_of(PowerTemplate, template)
    return tuple((kind, zone) for kind in asked.types for zone in asked.zones)


def _unknown(key: str, asked: tuple[str, ...], known: set[str]) -> Iterator[str]:
    if unknown := [name for name in asked if name not in known]:
        there = ", ".join(sorted(known)) or "there is none"
        yield f"{key}: expected {key} of boxes ({there}); {', '.join(unknown)} has none"


def _faults(box: BoxTable) -> Iterator[str]:
    """Yield what is wrong with a box, each with its place."""
    place = f"boxes.{box.name}"
    if box.address:
        yield from faults_of(f"{place}.address", box.address)
    for name, table in box.methods().items():
        yield from (f"{place}.{name}.{fault}" for fault in METHODS[name]().check(table))
    for key, name in box.unknown():
        have = ", ".join(box.methods()) or "none"
        yield f"{place}.{key}: expected methods of this box ({have}), and {name} is not"
    if PowerAction.ON not in _actions(box):
        yield f"{place}: expected a method that switches it on"
    if not any(_able(box, name).query for name in _named(box, None)):
        yield f"{place}: expected a method that tells how it stands: nothing is done on a guess"


def _hardly(box: BoxTable) -> Iterator[str]:
    able = _actions(box)
    if is_own_host(box):
        yield f"boxes: {box.name} is this computer, and is never switched off: exclude it"
    elif box.excluded or box.stays_on:
        return
    elif not able & _OFF:
        yield f"boxes: nothing switches {box.name} off"
    elif PowerAction.OFF_SOFT not in able:
        yield f"boxes: {box.name} is switched off by cutting its power: no method asks it first"
    if barred := _barred(box):
        way, teller = barred
        yield (
            f"boxes: {way} of {box.name} is not used while its outlet has power: {teller}, asked "
            "first, calls it on then, whether it runs or not; ask what knows more before that, "
            f'such as query = ["reachability", "{teller}"], or let its firmware start it when its '
            f"power comes, and leave {way} out"
        )


def _barred(box: BoxTable) -> tuple[str, str] | None:
    """Return what switches a box on that counts as on before, and the outlet by which it does.

    Whoever is asked after the outlet is asked only while that does not answer.
    """
    on = (
        name for name in _named(box, PowerAction.ON) if PowerAction.ON in _able(box, name).actions
    )
    asked = (name for name in _named(box, None) if _able(box, name).query)
    way, teller = next(on, None), next(asked, None)
    if way is None or teller is None:
        return None
    return (way, teller) if _able(box, teller).feeds and not _able(box, way).feeds else None


def _named(box: BoxTable, what: PowerAction | None) -> tuple[str, ...]:
    return tuple(name for name in box.order(what) if name in box.methods())


def _able(box: BoxTable, name: str) -> PowerCapabilities:
    return METHODS[name]().capabilities(box.methods()[name])


def _actions(box: BoxTable) -> set[PowerAction]:
    return {
        action
        for action in PowerAction
        for name in _named(box, action)
        if action in _able(box, name).actions
    }


def _box(box: BoxTable, opening: Opening, turns: Turns) -> Box:
    ways = Ways(
        {name: _opened(box, name, opening, turns) for name in box.methods()},
        {what: box.order(what) for what in (*PowerAction, None)},
    )
    return Box(
        name=box.name,
        zone=Zone(box.zone),
        type=box.type,
        ways=ways,
        address=box.address,
        price=box.price,
        excluded=f"it is excluded: {box.excluded}" if box.excluded else "",
        stays_on=_why_on(box),
    )


def _why_on(box: BoxTable) -> str:
    """Return why a box is never switched off; empty where it may be."""
    if is_own_host(box):
        return "it is the computer on which hostler runs"
    return "it stays on by the fleet file" if box.stays_on else ""


def _opened(box: BoxTable, name: str, opening: Opening, turns: Turns) -> Power:
    table, method = box.methods()[name], METHODS[name]()
    wanted = PowerOpening(
        settings=table,
        turn=turns[method.endpoint(table)],
        folder=opening.folder,
        environment=opening.environment,
        clock=opening.clock,
        shell=opening.shell,
        connect=opening.connect,
    )
    try:
        return method.open(wanted)
    except ConfigError as error:
        listed = f"provider.{opening.name}.boxes"
        raise HostRefused(listed, box.name, f"{name}.{error}") from None


def _guests(template: object) -> Guests:
    asked = table_of(PowerTemplate, template)
    return Guests(user=asked.user, port=asked.port)
