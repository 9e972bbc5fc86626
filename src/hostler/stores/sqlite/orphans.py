"""The ledger of suspects, and the wishes of doors, in SQL."""

from dataclasses import replace
from sqlite3 import Connection

from hostler.domain.ids import PartId
from hostler.domain.model.snapshot import Suspect, Wish
from hostler.ports.store import Fence

from . import leases
from .documents import SUSPECT, WISH
from .queries import SQL


def suspects(db: Connection) -> tuple[Suspect, ...]:
    """Return the ledger, by part."""
    return SUSPECT.read_all(db.execute(SQL["suspects"]))


def save_suspects(
    db: Connection, suspects: tuple[Suspect, ...], cleared: tuple[PartId, ...], fence: Fence
) -> None:
    """Write these suspects, then take those parts out."""
    leases.check(db, fence)
    for suspect in suspects:
        db.execute(SQL["save_suspect"], {"part": suspect.part, "doc": SUSPECT.write(suspect)})
    for part in cleared:
        db.execute(SQL["clear_suspect"], {"part": part})


def wish(db: Connection, wish: Wish) -> Wish:
    """Keep a wish under a number that was never given before."""
    number = db.execute(SQL["add_wish"], {"doc": WISH.write(replace(wish, number=0))}).lastrowid
    return replace(wish, number=number or 0)


def wishes(db: Connection) -> tuple[Wish, ...]:
    """Return the wishes that nobody took yet, in order."""
    rows = db.execute(SQL["wishes"])
    return tuple(replace(WISH.read(document), number=number) for number, document in rows)


def take_wishes(db: Connection, numbers: tuple[int, ...], fence: Fence) -> None:
    """Take wishes out, those that are still there."""
    leases.check(db, fence)
    for number in numbers:
        db.execute(SQL["take_wish"], {"number": number})
