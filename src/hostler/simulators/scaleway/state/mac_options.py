"""How the simulated Macs behave where the real API has shown several ways, or none."""

from dataclasses import dataclass, replace

FLOORS = ("412", "412-untyped", "400", "403")
"""The shapes in which a deletion before its date is refused."""

GONES = ("404", "403")
MOST = 5000  # Macs in one stock


@dataclass(frozen=True, slots=True, kw_only=True)
class MacOptions:
    """The setting of the Apple silicon part. Spans are seconds of world time.

    floor: how a deletion that comes too early is refused: one of `FLOORS`, or "mixed" (drawn).
    gone: what a deleted server answers: "404" or "403".
    sealed: for how long after an installation every password is shown as `<sealed>`.
    vlan_polls: an attachment is read up to so many times before its VLAN is shown.
    """

    floor: str = "412"
    gone: str = "404"
    sealed: float = 60.0
    vlan_polls: int = 3

    def __post_init__(self) -> None:
        if self.floor not in {*FLOORS, "mixed"}:
            raise ValueError(f"floor: expected one of {', '.join(FLOORS)} or mixed")
        if self.gone not in GONES:
            raise ValueError(f"gone: expected {' or '.join(GONES)}")


@dataclass(frozen=True, slots=True)
class Stock:
    """Macs that somebody has bought, delivered and ready, named by a prefix and a number."""

    count: int
    type_name: str = "M2-L"
    zone: str = "fr-par-1"
    prefix: str = "pool-"

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise ValueError(f"macs: expected 1 to {MOST} of them, not {self.count}")


def stock_of(text: str) -> Stock:
    """Read `N[:TYPE[:ZONE[:PREFIX]]]`; what is left out or empty is as usual.

    Raises ValueError for what is none.
    """
    count, *rest = text.split(":", 3)
    if not count.isdecimal():
        raise ValueError(f"macs: expected N[:TYPE[:ZONE[:PREFIX]]], not {text}")
    usual = Stock(int(count))
    given = dict(zip(("type_name", "zone", "prefix"), rest, strict=False))
    return replace(usual, **{name: value for name, value in given.items() if value})
