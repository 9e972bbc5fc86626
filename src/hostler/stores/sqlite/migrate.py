"""Migrations: bring a file forward to our version of the schema, and only forward."""

from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection

from hostler.domain.errors import StoreMissing, StoreTooNew, StoreTooOld
from hostler.domain.ids import InstallationId

from .file import damaged
from .queries import SQL, statements, text

STEPS = ("schema.sql", "issued.sql", "spent.sql")
"""The files that lead from an empty file to ours; new ones are added at the end."""

APPLICATION = 0x686F7374
"""`host`: what says that a SQLite file is ours, whatever the version of its tables."""


def version(db: Connection, path: Path, newest: int) -> int:
    """Return the schema version of a file, 0 for an empty one; change nothing.

    Raises StoreTooNew for a version after ours, StoreDamaged for another program's database.
    """
    application, found = _number(db, "application_id"), _number(db, "user_version")
    if application != APPLICATION:
        if application or found or db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise damaged(path, "it is another program's database")
        return 0
    if found > newest:
        raise StoreTooNew(
            f"{path} was written by a newer hostler (schema {found}, ours is {newest}); it is "
            "left as it is. Run the newer hostler, or one with a backup from before"
        )
    return found


def check_current(db: Connection, path: Path) -> None:
    """Raise StoreTooOld unless the file has our version: only an engine brings it forward.

    A file without any tables is StoreMissing: an engine is just making it, or never finished.
    """
    found = version(db, path, len(STEPS))
    if found == 0:
        raise StoreMissing(f"{path} holds no store yet; an engine makes it: hostler run")
    if found < len(STEPS):
        raise StoreTooOld(
            f"{path} was written by an older hostler (schema {found}, ours is {len(STEPS)}); "
            "start the engine of this version once: hostler run"
        )


def migrate(
    db: Connection, path: Path, fresh_id: InstallationId, steps: Sequence[str] = STEPS
) -> None:
    """Make the tables of a new file, or take an older one forward; all or nothing."""
    if version(db, path, len(steps)) == len(steps):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        _go(db, path, fresh_id, steps)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _go(db: Connection, path: Path, fresh_id: InstallationId, steps: Sequence[str]) -> None:
    begun = version(db, path, len(steps))
    for step in steps[begun:]:
        for statement in statements(text(step)):
            db.execute(statement)
    if begun == 0:
        db.execute(SQL["found"], {"id": fresh_id})
        db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {len(steps)}")


def _number(db: Connection, pragma: str) -> int:
    row: tuple[int] = db.execute(f"PRAGMA {pragma}").fetchone()
    return row[0]
