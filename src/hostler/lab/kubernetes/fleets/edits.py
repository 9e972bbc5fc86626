"""Edits: what people write on objects in one run, drawn before it begins."""

from collections.abc import Callable
from enum import StrEnum
from random import Random

from msgspec import Struct
from msgspec.structs import replace


class Write(StrEnum):
    """One thing that somebody writes."""

    MAKE = "make"
    SCALE = "scale"
    PAUSE = "pause"
    RESUME = "resume"
    CHANGE = "change"
    END = "end"
    LEAVE = "leave"
    POWER = "power"
    MAINTENANCE = "maintenance"
    LOCK = "lock"
    DELETE_HOST = "delete host"
    MAKE_HOST = "make host"
    SPOIL_HOST = "spoil host"
    MEND_HOST = "mend host"
    NODE = "node"
    TAKE_LOGIN = "delete secret"
    PUT_LOGIN = "make secret"
    DELETE_PROVIDER = "delete provider"
    MAKE_PROVIDER = "make provider"
    DELETE_SPARE = "delete spare provider"
    MAKE_SPARE = "make spare provider"


FLEETS = ("builds", "tests")
"""The fleets that people have."""

_OF_FLEETS = (
    Write.MAKE,
    Write.MAKE,
    Write.SCALE,
    Write.SCALE,
    Write.SCALE,
    Write.PAUSE,
    Write.RESUME,
    Write.CHANGE,
    Write.END,
    Write.LEAVE,
)
_OF_HOSTS = (Write.POWER, Write.POWER, Write.MAINTENANCE, Write.LOCK)
_MINUTE = 60.0
_MENDED = (_MINUTE, 20 * _MINUTE)
"""How long something is away, or wrong, in seconds: from, to."""
_FOR_GOOD = 0.25
"""So often nobody puts it back before the end."""


class Edit(Struct, frozen=True, kw_only=True):
    """What is written when, about which fleet or host (a number), and to what: another number.

    `space` is the namespace where it is written: a number too.
    """

    at: float
    write: Write
    who: int = 0
    value: int = 0
    space: int = 0


def draw_edits(rng: Random, span: float, boxes: int) -> tuple[Edit, ...]:
    """Draw what people write in a run, beginning with their fleets."""
    first = [
        Edit(at=rng.uniform(1, _MINUTE), write=Write.MAKE, who=who, value=rng.randint(0, 2))
        for who in range(len(FLEETS))
    ]
    others = [
        Edit(
            at=rng.uniform(_MINUTE, span),
            write=rng.choice(rng.choice((_OF_FLEETS, _OF_FLEETS, _OF_HOSTS))),
            who=rng.randrange(1000),
            value=rng.randint(0, boxes),
        )
        for _ in range(rng.randint(3, 14))
    ]
    return in_order(*first, *others)


def draw_lifecycle(rng: Random, span: float, boxes: int) -> tuple[Edit, ...]:
    """Draw how Hosts, Providers and Secrets come and go meanwhile, or are wrong for a while."""
    episodes = rng.choices(_EPISODES, weights=(4, 2, 2, 1, 1), k=rng.randint(2, 6))
    found = list[Edit]()
    for episode in episodes:
        at = rng.uniform(3 * _MINUTE, span)
        begin, end = episode(at, at + rng.uniform(*_MENDED), rng, boxes)
        found += begin
        found += end if rng.random() >= _FOR_GOOD else ()
    return in_order(*found)


def draw_shelves(rng: Random, span: float, boxes: int) -> tuple[Edit, ...]:
    """Draw what people write of the Nodes of single Hosts, and when."""
    return in_order(
        *(
            Edit(
                at=rng.uniform(_MINUTE, span),
                write=Write.NODE,
                who=rng.randrange(boxes),
                value=rng.randint(0, 3),
            )
            for _ in range(rng.randint(1, 2 * boxes))
        )
    )


def draw_clearance(rng: Random, span: float, boxes: int) -> tuple[Edit, ...]:
    """Draw that every Host is deleted at about the same time, and when each is made again."""
    at = rng.uniform(3 * _MINUTE, span)
    episodes = [
        _of_host(at + rng.uniform(0, _MINUTE), at + rng.uniform(*_MENDED), rng, who)
        for who in range(boxes)
    ]
    return tuple(edit for away, back in episodes for edit in (*away, *back))


def elsewhere(here: tuple[Edit, ...], others: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Return edits of one namespace with those of another, in the order of time."""
    return in_order(*here, *(replace(one, space=1) for one in others))


def in_order(*edits: Edit) -> tuple[Edit, ...]:
    """Return edits as they follow each other."""
    return tuple(sorted(edits, key=lambda one: one.at))


Episode = tuple[tuple[Edit, ...], tuple[Edit, ...]]
"""What is written when something goes, or becomes wrong, and what puts it back."""


def _host(at: float, again: float, rng: Random, boxes: int) -> Episode:
    return _of_host(at, again, rng, rng.randrange(boxes))


def _of_host(at: float, again: float, rng: Random, who: int) -> Episode:
    away = Edit(at=at, write=Write.DELETE_HOST, who=who, value=rng.randrange(3))
    return (away,), (Edit(at=again, write=Write.MAKE_HOST, who=who),)


def _slip(at: float, again: float, rng: Random, boxes: int) -> Episode:
    who = rng.randrange(boxes)
    wrong = Edit(at=at, write=Write.SPOIL_HOST, who=who, value=rng.randrange(2))
    return (wrong,), (Edit(at=again, write=Write.MEND_HOST, who=who),)


def _secret(at: float, again: float, rng: Random, boxes: int) -> Episode:
    del rng, boxes
    away = Edit(at=at, write=Write.TAKE_LOGIN)
    return (away,), (Edit(at=again, write=Write.PUT_LOGIN),)


def _provider(at: float, again: float, rng: Random, boxes: int) -> Episode:
    """One that fleets name: it goes only with them, and they are made again with it."""
    away = [Edit(at=at, write=Write.DELETE_PROVIDER)]
    ends = rng.choice(((), (0,), (0, 1)))
    away += [Edit(at=at + rng.uniform(-60, 60), write=Write.END, who=who) for who in ends]
    back = [Edit(at=again, write=Write.MAKE_PROVIDER)]
    back += [
        Edit(at=again + 1, write=Write.MAKE, who=who, value=rng.randint(0, boxes // 2))
        for who in ends
    ]
    return tuple(away), tuple(back)


def _spare(at: float, again: float, rng: Random, boxes: int) -> Episode:
    del rng, boxes
    made = Edit(at=at, write=Write.MAKE_SPARE)
    return (made,), (Edit(at=again, write=Write.DELETE_SPARE),)


_EPISODES: tuple[Callable[[float, float, Random, int], Episode], ...] = (
    _host,
    _slip,
    _secret,
    _provider,
    _spare,
)
