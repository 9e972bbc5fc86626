"""How the simulated Macs behave where the real API has shown several ways, or none."""

from dataclasses import dataclass

FLOORS = ("412", "412-untyped", "400", "403")
"""The shapes in which a deletion before its date is refused."""


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
        if self.gone not in {"404", "403"}:
            raise ValueError("gone: expected 404 or 403")
